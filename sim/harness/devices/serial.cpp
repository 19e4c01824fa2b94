#include "devices/serial.h"

void LineDriver::send(const void *data, size_t length, uint64_t cycle)
{
    if (taken == queue.size()) {
        queue.clear();
        taken = 0;
    }
    queue.append(static_cast<const char *>(data), length);
    if (next == NEVER && length) {
        burst = next = cycle;
        bit = 0;
    }
}

void LineDriver::hold(uint64_t cycle)
{
    sent += bit != 0;
    bit = 0;
    burst = next = cycle + 1;
}

void LineDriver::advance(uint64_t cycle)
{
    unsigned phase = bit % FRAME_BITS;
    if (phase == 0) {
        if (bit)
            sent++;
        if (taken == queue.size()) {
            next = NEVER;
            finished = cycle;
            return;
        }
        shift = queue[taken++];
        level = false;
    } else if (phase <= 8) {
        level = shift >> (phase - 1) & 1;
    } else {
        level = true;
    }
    next = burst + rate.bits(++bit);
}

bool LineReceiver::advance(bool level, uint64_t cycle)
{
    if (stuck) { // after a framing error: wait for the line to rise
        stuck = busy = !level;
        return false;
    }
    if (!busy) {
        busy = true;
        began = cycle;
        bit = 0;
        next = began + bit_rate.half_bits(1);
        return false;
    }
    if (bit == 0 && level) { // a glitch, not a start bit
        busy = false;
        return false;
    }
    if (bit >= 1 && bit <= 8)
        shift = uint8_t(shift >> 1 | level << 7);
    if (bit < STOP_BIT) {
        bit++;
        next = began + bit_rate.half_bits(2 * bit + 1);
        return false;
    }
    if (!level) {
        framing_errors++;
        stuck = true;
        next = cycle + 1;
        return false;
    }
    busy = false;
    byte = shift;
    received++;
    return true;
}
