#include "watch/watch.h"

#include <algorithm>
#include <cstring>

#include "support/failure.h"
#include "watch/transfer.h"

namespace {

constexpr uint32_t MRET = 0x30200073, SRET = 0x10200073;

uint32_t word_at(const uint8_t *ram, uint32_t address)
{
    uint32_t word;
    std::memcpy(&word, ram + (address - RAM_BASE), 4);
    return word;
}

} // namespace

Watch::Watch(std::vector<const uint32_t *> registers, const Image &image, const uint8_t *ram, size_t ram_bytes)
    : harts(registers.size()), image(image), ram(ram), registers(std::move(registers)),
      locks(image, TargetMemory(ram, ram_bytes)), code_begin(image.code_begin & ~3u)
{
    code.resize((image.code_end - code_begin + 3) / 4);
    for (size_t i = 0; i < code.size(); i++) {
        uint32_t pc = code_begin + uint32_t(4 * i);
        code[i] = uint16_t(std::min(image.function_at(pc) + 1, int(Hart::NOWHERE) - 1));
        uint32_t instruction = word_at(ram, pc);
        if (instruction == MRET || instruction == SRET)
            marks[pc].push_back({pc, TRAP_RETURN, ProbePoint::NO_VALUE});
    }
    for (const ProbePoint &probe : image.probes) {
        marks[probe.pc].push_back(probe);
        switch_probe |= probe.kind == THREAD_SWITCH;
    }
    for (const auto &[pc, points] : marks)
        code[(pc - code_begin) / 4] |= MARKED;
    for (Hart &hart : harts) {
        uint64_t id = Thread::UNNAMED + unnamed.size();
        unnamed.push_back(std::make_unique<Thread>(Thread{id, 0, std::vector<Level>(1)}));
        hart.thread = unnamed.back().get();
    }
    open_window(0);
}

void Watch::follow(Observer &observer)
{
    attach(observer);
    follower = &observer;
    for (size_t i = 0; i < code.size(); i++) {
        uint32_t pc = code_begin + uint32_t(4 * i);
        Transfer transfer = transfer_of(word_at(ram, pc));
        bool inside = transfer == Transfer::DIRECT_JUMP &&
                      image.function_at(jump_target(pc, word_at(ram, pc))) == image.function_at(pc);
        if (transfer == Transfer::NONE || inside)
            continue;
        marks[pc].push_back(
            {pc, TRANSFER, unsigned(transfer)}); // after a thread switch, which takes effect before a return
        code[i] |= MARKED;
    }
}

void Watch::at(uint32_t pc, std::function<void()> action)
{
    size_t index = (pc - code_begin) / 4;
    if (pc < code_begin || pc % 4 || index >= code.size())
        throw Failure(format("0x%08x is no address of an instruction of the image", pc));
    if (actions[pc].empty())
        marks[pc].push_back({pc, ACTION, ProbePoint::NO_VALUE});
    code[index] |= MARKED;
    actions[pc].push_back(std::move(action));
}

// The instruction is in another function than the last one, or is marked, or a sample is being taken.
void Watch::passed(unsigned hart, uint32_t pc, uint16_t mark, uint64_t cycle)
{
    Hart &h = harts[hart];
    uint16_t function = mark & ~MARKED;
    if (function != h.function)
        enter_function(h, function, cycle);
    bool next_too = follower && follower->function(hart, function, pc, cycle);
    h.where = next_too ? Hart::NOWHERE : function;
    if (h.sample) {
        constexpr uint32_t STORE = 0x23, OPCODE = 0x7f;
        if (function == h.candidate && function && (word_at(ram, pc) & OPCODE) == STORE)
            h.sampled_store = true;
        if (--h.sample)
            h.where = Hart::NOWHERE;
    }
    if (!(mark & MARKED))
        return;
    for (const ProbePoint &point : marks.find(pc)->second)
        if (point.kind == TRAP_RETURN)
            trap_return(hart, pc, cycle);
        else if (point.kind == ACTION)
            for (const std::function<void()> &action : actions[pc])
                action();
        else if (point.kind == TRANSFER) {
            follower->transfer(hart, Transfer(point.value), pc, cycle);
            h.where = Hart::NOWHERE;
        } else // the retiring instruction has not written its result yet: the value is that at the mark
            probe(hart, point.kind, point.value == ProbePoint::NO_VALUE ? 0 : registers[hart][point.value], pc, cycle);
}

