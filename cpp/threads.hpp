// Numbered jobs on several threads: the only place where threads are started.
//
// Threads are always joined, also when an exception is thrown. The first exception of a job ends
// the work and is passed on to the caller. When the system refuses to start a thread, the others do
// the work.
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

/// Does job number `job`, checking `stop`.
using Job = std::function<void(int job, const Stop& stop)>;

/// Thrown when not even one thread could be started.
struct NoThread : std::runtime_error {
    NoThread()
        : std::runtime_error(
              "the system starts no more threads: end other programs, or raise the "
              "limit on processes or memory") {}
};

/// Threads that take the jobs 0, 1, ... in this order while their owner does something else. All
/// methods but `update` are for the owner's thread.
class Workers {
  public:
    Workers() = default;
    ~Workers() { stop_and_join(); }
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    /// Starts up to `n_threads` threads on `n_jobs` jobs and returns how many were started; with
    /// none, nothing is done. The previous jobs must have ended. After `request_stop` only job 0 is
    /// begun: it sees the stop and may still leave a result.
    int start(int n_jobs, int n_threads, Job job);

    /// Waits until `ready()` or the end of all jobs, at most until `until`. `ready` is called under
    /// the lock of `update`.
    template <class Ready>
    void wait(Clock::time_point until, Ready ready) {
        std::unique_lock lock(mutex_);
        changed_.wait_until(lock, until, [&] { return n_working_ == 0 || ready(); });
    }

    /// Calls `change` under the lock and wakes the owner: how a job delivers a result.
    template <class Change>
    void update(Change change) {
        const std::scoped_lock lock(mutex_);
        change();
        changed_.notify_all();
    }

    bool working() {
        const std::scoped_lock lock(mutex_);
        return n_working_ > 0;
    }

    /// Throws the exception of the first job that failed, if any did.
    void rethrow_failure();

    /// Tells the running jobs to stop.
    void request_stop() { stop_.request(); }
    const Stop& stop() const { return stop_; }

    void stop_and_join();

  private:
    void work();

    Stop stop_;
    Job job_;
    int n_jobs_ = 0;
    std::atomic<int> next_{0};
    std::vector<std::thread> threads_;

    std::mutex mutex_;  // of the members below, and of what `update` changes
    std::condition_variable changed_;
    int n_working_ = 0;
    std::exception_ptr failure_;
};

/// Does `n_jobs` jobs on `n_threads` threads and returns when all are done. The caller's thread
/// waits and polls `stop`; with one thread, or when the system refuses to start others, it does the
/// work itself. Exceptions of `stop` and of jobs are passed on; cancelled work throws `Stopped`.
void run_jobs(int n_jobs, int n_threads, const Stop& stop, const Job& job);

}  // namespace bowfree
