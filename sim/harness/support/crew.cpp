#include "support/crew.h"

Crew::Crew(unsigned hands)
{
    for (unsigned i = 1; i < hands; i++)
        threads.emplace_back([this] { hand(); });
}

Crew::~Crew()
{
    {
        std::lock_guard<std::mutex> hold(mutex);
        over = true;
    }
    called.notify_all();
    for (std::thread &thread : threads)
        thread.join();
}

void Crew::share(size_t count, const std::function<void(size_t)> &with)
{
    if (threads.empty() || count < 2) {
        for (size_t i = 0; i < count; i++)
            with(i);
        return;
    }
    {
        std::lock_guard<std::mutex> hold(mutex);
        work = &with;
        pieces = count;
        next = 0;
        busy = unsigned(threads.size());
        job++;
    }
    called.notify_all();
    take();
    std::unique_lock<std::mutex> hold(mutex);
    done.wait(hold, [this] { return busy == 0; });
}

void Crew::take()
{
    for (size_t i; (i = next++) < pieces;)
        (*work)(i);
}

void Crew::hand()
{
    unsigned seen = 0;
    std::unique_lock<std::mutex> hold(mutex);
    for (;;) {
        called.wait(hold, [&] { return over || job != seen; });
        if (over)
            return;
        seen = job;
        hold.unlock();
        take();
        hold.lock();
        if (--busy == 0)
            done.notify_one();
    }
}
