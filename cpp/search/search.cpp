#include "search/search.hpp"

#include <chrono>
#include <exception>

namespace bowfree {

Search::Search(std::vector<double> S, int d, double n, double penalty, std::size_t cache_bytes,
               Rules rules, RunOptions options, Graph ground, int sweeps)
    : scorer_(std::move(S), d, n, penalty, cache_bytes, sweeps),
      rules_(std::move(rules)),
      options_(options),
      ground_(std::move(ground)),
      pool_(options.keep, options.window),
      cut_short_(options.keep, options.window) {}

Search::~Search() {
    stop();
    join();
}

void Search::join() {
    for (auto& thread : threads_) thread.join();
    threads_.clear();
}

void Search::launch(std::vector<Task> tasks, int n_threads) {
    join();
    tasks_ = std::move(tasks);
    next_ = 0;
    working_ = n_threads;
    for (int t = 0; t < n_threads; ++t) threads_.emplace_back([this] { work(); });
}

void Search::work() {
    try {
        const int n_tasks = static_cast<int>(tasks_.size());
        // A stopped search does not begin new runs, except that the first always leaves a result.
        for (int t; (t = next_++) < n_tasks && (t == 0 || !stop_);) {
            Run run = run_task(scorer_, rules_, options_, tasks_[t], ground_, stop_);
            std::lock_guard lock(mutex_);
            finished_.emplace_back(t, std::move(run));
            finished_one_.notify_all();
        }
    } catch (...) {
        std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
        stop_ = true;
    }
    std::lock_guard lock(mutex_);
    --working_;
    finished_one_.notify_all();
}

std::vector<std::pair<int, Run>> Search::collect(double seconds) {
    std::vector<std::pair<int, Run>> found;
    {
        std::unique_lock lock(mutex_);
        finished_one_.wait_for(lock, std::chrono::duration<double>(seconds),
                               [&] { return !finished_.empty() || working_ == 0; });
        if (failure_) std::rethrow_exception(failure_);
        found.swap(finished_);
    }
    for (const auto& [index, run] : found)
        (run.complete ? pool_ : cut_short_).merge(run.journal.pool);
    return found;
}

bool Search::busy() {
    std::lock_guard lock(mutex_);
    return working_ > 0 || !finished_.empty();
}

}  // namespace bowfree
