#include "threads.hpp"

#include <algorithm>
#include <cassert>
#include <system_error>
#include <utility>

namespace bowfree {

int Workers::start(int n_jobs, int n_threads, Job job) {
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    assert(n_working_ == 0);
    job_ = std::move(job);
    n_jobs_ = n_jobs;
    next_ = 0;
    const int wanted = std::min(n_jobs, n_threads);
    threads_.reserve(wanted);
    n_working_ = wanted;
    try {
        for (int t = 0; t < wanted; ++t) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // the system's limit: continue with the threads started
        update([&] { n_working_ -= wanted - static_cast<int>(threads_.size()); });
    }
    return static_cast<int>(threads_.size());
}

void Workers::work() {
    try {
        for (int job = 0; (job = next_++) < n_jobs_ && (job == 0 || !stop_.requested());)
            job_(job, stop_);
    } catch (const Stopped&) {
    } catch (...) {
        update([&] {
            if (!failure_) failure_ = std::current_exception();
        });
        stop_.request();
    }
    update([&] { --n_working_; });
}

void Workers::rethrow_failure() {
    const std::scoped_lock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
}

void Workers::stop_and_join() {
    stop_.request();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
}

void run_jobs(int n_jobs, int n_threads, const Stop& stop, const Job& job) {
    constexpr auto pause = std::chrono::milliseconds(50);  // between two polls of `stop`
    Workers workers;
    if (std::min(n_jobs, n_threads) > 1 && workers.start(n_jobs, n_threads, job) > 0) {
        while (workers.working()) {
            workers.wait(Clock::now() + pause, [] { return false; });
            if (stop.requested_now()) workers.request_stop();
        }
        workers.rethrow_failure();
        if (workers.stop().requested()) throw Stopped{};
        return;
    }
    for (int k = 0; k < n_jobs; ++k) {
        stop.check();
        job(k, stop);
    }
}

}  // namespace bowfree
