// An observer of a running program. Watch reports each event in the cycle in which it happens, and in that order.
// Observers change nothing: the record is the same without them.
#pragma once
#include <cstdint>

enum class Transfer { NONE, CALL, JUMP, DIRECT_JUMP, RETURN };

class Observer {
  public:
    virtual ~Observer() = default;

    virtual void begin(uint64_t) {} // the first cycle; of a restored run, Watch has the past

    // For one observer that follows calls: an instruction retires that may leave its function; and the first one after
    // it, or one in another function than the last. Functions are counted from 1; 0 is outside the image. True: the
    // next instruction is reported, too, wherever it is.
    virtual void transfer(unsigned /*hart*/, Transfer, uint32_t /*pc*/, uint64_t /*cycle*/) {}
    virtual bool function(unsigned /*hart*/, uint16_t /*function*/, uint32_t /*pc*/, uint64_t /*cycle*/)
    {
        return false;
    }

    virtual void probe(unsigned /*hart*/, uint32_t /*kind*/, uint32_t /*value*/, uint32_t /*pc*/, uint64_t /*cycle*/) {}
    virtual void trap(unsigned /*hart*/, uint32_t /*cause*/, uint32_t /*pc*/, uint64_t /*cycle*/) {}
    virtual void trap_return(unsigned /*hart*/, uint32_t /*pc*/, uint64_t /*cycle*/) {}
    virtual void thread(unsigned /*hart*/, uint64_t /*cycle*/) {} // it runs another thread from now on

    // After each of these four, and when the mode or waiting changes: Watch's state of the hart is new.
    virtual void changed(unsigned /*hart*/, uint64_t /*cycle*/) {}

    virtual void arrivals(uint32_t /*before*/, uint32_t /*now*/, uint64_t /*cycle*/) {
    } // wires from the PIC, a bit a hart
    virtual void sources(uint32_t /*before*/, uint32_t /*now*/, uint64_t /*cycle*/) {} // wires into the PIC
    virtual void latency(unsigned /*source*/, bool /*of its thread*/, unsigned /*hart*/, uint64_t /*rise*/,
                         uint64_t /*cycle*/)
    {
    }

    virtual void finish(uint64_t) {} // the run has ended before this cycle; throws Failure if a file cannot be written
};
