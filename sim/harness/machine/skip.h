// Skips cycles in which nothing can happen, exactly: the run's result is the same to the last bit without it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "machine/idle.h"
#include "machine/model.h"

class Skip {
  public:
    enum class Mode { OFF, ON, CHECK }; // CHECK: simulates each stretch as well, and compares the states

    // Harts that did nothing for so many cycles may do nothing for many more. Most waits for memory end earlier.
    static constexpr unsigned PATIENCE = 16;

    Skip(Model &model, Mode mode) : model(model), idle(model.root()), mode(mode) {}

    // Called after cycles in which no hart did anything; `cycle` is the next one to simulate, those before `end` may be
    // simulated now, and until `limit`, which may be later, nothing comes from outside. `step` simulates one cycle,
    // counts it and returns whether nothing was seen in it. After it the model may be asleep.
    template <class Step> void look(uint64_t &cycle, uint64_t end, uint64_t limit, Step step)
    {
        if (cycle < next || end < cycle + LOOK)
            return;
        if (mode == Mode::OFF || limit < cycle + LEAST || model.dumps_waves()) {
            next = limit;
            return;
        }
        if (!idle.quiet()) {
            give_up(cycle);
            return;
        }
        // A wait for memory is frequent and short: one cycle shows it without a copy of the whole state.
        for (Idle::What what : {Idle::What::REGISTERS, Idle::What::ALL}) {
            idle.remember(what);
            if (!step() || !idle.stood_still(what)) {
                give_up(cycle);
                return;
            }
            pause = PAUSE;
            // What an expired counter drives at the pins within a cycle is visible after the edge before.
            const uint64_t horizon = idle.horizon(), cycles = std::min(limit - cycle, horizon - (horizon > 0));
            if (cycles < LEAST) {
                next = cycle + cycles + 2;
                return;
            }
            if (what == Idle::What::ALL)
                sleep_end = cycles < UINT64_MAX - cycle ? cycle + cycles : UINT64_MAX;
        }
    }

    // Nothing happens in the model before the cycle `sleeps_until`, unless something comes from outside.
    bool asleep() const { return sleep_end != 0; }
    uint64_t sleeps_until() const { return sleep_end; }

    // Skips cycles, from `cycle` to some before `to`, which is no later than the end of the sleep: the rest is to be
    // simulated, as that updates what follows the counters. A check simulates all, up to `to`, and throws Failure if
    // it finds a difference; `outside` gives the state of everything outside the model: devices at its pins and
    // observers.
    template <class Step, class Outside> void wake(uint64_t &cycle, uint64_t to, Step step, Outside outside)
    {
        sleep_end = 0;
        if (to > cycle + Idle::SETTLE) {
            uint64_t cycles = to - cycle - Idle::SETTLE;
            skipped += cycles;
            mode == Mode::CHECK ? check(cycle, cycles, step, outside) : leave_out(cycle, cycles);
        }
        next = cycle + Idle::SETTLE + EVENT;
    }

    // Something was seen: earlier findings no longer hold.
    void stir()
    {
        next = 0;
        pause = PAUSE;
    }

    uint64_t skipped = 0; // cycles

  private:
    static constexpr uint64_t LOOK = 2; // the most cycles that one check simulates
    static constexpr uint64_t LEAST = 24; // fewer are faster simulated than skipped
    static constexpr uint64_t EVENT = 4; // what ended a stretch often has its effect within so many cycles
    static constexpr uint64_t PAUSE = 4, LONGEST_PAUSE = 64; // until the next full check

    void give_up(uint64_t cycle)
    {
        next = cycle + pause;
        pause = pause < LONGEST_PAUSE ? 2 * pause : pause;
    }
    void leave_out(uint64_t &cycle, uint64_t cycles)
    {
        idle.advance(cycles);
        model.settle();
        cycle += cycles;
    }
    template <class Step, class Outside> void check(uint64_t &cycle, uint64_t cycles, Step step, Outside outside)
    {
        uint64_t began = cycle;
        const std::string around = outside();
        keep(before);
        ram_before.assign(model.ram(), model.ram() + model.ram_bytes());
        idle.advance(cycles);
        model.settle();
        for (uint64_t i = 0; i < Idle::SETTLE; i++)
            model.cycle();
        keep(left_out);
        put_back(before);
        bool nothing = true;
        for (uint64_t i = 0; i < cycles; i++)
            nothing &= step();
        const bool around_stood_still = outside() == around;
        for (uint64_t i = 0; i < Idle::SETTLE; i++)
            step();
        compare(nothing, around_stood_still, began, cycles);
    }
    void keep(std::vector<char> &state) const;
    void put_back(const std::vector<char> &state);
    void compare(bool nothing, bool around_stood_still, uint64_t began, uint64_t cycles) const;

    Model &model;
    Idle idle;
    Mode mode;
    uint64_t next = 0, pause = PAUSE; // the cycle of the next full check
    uint64_t sleep_end = 0; // 0: awake
    std::vector<char> before, left_out; // states of a check; of main RAM there is only one, as nothing may write to it
    std::vector<uint8_t> ram_before;
};
