// One run of a search: from a start to a good local optimum.
//
// There are four kinds of runs; `bowfree.search.plan` decides how many of each are done:
//
//   climb      start -> climb (-> plateau). The paper's, from the empty graph or a uniform random
//              BAP, without the plateau.
//   sparse     a random graph of about d/3 edges -> climb -> plateau. Finds weak, sparse graphs.
//   dag_first  the best DAG over orders (orders.hpp) -> permit bidirected edges -> climb -> plateau.
//              Finds the order of the nodes before districts grow, as is necessary for dense graphs
//              with strong effects. With few nodes, and under rules that `OrderSearch` does not
//              support, the DAG is found by iterated local search instead.
//   kicks      from a good graph: kick -> climb -> plateau -> keep the better graph, repeatedly.
//              With many nodes the first kick changes the whole graph, and the plateau comes last.
//
// A run is a pure function of (data, options, task): it has its own random stream and shares only
// the cache. A run that is stopped or reaches its work limit ends with the best graph it has seen;
// where the work limit is reached does not depend on other runs.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "search/climb.hpp"
#include "search/orders.hpp"

namespace bowfree {

enum class RunKind : std::uint8_t { climb, sparse, dag_first, kicks };

struct RunOptions {
    ClimbOptions climb;
    int plateau = 0;           ///< graphs visited on a plateau of equal scores, once in a run
    int order_kicks = -1;      ///< of dag_first, over orders; -1: no search over orders
    int dag_kicks = 0;         ///< of dag_first, over DAGs, without a search over orders
    int bap_kicks = 0;         ///< of kicks
    bool whole_first = false;  ///< of kicks: first the whole graph, and the plateau last
    std::int64_t burn_in = 0;  ///< steps to a uniform random start
    std::size_t keep = 0;      ///< graphs in the pool
    double window = 0.0;       ///< of the pool, in units of the score
};

struct Task {
    RunKind kind = RunKind::climb;
    std::uint64_t seed = 0, stream = 0;
    /// The start; if there is none, that of the kind of run.
    std::optional<Graph> start;
    /// In multiplications; a run that reaches it ends with the best graph it has seen.
    double work_limit = std::numeric_limits<double>::infinity();
    /// Neighbors of local optima with a lower score do not go into the pool: other runs have found
    /// enough better graphs.
    double bar = Pool::lowest;
};

struct Run {
    Run(Graph graph, Pool pool) : start(graph), end(std::move(graph)), trace(std::move(pool)) {}
    Graph start, end;
    double score = 0.0;
    bool complete = false;        ///< false when it was stopped
    bool hit_work_limit = false;  ///< ended early, at its work limit
    double seconds = 0.0;
    Effort effort;
    Trace trace;
};

/// What runs of the same search share, one at a time. It changes only their time.
struct RunMemory {
    Screen::Memory screen;
    ParentTrees trees;
};

/// Does a task. `required` is the graph of the required edges (empty without knowledge). Returns
/// nothing when the stop is raised before the first graph has a score. The number of threads changes
/// the time only.
std::optional<Run> run_task(Scorer& scorer, const Rules& rules, const RunOptions& options,
                            const Task& task, const Graph& required, RunMemory& memory,
                            const Stop& stop, int n_threads = 1);

}  // namespace bowfree
