#include "support/watchdog.h"

#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

std::atomic<const char *> Doing::now{nullptr};

Watchdog::Watchdog(unsigned report_after, unsigned end_after) : report_after(report_after), end_after(end_after)
{
    if ((report_after || end_after) && pthread_getcpuclockid(pthread_self(), &main_clock) == 0)
        thread = std::thread([this] { watch(); });
}

Watchdog::~Watchdog()
{
    {
        std::lock_guard<std::mutex> hold(mutex);
        over = true;
    }
    wake.notify_all();
    if (thread.joinable())
        thread.join();
}

double Watchdog::main_thread_seconds() const
{
    timespec used{};
    clock_gettime(main_clock, &used);
    return double(used.tv_sec) + 1e-9 * double(used.tv_nsec);
}

void Watchdog::watch()
{
    std::unique_lock<std::mutex> hold(mutex);
    uint64_t seen = UINT64_MAX;
    unsigned still = 0; // seconds
    double used = 0;
    auto went_on = [&] {
        if (report_after && still >= report_after)
            std::fprintf(stderr, "the simulator goes on, it had stood still for %u s\n", still);
    };
    while (!wake.wait_for(hold, std::chrono::seconds(1), [this] { return over; })) {
        uint64_t at = cycle.load(std::memory_order_relaxed), beat = beats.load(std::memory_order_relaxed);
        if (beat != seen) {
            went_on();
            seen = beat;
            still = 0;
            used = main_thread_seconds();
            continue;
        }
        still++;
        bool ends = end_after && still == end_after;
        if (still != report_after && !ends)
            continue;
        double computed = main_thread_seconds() - used;
        const char *doing = Doing::now.load(std::memory_order_relaxed);
        std::fprintf(stderr,
                     "stall: the simulator has stood still for %u s at cycle %llu, while %s; it %s "
                     "(%.1f s of processor time). The target does not hang.%s\n",
                     still, (unsigned long long)at, doing ? doing : "simulating",
                     computed > still / 2.0 ? "computes" : "waits", computed, ends ? " It is ended." : "");
        if (ends)
            _exit(STALLED); // the main thread cannot be stopped otherwise
    }
    went_on();
}
