// Serial lines at their real bit rate, 8N1. Both ends keep the cycle of their next event, so that a quiet line costs
// one comparison per cycle. Bit edges are computed from the start of a burst (or of a byte), so no rounding error
// builds up.
#pragma once
#include <cstdint>
#include <string>

#include "support/cycles.h"

struct BitRate {
    uint64_t clock_hz, baud;

    template <class Archive> void serialize(Archive &archive) { archive(clock_hz, baud); }

    // The cycle, counted from the first edge, nearest to `halves` half bit times.
    uint64_t half_bits(uint64_t halves) const { return (halves * clock_hz + baud) / (2 * baud); }
    uint64_t bits(uint64_t count) const { return half_bits(2 * count); }
};

// Drives the target's receive pin with bytes back to back, as long as there are any.
class LineDriver {
  public:
    explicit LineDriver(BitRate rate) : rate(rate) {}

    void send(const void *data, size_t length, uint64_t cycle); // begins at `cycle` if the line is idle
    void advance(uint64_t cycle); // to be called when cycle >= next
    bool idle() const { return next == NEVER; }
    bool begins() const { return bit % FRAME_BITS == 0 && taken < queue.size(); } // next is the start of a character
    void hold(uint64_t cycle); // to be called when it begins: delays that by a cycle
    void set_baud(uint64_t baud) { rate.baud = baud; } // while it is idle

    uint64_t next = NEVER;
    bool level = true;
    uint64_t sent = 0; // whole bytes, stop bit included
    uint64_t finished = NEVER; // the cycle at which the line last became idle

    template <class Archive> void serialize(Archive &archive)
    {
        archive(rate, next, level, sent, finished, queue, taken, burst, bit, shift);
    }

  private:
    static constexpr unsigned FRAME_BITS = 10; // start, eight data bits (least significant first), stop

    BitRate rate;
    std::string queue;
    size_t taken = 0;
    uint64_t burst = 0, bit = 0; // first cycle of the burst, bits since
    uint8_t shift = 0;
};

// Samples the target's transmit pin in the middle of each bit.
class LineReceiver {
  public:
    explicit LineReceiver(BitRate rate) : bit_rate(rate) {}

    bool due(bool level, uint64_t cycle) const { return busy ? cycle >= next : !level; }
    bool advance(bool level, uint64_t cycle); // to be called when due; true: `byte` has been received
    bool idle() const { return !busy; }
    bool between_bytes() const { return !busy || stuck; }
    void set_baud(uint64_t baud) { bit_rate.baud = baud; } // while it is idle
    const BitRate &rate() const { return bit_rate; }
    uint64_t next_sample() const { return busy ? next : NEVER; }
    uint64_t wants() const { return busy && !stuck ? next : NEVER; } // the same, if the line does not change
    // The first cycle in which a byte may have been received, if the line stays as it is before the cycle `first`: a
    // byte is there in the middle of its stop bit.
    uint64_t next_byte(uint64_t first) const
    {
        uint64_t begin = between_bytes() ? first : began, length = bit_rate.half_bits(2 * STOP_BIT + 1);
        return begin < NEVER - length ? begin + length : NEVER;
    }

    uint8_t byte = 0;
    uint64_t received = 0;
    uint64_t framing_errors = 0; // a low stop bit: the byte is dropped (a wrong bit rate, or a break)

    template <class Archive> void serialize(Archive &archive)
    {
        archive(bit_rate, byte, received, framing_errors, busy, stuck, began, next, bit, shift);
    }

  private:
    static constexpr unsigned STOP_BIT = 9; // behind the start bit and eight data bits

    BitRate bit_rate;
    bool busy = false, stuck = false;
    uint64_t began = 0, next = 0;
    unsigned bit = 0;
    uint8_t shift = 0;
};
