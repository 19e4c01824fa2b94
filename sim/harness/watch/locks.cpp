#include "watch/locks.h"

#include <algorithm>
#include <cstring>

#include "support/failure.h"

namespace {

// Offsets in a lock's object and its class (kernel/lock/lock_class.h).
constexpr uint32_t OBJECT_CLASS = 0, OBJECT_NAME = 4, CLASS_NAME = 0, CLASS_KIND = 4;
constexpr const char *KINDS[] = {"simple", "mutex", "rw"};

} // namespace

LockWatch::Class LockWatch::read_class(uint32_t address) const
{
    uint32_t name, kind, any;
    if (!memory.word(address + CLASS_NAME, name) || !memory.word(address + CLASS_KIND, kind) ||
        !memory.word(name & ~3u, any) || (kind & 0xff) >= std::size(KINDS))
        return {"?", "?", false};
    return {memory.text(name), KINDS[kind & 0xff], (kind & 0xff) == 0};
}

std::string LockWatch::describe(uint32_t lock) const
{
    uint32_t name;
    std::string text = memory.word(lock + OBJECT_NAME, name) ? memory.text(name) : "";
    Class its = read_class(class_address(lock));
    return format("%s (%s lock, class %s)", text.empty() ? format("0x%08x", lock).c_str() : text.c_str(),
                  its.kind.c_str(), its.name.c_str());
}

uint32_t LockWatch::class_address(uint32_t lock) const
{
    uint32_t address = 0;
    memory.word(lock + OBJECT_CLASS, address);
    return address;
}

const LockWatch::Class &LockWatch::class_at(uint32_t address)
{
    auto found = classes_at.find(address);
    if (found == classes_at.end())
        found = classes_at.emplace(address, read_class(address)).first;
    return found->second;
}

LockAttempt *LockWatch::find(Attempts &open, uint32_t lock)
{
    for (size_t i = open.size(); i-- > 0;)
        if (open[i].lock == lock)
            return &open[i];
    stray += window;
    return nullptr;
}

template <typename Action> void LockWatch::for_both(const Class &lock_class, uint32_t site, Action action)
{
    action(classes[lock_class]);
    action(sites[{site, lock_class}]);
}

void LockWatch::count(const LockAttempt &attempt, const Class &lock_class, bool failure)
{
    if (attempt.counts != counts)
        return;
    for_both(lock_class, attempt.site, [&](Figures &figures) {
        figures.attempts++;
        figures.misses += attempt.missed;
        figures.blocks += attempt.blocks;
        figures.failures += failure;
    });
}

void LockWatch::attempt(Attempts &open, uint32_t lock, uint32_t site)
{
    open.push_back({lock, site, 0, 0, window ? counts : 0, false});
}

bool LockWatch::miss(Attempts &open, uint32_t lock, uint64_t cycle)
{
    LockAttempt *attempt = find(open, lock);
    if (!attempt)
        return false;
    if (!attempt->missed)
        attempt->missed_at = cycle; // it may miss again after it has slept: the wait continues
    attempt->missed = true;
    return class_of(lock).spins;
}

void LockWatch::block(Attempts &open, uint32_t lock)
{
    if (LockAttempt *attempt = find(open, lock))
        attempt->blocks++;
}

// Only now is the lock's class looked up: the atomic access that took it followed the stores that made it in memory.
bool LockWatch::acquired(Attempts &open, uint32_t lock, uint64_t thread, uint64_t cycle)
{
    LockAttempt *found = find(open, lock);
    if (!found)
        return false;
    LockAttempt attempt = *found;
    open.erase(open.begin() + (found - open.data()));
    uint32_t address = class_address(lock);
    const Class &lock_class = class_at(address);
    count(attempt, lock_class, false);
    if (attempt.missed && window && attempt.missed_at >= window_began)
        for_both(lock_class, attempt.site, [&](Figures &figures) { figures.wait.add(cycle - attempt.missed_at); });
    held[lock].push_back({thread, cycle, attempt.site, address});
    return true;
}

bool LockWatch::failed(Attempts &open, uint32_t lock)
{
    LockAttempt *found = find(open, lock);
    if (!found)
        return false;
    count(*found, class_of(lock), true);
    open.erase(open.begin() + (found - open.data()));
    return true;
}

// A thread releases its own hold; if it has none, it took the lock over from the thread that the hart ran before.
void LockWatch::released(uint32_t lock, uint64_t thread, uint64_t cycle)
{
    std::vector<Hold> &holds = held[lock];
    auto own = std::find_if(holds.begin(), holds.end(), [&](const Hold &hold) { return hold.thread == thread; });
    if (own == holds.end())
        own = holds.begin();
    if (own == holds.end()) {
        stray += window;
        return;
    }
    if (window && own->since >= window_began)
        for_both(class_at(own->class_address), own->site,
                 [&](Figures &figures) { figures.hold.add(cycle - own->since); });
    holds.erase(own);
}

void LockWatch::abandoned(const Attempts &open)
{
    for (const LockAttempt &attempt : open)
        count(attempt, class_of(attempt.lock), false);
}

void LockWatch::Figures::write(Json &json) const
{
    json.number("attempts", attempts).number("misses", misses).number("blocks", blocks).number("failures", failures);
    wait.write(json, "wait_cycles");
    hold.write(json, "hold_cycles");
    json.end_object();
}

void LockWatch::write(Json &json) const
{
    json.object("locks").array("classes");
    for (const auto &[lock_class, figures] : classes) {
        json.object().string("class", lock_class.name).string("kind", lock_class.kind);
        figures.write(json);
    }
    json.end_array().array("sites");
    for (const auto &[key, figures] : sites) {
        json.object().string("site", format("0x%08x", key.first)).string("function", image.describe(key.first));
        json.string("class", key.second.name).string("kind", key.second.kind);
        figures.write(json);
    }
    json.end_array().number("stray_marks", stray).end_object();
}
