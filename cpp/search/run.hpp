// One run of a search: from a start to a good local optimum.
//
// There are four kinds of runs (`bowfree.search.plan` says how many of which,
// `bowfree.search.greedy` what for):
//
//   climb      start -> climb (-> plateau). The paper's: from the empty graph or a uniform random
//              BAP, without the plateau.
//   sparse     a random graph of about d/3 edges -> climb -> plateau. Finds weak, sparse graphs.
//   dag_first  the best DAG over orders (orders.hpp) -> open to bidirected edges -> climb ->
//              plateau. Settles the order of the nodes before districts grow: what dense graphs
//              with strong effects need. With few nodes, and where the rules are beyond orders,
//              iterated local search over DAGs comes first instead.
//   kicks      from a good graph: kick -> climb -> plateau -> keep the better one, again and again.
//              With many nodes the first kick is one of the whole graph, and the plateau comes
//              last.
//
// A run is a pure function of (data, options, task): it has its own random stream and shares
// nothing but the cache. A stopped run ends with the best graph it has met, and says so; so does a
// run that has done the work set aside for it, at the same place every time.
//
// The parts: a `Task` says where to start and what to do; `run_task` draws the start, builds the
// climber (climb.hpp) on a move table (move_table.hpp) and hands it to the kind's own function; the
// climber writes all it meets into the run's trace, with its pool (pool.hpp).
//
//   run_task            start -> climber -> one of the kinds -> the end, or the best before a stop
//   random_start        a uniform random graph, by the walk of section 3.2
//   sparse_graph        a small random graph
//   search_orders       the best DAG over orders
//   search_dags_first   that, or iterated local search over DAGs
//   kick_locally        one of the kicks that change little
//   kick_and_improve    iterated local search over the graphs that the rules permit
//   iterate             what both have in common: kick, improve, keep or go back
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "search/climb.hpp"

namespace bowfree {

enum class RunKind : std::uint8_t { climb, sparse, dag_first, kicks };

struct RunOptions {
    ClimbOptions climb;
    int plateau = 0;           ///< graphs visited on a plateau of equal scores
    int order_kicks = -1;      ///< of dag_first, over orders; -1: not over orders
    int dag_kicks = 0;         ///< of dag_first, over DAGs, where it is not over orders
    int bap_kicks = 0;         ///< of kicks
    bool whole_first = false;  ///< of kicks: the whole graph, then places, and the plateau last
    std::int64_t burn_in = 0;  ///< steps to a uniform random start
    std::size_t keep = 0;      ///< graphs in the pool
    double window = 0.0;       ///< of the pool, in units of the score
};

struct Task {
    RunKind kind = RunKind::climb;
    std::uint64_t seed = 0, stream = 0;
    /// Where to start; without one, the kind of run has its own.
    std::optional<Graph> start;
    /// In multiplications; then the run ends with the best graph it has met.
    double work_limit = std::numeric_limits<double>::infinity();
};

struct Run {
    Run(Graph graph, Pool pool) : start(graph), end(std::move(graph)), trace(std::move(pool)) {}
    Graph start, end;
    double score = 0.0;
    bool complete = false;        ///< false when it was stopped
    bool hit_work_limit = false;  ///< true when it had done its work before it came to an end
    double seconds = 0.0;
    Effort effort;
    Trace trace;
};

/// Does a task. `required` is the graph of the required edges (empty without knowledge). Nothing
/// comes back when the stop was raised before the first graph had a score.
std::optional<Run> run_task(Scorer& scorer, const Rules& rules, const RunOptions& options,
                            const Task& task, const Graph& required, const Stop& stop);

}  // namespace bowfree
