// Every interrupt's path as a line of CSV: from the rise of its wire into the PIC to its driver's handler, or to its
// thread. Covers the whole run, also outside a measured window.
#pragma once
#include <string>

#include "support/failure.h"
#include "support/files.h"
#include "watch/observer.h"
#include "watch/watch.h"

class LatencyLog final : public Observer {
  public:
    LatencyLog(const Watch &watch, const std::string &path) : watch(watch)
    {
        file.open(path);
        file.write("source,to,hart,rise,arrival,cycles,in_window\n");
    }
    void latency(unsigned source, bool of_thread, unsigned hart, uint64_t rise, uint64_t cycle) override
    {
        file.write(format("%u,%s,%u,%llu,%llu,%llu,%d\n", source, of_thread ? "thread" : "handler", hart,
                          (unsigned long long)rise, (unsigned long long)cycle, (unsigned long long)(cycle - rise),
                          watch.in_window()));
    }
    void finish(uint64_t) override { file.close(); }

  private:
    const Watch &watch;
    OutFile file;
};