void Watch::enter_function(Hart &h, uint16_t function, uint64_t cycle)
{
    uint64_t stay = cycle - h.function_since;
    if (h.function == h.candidate)
        h.candidate_cycles += stay;
    if (stay > h.longest_stay) {
        h.longest_stay = stay;
        h.longest = h.function;
    }
    h.function = function;
    h.function_since = cycle;
    h.history[h.history_at++ % Hart::HISTORY] = function;
}

void Watch::account_state(Hart &h, uint8_t state, uint64_t cycle)
{
    uint64_t cycles = cycle - h.state_since;
    bool wfi = h.state >> 2;
    if (wfi)
        h.wfi_cycles += cycles;
    if (window) {
        h.statistics.privilege_cycles[h.state & 3] += cycles;
        h.statistics.wfi_cycles += wfi ? cycles : 0;
    }
    h.state = state;
    h.state_since = cycle;
    account_activity(h, cycle);
}

// Called where a hart's activity may change: accounts its time until now.
void Watch::account_activity(Hart &h, uint64_t cycle)
{
    if (window)
        h.statistics.accounting[size_t(h.activity)] += cycle - h.activity_since;
    h.activity_since = cycle;
    const Level &level = h.thread->levels.back();
    constexpr uint8_t PRIVILEGE = 3, USER = 0;
    if ((h.state & PRIVILEGE) == USER)
        h.activity = Activity::USER;
    else if (level.spinning)
        h.activity = Activity::SPINNING;
    else if ((level.interrupt && !level.preempting) || level.replays)
        h.activity = Activity::INTERRUPT;
    else
        h.activity = h.thread->idle ? Activity::IDLE : Activity::SYSTEM;
}

void Watch::settle(uint64_t cycle)
{
    for (Hart &h : harts) {
        account_state(h, h.state, cycle);
        if (window) {
            h.statistics.instructions += h.retired - h.window_retired;
            h.window_retired = h.retired;
        }
    }
}

void Watch::probe(unsigned hart, uint32_t kind, uint32_t value, uint32_t pc, uint64_t cycle)
{
    Hart &h = harts[hart];
    Thread &thread = *h.thread;
    Level &level = thread.levels.back();
    Statistics &s = h.statistics;
    thread.idle_loop |= kind == IDLE_BEGIN;
    if (thread.levels.size() == 1 && !thread.idle_loop)
        active = true;
    switch (kind) {
    case CRIT_ENTER:
        s.entered += window;
        level.primitive = Level::ENTERING;
        level.primitive_began = cycle;
        level.primitive_traps = 0;
        break;
    case CRIT_ENTERED:
        if (level.primitive == Level::ENTERING) {
            if (window && level.primitive_began >= window_began)
                s.enter.add(cycle - level.primitive_began - level.primitive_traps);
        } else {
            s.unmatched += window;
        }
        level.primitive = Level::NONE;
        if (thread.depth++ == 0) {
            s.outermost += window;
            open_section(h, cycle);
        }
        break;
    case CRIT_LEAVE:
        if (thread.depth == 0)
            s.unmatched += window;
        else if (--thread.depth == 0)
            close_section(h, cycle);
        level.primitive = Level::LEAVING;
        level.primitive_began = cycle;
        level.primitive_traps = 0;
        break;
    case CRIT_LEFT:
        // Compiled code may pass the mark twice, where two copies of a primitive's end meet: the first counts.
        if (level.primitive == Level::LEAVING && window && level.primitive_began >= window_began)
            s.leave.add(cycle - level.primitive_began - level.primitive_traps);
        level.primitive = Level::NONE;
        break;
    case WINDOW_BEGIN:
        if (!window_by_target) { // until here the whole run was the window
            window_by_target = true;
            window = false;
            window_count = 0;
            for (Hart &each : harts)
                each.statistics = Statistics();
            locks.forget();
            latency.forget();
        }
        if (!window)
            open_window(cycle);
        break;
    case WINDOW_END:
        if (window && window_by_target)
            close_window(cycle);
        break;
    case CRIT_QUEUED:
        s.queued += window;
        h.held_back = true;
        level.served = std::max(level.served, Level::QUEUED);
        break;
    case THREAD_SWITCH:
        if (h.switch_began && window && h.switch_began >= window_began)
            s.switch_cycles.add(cycle - h.switch_began);
        h.switch_began = 0;
        if (h.switch_announced)
            apply_switch(hart, cycle);
        else
            h.switch_reached = true;
        break;
    case LOCK_ATTEMPT:
    case LOCK_MISS:
    case LOCK_BLOCK:
    case LOCK_ACQUIRED:
    case LOCK_RELEASED:
    case LOCK_FAILED: lock_probe(h, kind, value, pc, cycle); break;
    case INTR_HANDLER:
        level.served = std::max(level.served, Level::HANDLED);
        if (LatencyWatch::Passed passed = latency.handler(value, cycle))
            tell([&](Observer &o) { o.latency(value, false, hart, passed.rise, cycle); });
        break;
    case ITHREAD_RUNS:
        if (LatencyWatch::Passed passed = latency.thread(value, cycle))
            tell([&](Observer &o) { o.latency(value, true, hart, passed.rise, cycle); });
        break;
    case IDLE_BEGIN:
    case IDLE_END:
        thread.idle = kind == IDLE_BEGIN;
        account_activity(h, cycle);
        break;
    case REPLAY_BEGIN:
        level.replays++;
        if (h.held_back)
            level.replay_began = cycle;
        h.held_back = false;
        account_activity(h, cycle);
        break;
    case REPLAY_END:
        level.replays -= level.replays > 0;
        if (level.replay_began && window && level.replay_began >= window_began)
            s.replays.add(cycle - level.replay_began);
        level.replay_began = 0;
        account_activity(h, cycle);
        break;
    case PREEMPT_BEGIN:
    case PREEMPT_END:
        level.preempting = kind == PREEMPT_BEGIN;
        level.served = Level::GAVE_WAY;
        account_activity(h, cycle);
        break;
    case SWITCH_BEGIN: h.switch_began = cycle; break;
    default:
        if (window)
            s.other_probes[kind]++;
    }
    tell([=](Observer &o) {
        o.probe(hart, kind, value, pc, cycle);
        o.changed(hart, cycle);
    });
}

