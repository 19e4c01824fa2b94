// What is outside the chip, at its pins: the far end of a serial line, the receiver of the trace, the host. A node
// (run/node.h) has a list of devices. The clock loop does not poll them in each cycle: a device says when it is to be
// called, and which pins wake it, and is called only then.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "support/cycles.h"

class Json;
struct Mix;
namespace cereal {
class BinaryInputArchive;
class BinaryOutputArchive;
} // namespace cereal

// Output pins that wake devices, as bits. A serial line is high while nothing is sent. The others are strobes, high for
// one cycle: each shows that the chip has done something. Each disk controller has two, unit by unit: it outputs
// something, and it accepts what its drive offers.
enum Pin : unsigned {
    UART0_TX = 1,
    UART1_TX = 2,
    TRACE_VALID = 4,
    HOST_BLOB = 8,
    HOST_EXIT = 16,
    ETHER_TX = 32,
    DISK0_SAYS = 64,
    DISK0_TAKES = 128
};

class Device {
  public:
    explicit Device(std::string name) : name(std::move(name)) {}
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;
    virtual ~Device() = default;

    const std::string name; // as wires and the record call it

    // What the clock loop reads, not saved: made anew when the device is loaded. A device changes it only in the
    // functions below that are not const; after a change by any other caller, that caller makes the node look again.
    struct Wants {
        uint64_t before = NEVER; // `before_edge` in the first cycle not earlier
        uint64_t after = NEVER; // `after_edge` in the first cycle not earlier, ...
        unsigned pins = 0; // and in each cycle whose edge leaves one of these away from rest
    } wants;

    virtual void before_edge(uint64_t /*cycle*/) {} // may drive the chip's inputs: the edge of this cycle sees it
    virtual void after_edge(uint64_t /*cycle*/, unsigned /*pins away from rest*/) {}

    // The first cycle in which it acts while the pins do not change.
    virtual uint64_t next() const { return std::min(wants.before, wants.after); }
    // The target has ended: the run goes on until what is in transit has arrived. Then only draining devices run.
    virtual bool drains() const { return false; }
    virtual bool idle() const { return true; } // nothing is in transit
    virtual uint64_t bits(uint64_t /*count*/) const { return 0; } // their cycles on its line; 0: it has no line

    // Wires (run/wire.h). Receives a message from one, in the cycle in which it arrives, before its edge; and the first
    // cycle in which the device may send, by the first one in which the node may do something.
    virtual void arrive(const std::string & /*content*/, uint64_t /*cycle*/) {}
    virtual void wire(std::function<void(uint64_t, std::string)>) {
    } // begins here: what is sent goes there, with its cycle
    virtual void wired() {} // one ends here
    struct Sends { // the later of `base` and `lag` cycles behind the first one; without `lags` at `base`
        uint64_t base = NEVER, lag = 0;
        bool lags = false;
        uint64_t at(uint64_t first) const
        {
            return !lags ? base : first < NEVER - lag ? std::max(base, first + lag) : NEVER;
        }
    };
    virtual Sends sends() const { return {}; }
    uint64_t sends_at(uint64_t first) const { return sends().at(first); }

    // The host: polled every so many cycles; 0: never.
    virtual uint64_t poll_cycles() const { return 0; }
    virtual void poll(uint64_t /*cycle*/) {}
    virtual bool listens() const { return false; } // a user there may act, in real time

    // A checkpoint has the state of all devices: each member that is no constant or reference is saved and loaded, or a
    // comment says that it is not saved (checked by tests/unit/test_devices.py). With `keep`, files keep what is
    // written from `open` on, so that a restored run can write it again, until `forget`.
    virtual void save(cereal::BinaryOutputArchive &) const {}
    virtual void load(cereal::BinaryInputArchive &) {}
    virtual void open(const std::string & /*folder, or empty*/, bool /*keep*/) {}
    virtual void write_again() {}
    virtual void forget() {}
    virtual void flush() {}
    virtual void finish() {} // the run has ended; throws Failure if something could not be written

    virtual void digest(Mix &) const {} // what came out of the chip
    virtual const char *record_group() const { return nullptr; } // the object of the record that holds its part
    virtual void record(Json &) const {}
};
