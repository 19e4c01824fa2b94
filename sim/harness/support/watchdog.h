// Distinguishes a stalled simulator from a target that hangs. The main loop reports progress every few milliseconds; if
// it has not for some seconds, a separate thread reports where it is, and ends the process if so requested. Only
// seconds in which this process could run count: a stopped process or a suspended host is no stall.
#pragma once
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

// Names an operation of the main thread that may block, for the object's lifetime.
class Doing {
  public:
    explicit Doing(const char *what) : before(now.exchange(what, std::memory_order_relaxed)) {}
    ~Doing() { now.store(before, std::memory_order_relaxed); }
    Doing(const Doing &) = delete;
    Doing &operator=(const Doing &) = delete;

    static std::atomic<const char *> now; // null: it simulates

  private:
    const char *before;
};

class Watchdog {
  public:
    static constexpr int STALLED = 5; // the exit status

    // Watches the thread that calls this. `report_after` and `end_after` are seconds; 0: never.
    Watchdog(unsigned report_after, unsigned end_after);
    ~Watchdog();

    void alive(uint64_t at) // from any thread
    {
        cycle.store(at, std::memory_order_relaxed);
        beats.fetch_add(1, std::memory_order_relaxed);
    }

  private:
    void watch();
    double main_thread_seconds() const;

    unsigned report_after, end_after;
    std::atomic<uint64_t> cycle{0}, beats{0};
    clockid_t main_clock;
    std::mutex mutex;
    std::condition_variable wake;
    bool over = false;
    std::thread thread; // last: it uses the others
};
