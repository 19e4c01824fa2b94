#include "observers/samples.h"

#include "support/failure.h"

Samples::Samples(const Watch &watch, const std::string &path, uint64_t period, Timeline *timeline)
    : watch(watch), period(period), harts(watch.harts.size()), timeline(timeline)
{
    file.open(path);
    file.write("begin,end,hart,instructions,user,system,interrupt,spinning,idle,wfi,traps,interrupts,arrivals,"
               "thread_switches,sections,lock_attempts,lock_misses\n");
    for (unsigned hart = 0; timeline && hart < harts.size(); hart++) {
        per_cycle.push_back(timeline->trace.counter("instructions per cycle", timeline->group(hart)));
        busy.push_back(timeline->trace.counter("busy, %", timeline->group(hart)));
    }
}

void Samples::begin(uint64_t cycle)
{
    began = cycle;
    next = (cycle / period + 1) * period;
    for (unsigned hart = 0; hart < harts.size(); hart++) {
        harts[hart].since = cycle;
        harts[hart].retired = watch.harts[hart].retired;
        account(hart, cycle);
    }
}

// Counts the hart's activity until now, and reads its new one.
void Samples::account(unsigned hart, uint64_t cycle)
{
    Counts &counts = harts[hart];
    counts.activity[size_t(counts.doing)] += cycle - counts.since;
    counts.waiting += counts.waits ? cycle - counts.since : 0;
    counts.since = cycle;
    counts.doing = watch.harts[hart].activity;
    counts.waits = watch.harts[hart].state >> 2;
}

void Samples::changed(unsigned hart, uint64_t cycle)
{
    account(hart, cycle);
}

void Samples::probe(unsigned hart, uint32_t kind, uint32_t, uint32_t, uint64_t)
{
    harts[hart].sections += kind == CRIT_ENTER;
    harts[hart].lock_attempts += kind == LOCK_ATTEMPT;
    harts[hart].lock_misses += kind == LOCK_MISS;
}

void Samples::trap(unsigned hart, uint32_t cause, uint32_t, uint64_t)
{
    harts[hart].traps++;
    harts[hart].interrupts += cause >> 31;
}

void Samples::arrivals(uint32_t before, uint32_t now, uint64_t)
{
    for (unsigned hart = 0; hart < harts.size(); hart++)
        harts[hart].arrivals += (now & ~before) >> hart & 1;
}

void Samples::sample(uint64_t cycle)
{
    for (unsigned hart = 0; hart < harts.size(); hart++) {
        account(hart, cycle);
        const Counts &c = harts[hart];
        uint64_t retired = watch.harts[hart].retired, instructions = retired - c.retired;
        std::string line = format("%llu,%llu,%u,%llu", (unsigned long long)began, (unsigned long long)cycle, hart,
                                  (unsigned long long)instructions);
        for (uint64_t cycles : c.activity)
            line += "," + std::to_string(cycles);
        for (uint64_t count :
             {c.waiting, c.traps, c.interrupts, c.arrivals, c.switches, c.sections, c.lock_attempts, c.lock_misses})
            line += "," + std::to_string(count);
        file.write(line + "\n");
        if (timeline) { // a counter holds from its time on
            double cycles = double(cycle - began);
            timeline->trace.value(per_cycle[hart], double(instructions) / cycles, began);
            timeline->trace.value(busy[hart], 100 - 100 * double(c.activity[size_t(Activity::IDLE)]) / cycles, began);
        }
        Counts fresh;
        fresh.retired = retired;
        fresh.doing = c.doing;
        fresh.waits = c.waits;
        fresh.since = cycle;
        harts[hart] = fresh;
    }
    began = cycle;
    next = cycle + period;
}

void Samples::finish(uint64_t cycle)
{
    if (cycle > began)
        sample(cycle);
    file.close();
}
