#include "observers/timeline.h"

#include <algorithm>
#include <iterator>

std::string trap_name(uint32_t cause)
{
    static const std::map<uint32_t, std::string> interrupts = {
        {3, "software interrupt"}, {7, "timer interrupt"}, {11, "external interrupt"}};
    // As in kernel/arch/exception.c.
    static const char *const exceptions[] = {"instruction address misaligned",
                                             "instruction access fault",
                                             "illegal instruction",
                                             "breakpoint",
                                             "load address misaligned",
                                             "load access fault",
                                             "store address misaligned",
                                             "store access fault",
                                             "call from user mode",
                                             "call from supervisor mode",
                                             "",
                                             "call from machine mode",
                                             "instruction page fault",
                                             "load page fault",
                                             "",
                                             "store page fault"};
    uint32_t number = cause & ~INTERRUPT;
    if (cause & INTERRUPT) {
        auto known = interrupts.find(number);
        return known == interrupts.end() ? "interrupt " + std::to_string(number) : known->second;
    }
    return number < std::size(exceptions) && *exceptions[number] ? exceptions[number]
                                                                 : "exception " + std::to_string(number);
}

Timeline::Timeline(const Watch &watch, const Inspector &inspector, const std::string &path, uint64_t clock_hz)
    : trace(path, clock_hz), watch(watch), inspector(inspector)
{
    for (size_t i = 0; i < watch.harts.size(); i++) {
        Tracks tracks;
        tracks.group = trace.group("hart " + std::to_string(i));
        tracks.runs.track = trace.slices("runs", tracks.group);
        tracks.does.track = trace.slices("does", tracks.group);
        tracks.section.track = trace.slices("critical section", tracks.group);
        tracks.wire.track = trace.slices("interrupt wire", tracks.group);
        harts.push_back(tracks);
    }
    lock_group = trace.group("locks");
    source_group = trace.group("PIC sources");
}

void Timeline::show(Stack &stack, const std::vector<std::string> &wanted, uint64_t cycle)
{
    auto differs = std::mismatch(stack.open.begin(), stack.open.end(), wanted.begin(), wanted.end()).first;
    size_t same = size_t(differs - stack.open.begin());
    for (size_t i = stack.open.size(); i > same; i--)
        trace.end(stack.track, cycle);
    for (size_t i = same; i < wanted.size(); i++)
        trace.begin(stack.track, wanted[i], cycle);
    stack.open = wanted;
}

// The thread, inside it each trap, and the activity of each.
std::vector<std::string> Timeline::running(const Hart &h) const
{
    std::vector<std::string> stack{inspector.thread(*h.thread)};
    for (const Level &level : h.thread->levels) {
        if (&level != &h.thread->levels.front())
            stack.push_back(trap_name(level.cause));
        if (level.replays)
            stack.push_back("handles what was held back");
        if (level.primitive != Level::NONE)
            stack.push_back(level.primitive == Level::ENTERING ? "enters a section" : "leaves a section");
        for (const LockAttempt &attempt : level.attempts)
            if (attempt.missed)
                stack.push_back("waits for " + watch.lock_watch().describe(attempt.lock));
    }
    if (h.switch_began)
        stack.push_back("thread switch");
    return stack;
}

void Timeline::begin(uint64_t cycle)
{
    for (unsigned hart = 0; hart < harts.size(); hart++)
        changed(hart, cycle);
    for (const auto &[lock, holds] : watch.lock_watch().holds())
        show_lock(lock, cycle);
}

void Timeline::changed(unsigned hart, uint64_t cycle)
{
    static const char *const ACTIVITY[] = {"user", "system", "interrupt", "spinning", "idle"};
    const Hart &h = watch.harts[hart];
    Tracks &tracks = harts[hart];
    show(tracks.runs, running(h), cycle);
    show(tracks.does, {ACTIVITY[size_t(h.activity)]}, cycle);
    if (!h.in_section || h.section_began != tracks.section_began)
        show(tracks.section, {}, cycle);
    if (h.in_section)
        show(tracks.section, {"section"}, cycle);
    tracks.section_began = h.section_began;
}

void Timeline::probe(unsigned hart, uint32_t kind, uint32_t value, uint32_t, uint64_t cycle)
{
    if (kind == LOCK_ACQUIRED || kind == LOCK_RELEASED)
        show_lock(value, cycle);
    else if (kind == INTR_HANDLER || kind == ITHREAD_RUNS)
        trace.instant(harts[hart].runs.track,
                      (kind == INTR_HANDLER ? "handler of source " : "thread of source ") + std::to_string(value),
                      cycle);
}

void Timeline::show_lock(uint32_t lock, uint64_t cycle)
{
    const std::vector<LockWatch::Hold> &holds = watch.lock_watch().holds().at(lock);
    std::vector<std::string> wanted;
    if (holds.size() == 1)
        wanted = {"held by " + inspector.thread(watch.thread(holds[0].thread))};
    else if (!holds.empty())
        wanted = {"held by " + std::to_string(holds.size()) + " threads"};
    Stack &stack = locks[lock];
    if (!stack.track && !wanted.empty())
        stack.track = trace.slices(watch.lock_watch().describe(lock), lock_group);
    show(stack, wanted, cycle);
}

void Timeline::arrivals(uint32_t, uint32_t now, uint64_t cycle)
{
    for (unsigned hart = 0; hart < harts.size(); hart++)
        show(harts[hart].wire, now >> hart & 1 ? std::vector<std::string>{"raised"} : std::vector<std::string>{},
             cycle);
}

void Timeline::sources(uint32_t before, uint32_t now, uint64_t cycle)
{
    for (uint32_t changes = before ^ now; changes; changes &= changes - 1) {
        unsigned source = unsigned(__builtin_ctz(changes));
        Stack &stack = pic_sources[source];
        if (!stack.track)
            stack.track = trace.slices("source " + std::to_string(source), source_group);
        show(stack, now >> source & 1 ? std::vector<std::string>{"raised"} : std::vector<std::string>{}, cycle);
    }
}

void Timeline::finish(uint64_t cycle)
{
    for (Tracks &tracks : harts)
        for (Stack *stack : {&tracks.runs, &tracks.does, &tracks.section, &tracks.wire})
            show(*stack, {}, cycle);
    for (auto &[lock, stack] : locks)
        show(stack, {}, cycle);
    for (auto &[source, stack] : pic_sources)
        show(stack, {}, cycle);
    trace.close();
}
