// Every probe point, trap, arrival and thread switch as a line of CSV.
#pragma once
#include <string>

#include "support/files.h"
#include "watch/observer.h"
#include "watch/watch.h"

class ProbeLog final : public Observer {
  public:
    ProbeLog(const Watch &watch, const std::string &path);

    void probe(unsigned hart, uint32_t kind, uint32_t value, uint32_t pc, uint64_t cycle) override;
    void trap(unsigned hart, uint32_t cause, uint32_t pc, uint64_t cycle) override;
    void trap_return(unsigned hart, uint32_t pc, uint64_t cycle) override;
    void thread(unsigned hart, uint64_t cycle) override;
    void arrivals(uint32_t before, uint32_t now, uint64_t cycle) override;
    void sources(uint32_t before, uint32_t now, uint64_t cycle) override;
    void finish(uint64_t) override { file.close(); }

  private:
    void write(const char *event, unsigned hart, uint64_t value, uint32_t pc, uint64_t cycle);

    const Watch &watch;
    OutFile file;
};
