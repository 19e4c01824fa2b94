#include "inspect/hang_report.h"

#include <algorithm>
#include <map>

#include "support/failure.h"

namespace {

class Report {
  public:
    Report(const Watch &watch, const Inspector &inspector) : watch(watch), inspector(inspector)
    {
        for (const auto &[id, thread] : watch.threads)
            threads[id] = thread.get();
        for (const std::unique_ptr<Thread> &thread : watch.unnamed)
            threads[thread->id] = thread.get();
        for (unsigned i = 0; i < watch.harts.size(); i++)
            runs_on[watch.harts[i].thread->id] = i;
        for (const auto &[lock, its] : watch.lock_watch().holds())
            if (!its.empty())
                holds[lock] = its;
    }

    void hart(unsigned index, const uint32_t *registers)
    {
        const Hart &h = watch.harts[index];
        lines.push_back(format("hart %u: ", index) + where(h));
        calls(inspector.backtrace(h.pc, registers));
        locks(*h.thread);
    }

    void sleepers() // those that wait for a lock, or hold one
    {
        for (const auto &[id, thread] : threads) {
            if (runs_on.count(id) || (!waits(*thread) && !holds_any(id)))
                continue;
            lines.push_back(inspector.thread(*thread) + ", on no hart");
            calls(inspector.backtrace(*thread));
            locks(*thread);
        }
    }

    void circles()
    {
        std::map<uint64_t, bool> told;
        for (const auto &[id, thread] : threads) {
            std::vector<std::pair<const Thread *, uint32_t>> way; // threads, each with the lock that it waits for
            const Thread *at = thread;
            auto seen = [&] { return std::find_if(way.begin(), way.end(), [&](auto &w) { return w.first == at; }); };
            while (at && seen() == way.end()) {
                const LockAttempt *attempt = waits(*at);
                if (!attempt)
                    break;
                way.emplace_back(at, attempt->lock);
                at = holder(attempt->lock);
            }
            if (!at || !waits(*at) || seen() == way.end() || told[at->id])
                continue;
            std::string text = "deadlock: " + inspector.thread(*at);
            for (auto step = seen(); step != way.end(); step++) {
                told[step->first->id] = true;
                text += " waits for " + watch.lock_watch().describe(step->second) + " held by " +
                        inspector.thread(*holder(step->second));
            }
            lines.push_back(text);
        }
    }

    std::vector<std::string> lines;

  private:
    std::string where(const Hart &h) const
    {
        static const char *const PRIVILEGE[] = {"user", "supervisor", "reserved", "machine"};
        std::string text = format("pc 0x%08x %s, %s mode, %s, ", h.pc, watch.image_describe(h.pc).c_str(),
                                  PRIVILEGE[h.state & 3], h.state >> 2 ? "waiting for an interrupt" : "running");
        text += inspector.thread(*h.thread);
        if (h.thread->depth)
            text += format(", %u section%s deep", h.thread->depth, h.thread->depth == 1 ? "" : "s");
        if (h.thread->levels.size() > 1)
            text += format(", %zu trap%s deep", h.thread->levels.size() - 1, h.thread->levels.size() == 2 ? "" : "s");
        text += "; came through";
        unsigned kept = std::min(h.history_at, Hart::HISTORY);
        for (unsigned i = h.history_at - kept; i < h.history_at; i++)
            text += std::string(" ") + watch.function_name(h.history[i % Hart::HISTORY]);
        return text;
    }

    void calls(const std::vector<std::string> &texts)
    {
        std::string line;
        for (const std::string &text : texts)
            line += (line.empty() ? "    in " : " < ") + text;
        if (texts.size() > 1)
            lines.push_back(line);
    }

    void locks(const Thread &thread)
    {
        for (const auto &[lock, its] : holds)
            for (const LockWatch::Hold &hold : its)
                if (hold.thread == thread.id)
                    lines.push_back(format("    holds %s since cycle %llu", watch.lock_watch().describe(lock).c_str(),
                                           (unsigned long long)hold.since));
        for (const Level &level : thread.levels)
            for (const LockAttempt &attempt : level.attempts)
                if (attempt.missed)
                    lines.push_back(format("    waits for %s since cycle %llu, ",
                                           watch.lock_watch().describe(attempt.lock).c_str(),
                                           (unsigned long long)attempt.missed_at) +
                                    holders(attempt.lock));
    }

    std::string holders(uint32_t lock) const
    {
        auto its = holds.find(lock);
        if (its == holds.end())
            return "held by no thread";
        std::string text;
        for (const LockWatch::Hold &hold : its->second) {
            text += (text.empty() ? "held by " : " and ") + inspector.thread(watch.thread(hold.thread));
            auto on = runs_on.find(hold.thread);
            text += on == runs_on.end() ? " (on no hart)" : format(" (on hart %u)", on->second);
        }
        return text;
    }

    const Thread *holder(uint32_t lock) const // one of them
    {
        auto its = holds.find(lock);
        return its == holds.end() ? nullptr : &watch.thread(its->second.front().thread);
    }

    bool holds_any(uint64_t thread) const
    {
        return std::any_of(holds.begin(), holds.end(), [&](const auto &lock) {
            return std::any_of(lock.second.begin(), lock.second.end(),
                               [&](auto &hold) { return hold.thread == thread; });
        });
    }

    static const LockAttempt *waits(const Thread &thread)
    {
        for (const Level &level : thread.levels)
            for (const LockAttempt &attempt : level.attempts)
                if (attempt.missed)
                    return &attempt;
        return nullptr;
    }

    const Watch &watch;
    const Inspector &inspector;
    std::map<uint64_t, const Thread *> threads;
    std::map<uint64_t, unsigned> runs_on;
    std::map<uint32_t, std::vector<LockWatch::Hold>> holds; // by lock; only locks that are held
};

} // namespace

std::vector<std::string> report_harts(const Watch &watch, const Inspector &inspector,
                                      const std::vector<const uint32_t *> &registers)
{
    Report report(watch, inspector);
    for (unsigned i = 0; i < watch.harts.size(); i++)
        report.hart(i, registers[i]);
    report.sleepers();
    report.circles();
    return std::move(report.lines);
}
