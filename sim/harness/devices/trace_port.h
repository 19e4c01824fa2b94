// Receives the records that leave the trace port.
#pragma once
#include <functional>

#include "devices/device.h"
#include "machine/pins.h"
#include "support/files.h"
#include "support/hash.h"

class TracePort final : public Device {
  public:
    struct Record {
        uint64_t cycle; // of the port's counter
        unsigned hart, event;
        uint32_t argument;
    };
    // `told` is called with each record and the cycle in which it came; `life` is set.
    TracePort(const Pins &machine, std::function<void(const Record &, uint64_t)> told, bool &life);

    void after_edge(uint64_t cycle, unsigned pins) override;
    void save(cereal::BinaryOutputArchive &archive) const override;
    void load(cereal::BinaryInputArchive &archive) override;
    void open(const std::string &folder, bool keep) override;
    void write_again() override { file.write(before); }
    void forget() override { file.forget(); }
    void flush() override { file.flush(); }
    void finish() override { file.close(); }
    void digest(Mix &of) const override { of.add(mix.value); }
    void record(Json &json) const override;

  private:
    const Pins &machine;
    bool &life;

    // Not saved: this run's. The file's content is saved, as what it held before.
    std::function<void(const Record &, uint64_t)> told;
    OutFile file;
    std::string before; // what the file held at the checkpoint that was restored

    Mix mix;
    uint64_t records = 0;
};
