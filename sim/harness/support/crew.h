// A pool of threads that share the pieces of a job.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

class Crew {
  public:
    explicit Crew(unsigned hands); // the caller is one of them
    ~Crew();
    Crew(const Crew &) = delete;
    Crew &operator=(const Crew &) = delete;

    // Calls `work` with 0 to `pieces` - 1, each once, in any order; returns when all are done. `work` throws nothing.
    void share(size_t pieces, const std::function<void(size_t)> &work);

  private:
    void hand();
    void take();

    std::mutex mutex;
    std::condition_variable called, done;
    const std::function<void(size_t)> *work = nullptr; // of the job that `job` counts
    size_t pieces = 0;
    unsigned job = 0, busy = 0; // hands that have not finished the job
    bool over = false;
    std::atomic<size_t> next{0};
    std::vector<std::thread> threads;
};
