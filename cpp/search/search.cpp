#include "search/search.hpp"

#include <algorithm>

namespace bowfree {

Search::Search(JointData data, double n, double penalty, std::size_t cache_bytes, Rules rules,
               RunOptions options, Graph required, int sweeps, std::vector<int> sizes)
    : scorer_(std::move(data), n, penalty, cache_bytes, sweeps, std::move(sizes)),
      rules_(std::move(rules)),
      options_(options),
      required_(std::move(required)),
      pool_(options.keep, options.window),
      unfinished_pool_(options.keep, options.window) {}

void Search::launch(std::vector<Task> tasks, int n_threads) {
    tasks_ = std::move(tasks);
    const int n_tasks = static_cast<int>(tasks_.size());
    threads_per_run_ = std::max(1, n_threads / std::max(1, n_tasks));
    const auto job = [this](int t, const Stop& stop) { do_task(t, stop); };
    if (workers_.start(n_tasks, n_threads, job) == 0 && n_tasks > 0) throw NoThread();
}

void Search::do_task(int t, const Stop& stop) {
    std::unique_ptr<RunMemory> memory;
    workers_.update([&] {
        if (memories_.empty()) return;
        memory = std::move(memories_.back());
        memories_.pop_back();
    });
    if (!memory) memory = std::make_unique<RunMemory>();
    auto run =
        run_task(scorer_, rules_, options_, tasks_[t], required_, *memory, stop, threads_per_run_);
    if (!run && t == 0) {
        // Stopped before any graph had a score. A search always returns a graph, and that of the
        // required edges can be scored quickly.
        const Stop never;
        const Task no_search{RunKind::climb, 0, 0, required_};
        RunOptions no_steps = options_;
        no_steps.climb.max_steps = 0;
        run = run_task(scorer_, rules_, no_steps, no_search, required_, *memory, never);
        run->complete = false;
    }
    workers_.update([&] {
        memories_.push_back(std::move(memory));
        if (run) finished_.emplace_back(t, std::move(*run));
    });
}

std::vector<std::pair<int, Run>> Search::collect(double seconds) {
    std::vector<std::pair<int, Run>> found;
    workers_.wait(deadline_in(seconds), [&] { return !finished_.empty(); });
    workers_.rethrow_failure();
    workers_.update([&] { found.swap(finished_); });
    for (const auto& [index, run] : found)
        (run.complete ? pool_ : unfinished_pool_).merge(run.trace.pool);
    return found;
}

bool Search::busy() {
    bool left = false;
    const bool working = workers_.working();
    // A task may have failed since the last call of `collect`.
    if (!working) workers_.rethrow_failure();
    workers_.update([&] { left = !finished_.empty(); });
    return working || left;
}

}  // namespace bowfree