void Watch::lock_probe(Hart &h, uint32_t kind, uint32_t lock, uint32_t pc, uint64_t cycle)
{
    Level &level = h.thread->levels.back();
    bool spinning = level.spinning;
    switch (kind) {
    case LOCK_ATTEMPT: locks.attempt(level.attempts, lock, pc); break;
    case LOCK_MISS: spinning |= locks.miss(level.attempts, lock, cycle); break;
    case LOCK_BLOCK: locks.block(level.attempts, lock); break;
    case LOCK_ACQUIRED: spinning &= !locks.acquired(level.attempts, lock, h.thread->id, cycle); break;
    case LOCK_FAILED: spinning &= !locks.failed(level.attempts, lock); break;
    case LOCK_RELEASED: locks.released(lock, h.thread->id, cycle);
    }
    if (spinning != level.spinning) {
        level.spinning = spinning;
        account_activity(h, cycle);
    }
}

void Watch::open_section(Hart &h, uint64_t cycle)
{
    h.in_section = true;
    h.section_hit = false;
    h.section_began = cycle;
    h.section_traps = 0;
    h.section_level = h.thread->levels.size();
}

void Watch::close_section(Hart &h, uint64_t cycle)
{
    if (h.in_section && window && h.section_began >= window_began) {
        uint64_t gross = cycle - h.section_began;
        h.statistics.body.add(gross);
        h.statistics.body_net.add(gross - h.section_traps);
        h.statistics.lengths.add(gross - h.section_traps);
    }
    h.in_section = false;
}

void Watch::trapped(unsigned hart, uint32_t cause, uint32_t pc, uint64_t cycle)
{
    Hart &h = harts[hart];
    Statistics &s = h.statistics;
    bool in_primitive = h.thread->levels.back().primitive != Level::NONE;
    if (window) {
        s.traps++;
        if (cause & INTERRUPT) {
            s.interrupts[cause & ~INTERRUPT]++;
            s.interrupts_in_section += h.thread->depth > 0;
            s.interrupts_in_primitive += in_primitive;
        }
    }
    tell([=](Observer &o) { o.trap(hart, cause, pc, cycle); });
    Level level;
    level.cause = cause;
    level.trap_began = cycle;
    level.interrupt = cause & INTERRUPT || h.thread->levels.back().interrupt;
    h.thread->levels.push_back(level);
    account_activity(h, cycle);
    tell([=](Observer &o) { o.changed(hart, cycle); });
}

void Watch::trap_return(unsigned hart, uint32_t pc, uint64_t cycle)
{
    Hart &h = harts[hart];
    std::vector<Level> &levels = h.thread->levels;
    tell([=](Observer &o) { o.trap_return(hart, pc, cycle); });
    if (levels.size() == 1)
        return; // not from a trap: how a program enters a lower privilege
    uint64_t cycles = cycle - levels.back().trap_began;
    if (window && levels.back().trap_began >= window_began) {
        if (levels.back().served == Level::QUEUED)
            h.statistics.queueing_traps.add(cycles);
        else if (levels.back().served == Level::HANDLED)
            h.statistics.handling_traps.add(cycles);
    }
    levels.pop_back();
    levels.back().primitive_traps += cycles;
    account_activity(h, cycle);
    if (h.in_section && levels.size() == h.section_level)
        h.section_traps += cycles;
    tell([=](Observer &o) { o.changed(hart, cycle); });
}

