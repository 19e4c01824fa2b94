// Plays a file into a serial line, byte after byte without a gap: what hw/player does on a board. It begins at the
// program's command, or at a cycle.
#pragma once
#include <vector>

#include "devices/device.h"

class SerialPort;

class Player final : public Device {
  public:
    // `start` is the cycle, or NEVER: when `go` is called. It has nothing to play if `bytes` is empty.
    Player(SerialPort &line, const std::vector<uint8_t> &bytes, uint64_t start);

    void go(uint64_t cycle); // the first call counts; the caller makes the node look again
    bool waits_for_program() const { return start == NEVER; }
    bool is_due() const { return due; } // its moment has come, whether or not there was anything to play
    uint64_t began() const { return began_at; }

    void before_edge(uint64_t cycle) override;
    void save(cereal::BinaryOutputArchive &archive) const override;
    void load(cereal::BinaryInputArchive &archive) override;

  private:
    SerialPort &line;
    const std::vector<uint8_t> &bytes;
    uint64_t start; // not saved: may be given again
    uint64_t began_at = NEVER;
    bool due = false;
};
