// The host that runs the target, at its host port (hw/host): takes the exit code, and the memory to be copied out.
#pragma once
#include <functional>
#include <map>
#include <vector>

#include "devices/device.h"
#include "machine/pins.h"

class HostPort final : public Device {
  public:
    HostPort(Pins &machine, std::function<void(uint32_t)> ended, bool &life);

    void after_edge(uint64_t cycle, unsigned pins) override;
    void save(cereal::BinaryOutputArchive &archive) const override;
    void load(cereal::BinaryInputArchive &archive) override;
    void open(const std::string &folder, bool keep) override;
    void write_again() override;
    void forget() override;
    void record(Json &json) const override;

  private:
    struct Blob {
        uint32_t kind, address, length;
        uint64_t cycle;
        std::string content; // only for a checkpoint

        template <class Archive> void serialize(Archive &archive) { archive(kind, address, length, cycle, content); }
    };
    void copy_blob(uint64_t cycle);
    void write_blob(uint32_t kind, const void *content, size_t length);

    Pins &machine;
    bool &life;
    std::vector<Blob> blobs;

    // Not saved: this run's.
    std::function<void(uint32_t)> ended;
    std::string folder;
    bool keeping = false;
    std::map<uint32_t, bool> written; // in this run: the next one of the kind is appended
};