void Watch::interrupt_wires(uint32_t before, uint32_t now, uint64_t cycle)
{
    for (uint32_t rises = now & ~before; rises; rises &= rises - 1) {
        unsigned hart = unsigned(__builtin_ctz(rises));
        Hart &h = harts[hart];
        if (window) {
            h.statistics.arrivals++;
            h.statistics.arrivals_in_section += h.thread->depth > 0;
            h.statistics.arrivals_in_primitive += h.thread->levels.back().primitive != Level::NONE;
            if (h.in_section && !h.section_hit) {
                h.section_hit = true;
                h.statistics.sections_interrupted++;
            }
        }
    }
    tell([=](Observer &o) { o.arrivals(before, now, cycle); });
}

void Watch::sources(uint32_t before, uint32_t now, uint64_t cycle)
{
    for (uint32_t rises = now & ~before; rises; rises &= rises - 1) {
        unsigned source = unsigned(__builtin_ctz(rises));
        latency.rise(source, cycle);
        for (unsigned hart = 0; hart < harts.size(); hart++) {
            if (window && harts[hart].thread->depth > 0)
                harts[hart].statistics.source_rises_in_section[source]++;
        }
    }
    tell([=](Observer &o) { o.sources(before, now, cycle); });
}

void Watch::announce_switch(unsigned hart, uint32_t thread, uint64_t cycle)
{
    Hart &h = harts[hart];
    h.announced = thread;
    h.switch_announced = true;
    if (!switch_probe || h.switch_reached)
        apply_switch(hart, cycle);
}

// The old thread keeps its nesting. A section that holds the hart is continued by the new thread, if it is in one too.
void Watch::apply_switch(unsigned hart, uint64_t cycle)
{
    Hart &h = harts[hart];
    h.switch_announced = h.switch_reached = false;
    h.statistics.thread_switches += window;
    std::unique_ptr<Thread> &thread = threads[h.announced];
    if (!thread)
        thread = std::make_unique<Thread>(Thread{h.announced, 1, std::vector<Level>(1)});
    h.thread = thread.get();
    if (!h.thread->depth)
        close_section(h, cycle);
    else if (!h.in_section)
        open_section(h, cycle);
    h.section_level = h.thread->levels.size();
    account_activity(h, cycle);
    tell([=](Observer &o) {
        o.thread(hart, cycle);
        o.changed(hart, cycle);
    });
}

void Watch::open_window(uint64_t cycle)
{
    settle(cycle);
    window = true;
    window_count++;
    window_began = cycle;
    locks.open_window(cycle);
    latency.open_window(cycle);
    for (Hart &h : harts)
        h.window_retired = h.retired;
}

void Watch::close_window(uint64_t cycle)
{
    settle(cycle);
    locks.close_window();
    latency.close_window();
    window = false;
    window_ended = cycle;
    window_cycles += cycle - window_began;
}

void Watch::begin(uint64_t cycle)
{
    tell([=](Observer &o) { o.begin(cycle); });
}

void Watch::finish(uint64_t cycle)
{
    if (window)
        close_window(cycle);
    else
        settle(cycle);
    for (const auto &[id, thread] : threads)
        for (const Level &level : thread->levels)
            locks.abandoned(level.attempts);
    for (const std::unique_ptr<Thread> &thread : unnamed)
        for (const Level &level : thread->levels)
            locks.abandoned(level.attempts);
}

const char *Watch::function_name(uint16_t function) const
{
    return function ? image.functions[function - 1].name.c_str() : "?";
}

void Watch::write_hart(Json &json, const Hart &h) const
{
    json.number("retired", h.retired).string("stream", format("%016llx", (unsigned long long)h.stream));
    json.object("at_end").string("pc", format("0x%08x", h.pc)).string("function", image.describe(h.pc));
    json.number("privilege", h.state & 3).boolean("wfi", h.state >> 2);
    h.thread->named() ? json.number("thread", h.thread->id) : json.null("thread");
    json.number("section_depth", h.thread->depth).number("trap_depth", h.thread->levels.size() - 1);
    json.end_object().object("statistics");
    h.statistics.write(json);
    json.end_object();
}

void Watch::write_shared(Json &json) const
{
    locks.write(json);
    latency.write(json);
}
