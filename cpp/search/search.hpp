// A search on one data set: a cache, a pool, and threads that execute independent runs.
//
// The calling thread only waits and collects, so it can handle signals and time limits.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "search/run.hpp"
#include "threads.hpp"

namespace bowfree {

class Search {
  public:
    Search(JointData data, double n, double penalty, std::size_t cache_bytes, Rules rules,
           RunOptions options, Graph required, int sweeps = 0, std::vector<int> sizes = {});

    /// Starts up to `n_threads` threads, which take the tasks in order; throws `NoThread` when none
    /// can be started. With fewer tasks than threads, every run has several. All runs of the previous
    /// batch must have been collected.
    void launch(std::vector<Task> tasks, int n_threads);

    /// Returns the runs finished since the last call as (index of the task, run), waiting up to
    /// `seconds` for one, and merges their pools into `pool` or `unfinished_pool`.
    std::vector<std::pair<int, Run>> collect(double seconds);

    /// Whether runs of the batch are still executed or not yet collected.
    bool busy();

    /// Stops all runs; they must still be collected. The first task always returns a run, if only
    /// the graph of the required edges.
    void stop() { workers_.request_stop(); }
    const Stop& stopped() const { return workers_.stop(); }

    /// The best graphs of complete runs, and of runs that were stopped. A search that resumes repeats
    /// the latter, so their graphs are kept separately.
    Pool& pool() { return pool_; }
    Pool& unfinished_pool() { return unfinished_pool_; }
    Scorer& scorer() { return scorer_; }
    const Rules& rules() const { return rules_; }

  private:
    void do_task(int t, const Stop& stop);
    int threads_per_run_ = 1;

    Scorer scorer_;
    Rules rules_;
    RunOptions options_;
    Graph required_;
    Pool pool_, unfinished_pool_;
    std::vector<Task> tasks_;
    std::vector<std::pair<int, Run>> finished_;         // under the lock of `workers_`
    std::vector<std::unique_ptr<RunMemory>> memories_;  // not in use; under the same lock
    Workers workers_;                                   // last, so that its threads end first
};

}  // namespace bowfree
