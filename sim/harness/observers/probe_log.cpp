#include "observers/probe_log.h"

#include <iterator>

#include "support/failure.h"

namespace {

const char *const PROBE_NAME[] = {"",
                                  "crit_enter",
                                  "crit_entered",
                                  "crit_leave",
                                  "crit_left",
                                  "window_begin",
                                  "window_end",
                                  "crit_queued",
                                  "thread_switch",
                                  "lock_attempt",
                                  "lock_miss",
                                  "lock_block",
                                  "lock_acquired",
                                  "lock_released",
                                  "lock_failed",
                                  "intr_handler",
                                  "intr_done",
                                  "ithread_runs",
                                  "idle_begin",
                                  "idle_end",
                                  "switch_begin",
                                  "replay_begin",
                                  "replay_end",
                                  "preempt_begin",
                                  "preempt_end"};

} // namespace

ProbeLog::ProbeLog(const Watch &watch, const std::string &path) : watch(watch)
{
    file.open(path);
    file.write("cycle,hart,event,value,pc,thread,depth,traps\n");
}

void ProbeLog::write(const char *event, unsigned hart, uint64_t value, uint32_t pc, uint64_t cycle)
{
    const Thread &thread = *watch.harts[hart].thread;
    std::string id = thread.named() ? std::to_string(thread.id) : "";
    file.write(format("%llu,%u,%s,%llu,0x%08x,%s,%u,%zu\n", (unsigned long long)cycle, hart, event,
                      (unsigned long long)value, pc, id.c_str(), thread.depth, thread.levels.size() - 1));
}

void ProbeLog::probe(unsigned hart, uint32_t kind, uint32_t value, uint32_t pc, uint64_t cycle)
{
    std::string other = kind >= std::size(PROBE_NAME) || kind == 0 ? "probe_" + std::to_string(kind) : "";
    write(other.empty() ? PROBE_NAME[kind] : other.c_str(), hart, value, pc, cycle);
}

void ProbeLog::trap(unsigned hart, uint32_t cause, uint32_t pc, uint64_t cycle)
{
    write("trap", hart, cause, pc, cycle);
}

void ProbeLog::trap_return(unsigned hart, uint32_t pc, uint64_t cycle)
{
    write("trap_return", hart, 0, pc, cycle);
}

void ProbeLog::thread(unsigned hart, uint64_t cycle)
{
    write("thread", hart, watch.harts[hart].thread->id, watch.harts[hart].pc, cycle);
}

void ProbeLog::arrivals(uint32_t before, uint32_t now, uint64_t cycle)
{
    for (uint32_t rises = now & ~before; rises; rises &= rises - 1) {
        unsigned hart = unsigned(__builtin_ctz(rises));
        write("arrival", hart, 0, watch.harts[hart].pc, cycle);
    }
}

void ProbeLog::sources(uint32_t before, uint32_t now, uint64_t cycle)
{
    for (uint32_t rises = now & ~before; rises; rises &= rises - 1)
        file.write(format("%llu,,source,%u,,,,\n", (unsigned long long)cycle, unsigned(__builtin_ctz(rises))));
}
