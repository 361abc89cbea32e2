// Steepest ascent over single-edge changes (section 3), and the walk over a plateau of equal
// scores.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "rng.hpp"
#include "search/move_table.hpp"
#include "search/pool.hpp"

namespace bowfree {

/// All moves; only those that add or only those that delete an edge; or one of the two beside
/// moves that change the kind of an edge.
enum class Direction : std::uint8_t { both, forward, backward, forward_change, backward_change };

struct ClimbOptions {
    Direction direction = Direction::both;
    int neighbors = 0;            ///< moves looked at per step, drawn at random; 0: all
    std::int64_t max_steps = -1;  ///< of one climb; -1: until no move gains
    /// Scores closer than this are equal: equivalent graphs differ by rounding and by what the
    /// fits leave open, never by more.
    double tolerance = 1e-9;
};

/// The scores and graphs that a run has visited.
struct Trace {
    explicit Trace(Pool kept) : pool(std::move(kept)) {}
    std::vector<double> path;  ///< the start's score, then every new best of the run
    Pool pool;
};

/// The climber of one run: a graph, the rules, and a stream of random numbers. All methods may
/// throw `Stopped`; the trace then contains all graphs visited before.
class Climber {
  public:
    Climber(Scorer& scorer, Graph start, const Rules& rules, const ClimbOptions& options, Rng& rng,
            Workspace& workspace, Trace& trace);

    MoveTable& table() { return table_; }

    /// Replaces the rules; the graph must satisfy the new ones.
    void use(const Rules& rules) {
        rules_ = &rules;
        table_.rules_changed();
    }
    const Rules& rules() const { return *rules_; }

    /// Makes the best move until none gains more than the tolerance, drawing among moves within the
    /// tolerance of the best. `cost_factor` multiplies the cost of an edge. True when it ended in a
    /// local optimum, false when it ran out of steps.
    bool climb(double cost_factor = 1.0);

    /// From a local optimum, visits up to `limit` graphs of equal score that hang together by
    /// single changes, climbing on (and counting anew) when one of them has a better neighbor.
    void climb_and_walk_plateau(int limit);

    /// Writes the current graph into the trace.
    void record();

  private:
    struct Choice {
        bool found = false;
        Move move{};
    };
    /// The move to make next, when one gains more than the tolerance.
    Choice best_move(double edge_cost);
    Choice best_of_random_moves(double edge_cost);
    Choice draw(double best);
    bool is_wanted(const Move& move) const;
    void record_neighbors();
    void list_equals();

    const Rules* rules_;
    const ClimbOptions& options_;
    Rng& rng_;
    const Stop& stop_;
    Trace& trace_;
    MoveTable table_;
    double edge_cost_;
    std::vector<std::pair<Move, double>> found_;  // scratch: moves, and what they gain
};

}  // namespace bowfree
