// Steepest ascent over single-edge changes (section 3), and walks over plateaus of equal scores.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rng.hpp"
#include "search/move_table.hpp"
#include "search/pool.hpp"

namespace bowfree {

/// Which moves are permitted: all; only additions; only deletions; or either of these together with
/// changes of the kind of an edge.
enum class Direction : std::uint8_t { both, forward, backward, forward_change, backward_change };

struct ClimbOptions {
    Direction direction = Direction::both;
    int neighbors = 0;            ///< moves compared per step, drawn at random; 0: all
    std::int64_t max_steps = -1;  ///< of one climb; -1: until no move gains
    /// Scores closer than this count as equal: those of equivalent graphs differ by rounding and the
    /// tolerance of the fits.
    double tolerance = 1e-9;
};

/// The scores and the best graphs of a run.
struct Trace {
    explicit Trace(Pool empty) : pool(std::move(empty)) {}
    std::vector<double> path;  ///< the score of the start, then every new best score
    Pool pool;
    double bar = Pool::lowest;  ///< neighbors with a lower score are not needed in the pool
};

/// The local search of one run. All methods may throw `Stopped`; the trace then contains the graphs
/// visited before.
class Climber {
  public:
    Climber(Scorer& scorer, Graph start, const Rules& rules, const ClimbOptions& options, Rng& rng,
            Workspace& workspace, Trace& trace, Screen::Memory* memory = nullptr);

    MoveTable& table() { return table_; }

    /// Replaces the rules; the graph must satisfy the new ones.
    void use(const Rules& rules) {
        rules_ = &rules;
        table_.rules_changed();
    }
    const Rules& rules() const { return *rules_; }

    /// Makes the best move until none gains more than the tolerance; ties are broken at random.
    /// `cost_factor` multiplies the cost of an edge. Returns true in a local optimum, false after
    /// `max_steps`.
    bool climb(double cost_factor = 1.0);

    /// Climbs, then visits up to `limit` graphs of equal score that are connected by single moves;
    /// starts again when one of them has a better neighbor. A climb that ends in a graph found on such
    /// a plateau before is not followed by visits: perturbations often lead back.
    void climb_and_walk_plateau(int limit);

    /// Climbs on until no change between -> and <-> gains, whatever the screen says. Without limits
    /// of a climb only.
    void climb_unscreened();

    /// Adds the current graph to the trace.
    void record();

  private:
    struct Choice {
        bool found = false;
        Move move{};
    };
    /// The next move, if one gains more than the tolerance.
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
    std::unordered_set<Key, KeyHash> walked_;     // graphs found on plateaus
    std::vector<std::pair<Move, double>> found_;  // scratch: moves and their gains
};

}  // namespace bowfree
