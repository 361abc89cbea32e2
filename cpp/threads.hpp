// Numbered jobs on several threads: the one place where threads are started.
//
// Threads are always joined, also when something is thrown. The first exception of a job ends the
// work and reaches the caller. When the system refuses a thread, the ones there are do the work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "stop.hpp"

namespace bowfree {

/// Does job number `job`, asking `stop`.
using Job = std::function<void(int job, const Stop& stop)>;

/// Thrown when not even one thread could be started for work that needs one.
struct NoThread : std::runtime_error {
    NoThread()
        : std::runtime_error(
              "the system starts no more threads: end other programs, or raise the "
              "limit on processes or memory") {}
};

/// Threads that take the jobs 0, 1, ... in this order while their owner does something else.
class Crew {
  public:
    Crew() = default;
    ~Crew() { dismiss(); }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    /// Starts up to `n_threads` threads on `n_jobs` jobs, and returns how many there are. With none
    /// nothing is done. The previous jobs must have come to their end. After `request_stop` no job
    /// is begun but the first, which sees the stop and may still leave a result.
    int start(int n_jobs, int n_threads, Job job);

    /// Waits until `ready()` or the end of all jobs, at most until `until`. `ready` is called under
    /// the lock of `note`.
    template <class Ready>
    void wait(Clock::time_point until, Ready ready) {
        std::unique_lock lock(mutex_);
        news_.wait_until(lock, until, [&] { return working_ == 0 || ready(); });
    }

    /// Calls `change` under the lock and wakes the waiting owner: how a job hands over a result.
    template <class Change>
    void note(Change change) {
        const std::lock_guard lock(mutex_);
        change();
        news_.notify_all();
    }

    bool working() {
        const std::lock_guard lock(mutex_);
        return working_ > 0;
    }

    /// Throws what the first job that failed has thrown.
    void rethrow();

    /// Tells the jobs under way to end where they are.
    void request_stop() { stop_.request(); }
    const Stop& stop() const { return stop_; }

    /// Stops the work and waits for the threads.
    void dismiss();

  private:
    void work();

    Stop stop_;
    Job job_;
    int n_jobs_ = 0;
    std::atomic<int> next_{0};
    std::vector<std::thread> threads_;

    std::mutex mutex_;  // of what follows, and of what `note` changes
    std::condition_variable news_;
    int working_ = 0;
    std::exception_ptr failure_;
};

/// Does `n_jobs` jobs on `n_threads` threads and returns when all are done. The caller's thread
/// waits and asks `stop`, which may look for itself; with one thread, or when the system refuses
/// more, it works. What `stop` or a job throws comes out of here; work cut short by the stop throws
/// `Stopped`.
void run_jobs(int n_jobs, int n_threads, const Stop& stop, const Job& job);

}  // namespace bowfree
