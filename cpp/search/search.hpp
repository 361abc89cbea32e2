// A search on one data set: a cache, a pool, and threads that do independent runs.
//
// The caller's thread only waits and collects, so it can answer to signals, clocks and the user.
#pragma once

#include <utility>
#include <vector>

#include "search/run.hpp"
#include "threads.hpp"

namespace bowfree {

class Search {
  public:
    Search(JointData data, double n, double penalty, std::size_t cache_bytes, Rules rules,
           RunOptions options, Graph required, int sweeps = 0);

    /// Starts up to `n_threads` threads on the tasks, which are taken in order; throws `NoThread`
    /// when not even one can be started. The previous batch must have been collected.
    void launch(std::vector<Task> tasks, int n_threads);

    /// Runs finished since the last call, as (index of the task, run), waiting up to `seconds` for
    /// one. Their pools are now part of `pool`, or of `unfinished_pool`.
    std::vector<std::pair<int, Run>> collect(double seconds);

    /// True while runs of the batch are under way or not yet collected.
    bool busy();

    /// Stops all runs; they still have to be collected. The first task always has a run, if only
    /// one at the graph of the required edges.
    void stop() { workers_.request_stop(); }
    const Stop& stopped() const { return workers_.stop(); }

    /// What finished runs have met. A run that was stopped may have met what it would not meet when
    /// it is done again, so it is kept apart: a search that resumes sees finished runs only.
    Pool& pool() { return pool_; }
    Pool& unfinished_pool() { return unfinished_pool_; }
    Scorer& scorer() { return scorer_; }
    const Rules& rules() const { return rules_; }

  private:
    void do_task(int t, const Stop& stop);

    Scorer scorer_;
    Rules rules_;
    RunOptions options_;
    Graph required_;
    Pool pool_, unfinished_pool_;
    std::vector<Task> tasks_;
    std::vector<std::pair<int, Run>> finished_;  // under the lock of `workers_`
    Workers workers_;                            // last: it ends its threads before the rest goes
};

}  // namespace bowfree
