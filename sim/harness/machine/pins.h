// What devices see of any machine: nothing here depends on the verilated class, so that the devices outside the chip
// are compiled once for all machines.
#pragma once
#include <cstddef>
#include <cstdint>

#include "machine/disk_pins.h"

class Pins {
  public:
    struct Traced { // the trace port's record, while its pin is high
        uint64_t cycle;
        unsigned hart, event;
        uint32_t argument;
    };
    struct Told { // what the host port holds
        uint32_t exit_code, blob_kind, blob_address, blob_length;
    };
    struct EtherWord {
        uint32_t data = 0;
        bool last = false;
        unsigned last_be = 0; // of the last word: a bit for its last byte
    };

    virtual Traced traced() const = 0;
    virtual Told told() const = 0;

    virtual uint8_t *ram() = 0;
    virtual size_t ram_bytes() const = 0;

    // Of a machine with Ethernet.
    virtual void set_ether(bool valid, EtherWord word) = 0;
    virtual void set_ether_link(bool up) = 0;
    virtual EtherWord ether_word() const = 0;
    virtual unsigned ether_speed() const = 0;

    virtual unsigned disks() const = 0;
    virtual const DiskPins &disk(unsigned unit) const = 0;
    virtual void disk_size(unsigned unit, uint32_t sectors) = 0;
    // What the drive sends to its controller: an answer, or a word of data.
    virtual void disk_hand(unsigned unit, bool answer, bool data, uint64_t word) = 0;

  protected:
    ~Pins() = default;
};
