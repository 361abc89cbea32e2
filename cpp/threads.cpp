#include "threads.hpp"

#include <algorithm>
#include <cassert>
#include <system_error>
#include <utility>

namespace bowfree {

int Crew::start(int n_jobs, int n_threads, Job job) {
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    assert(working_ == 0);
    job_ = std::move(job);
    n_jobs_ = n_jobs;
    next_ = 0;
    const int wanted = std::min(n_jobs, n_threads);
    threads_.reserve(wanted);
    working_ = wanted;
    try {
        for (int t = 0; t < wanted; ++t) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // the system's limit: what there is has to do
        note([&] { working_ -= wanted - static_cast<int>(threads_.size()); });
    }
    return static_cast<int>(threads_.size());
}

void Crew::work() {
    try {
        for (int job; (job = next_++) < n_jobs_ && (job == 0 || !stop_.requested());)
            job_(job, stop_);
    } catch (const Stopped&) {
    } catch (...) {
        note([&] {
            if (!failure_) failure_ = std::current_exception();
        });
        stop_.request();
    }
    note([&] { --working_; });
}

void Crew::rethrow() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
}

void Crew::dismiss() {
    stop_.request();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
}

void run_jobs(int n_jobs, int n_threads, const Stop& stop, const Job& job) {
    constexpr auto nap = std::chrono::milliseconds(50);  // between two looks at `stop`
    Crew crew;
    if (std::min(n_jobs, n_threads) > 1 && crew.start(n_jobs, n_threads, job) > 0) {
        while (crew.working()) {
            crew.wait(Clock::now() + nap, [] { return false; });
            if (stop.requested_by_now()) crew.request_stop();
        }
        crew.rethrow();
        if (crew.stop().requested()) throw Stopped{};
        return;
    }
    for (int k = 0; k < n_jobs; ++k) {
        stop.check();
        job(k, stop);
    }
}

}  // namespace bowfree
