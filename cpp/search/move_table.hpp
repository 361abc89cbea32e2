// The current graph of a run, with a table of what every move would gain.
//
// The parts:
//
//   graph_, edges_, n_edges_   the graph: as rows of bits for whoever fits, and pair by pair
//   key_, node_key_            its identity, and the rows' shares of it (graph/key.hpp)
//   district_, district_key_,  the districts, each by its smallest node: which one a node is in,
//   objective_                 what it is called in the cache, its F (once asked for)
//   gains_                     what each change of one pair gains in likelihood (once asked for)
//   screened_                  what it gains at most, as far as the screen can progress (screen.hpp)
//   best_                      a tournament tree of the pairs, by the best promise of their changes
//   ancestors_                 the ancestors of each node, for moves that could close a cycle
//                              (computed when first needed)
//
// How they work together. A gain depends only on the districts at which the move adds or removes an
// arrowhead. `apply` changes the graph and the keys of the two rows, settles the one or two
// districts with a changed row anew, and marks as stale the gains of all moves with an arrowhead
// there; all other entries stay valid. What is stale is worked out when it is next asked for, and
// what is asked for are the winners of the tournament: `visit_best` goes down from the most
// promising pair, asks whether a move is permitted and what it gains exactly, and ends where no
// other pair can promise enough. So a step of a climb fits only promising districts next to the
// last change, and most of these are in the scorer's cache.
//
// With few variables there is no tournament: every permitted move is worked out, and looking
// through all of them takes no longer than the upkeep. With more of them (`screened_beyond`) a new
// edge promises `screen_factor` times what the screen finds.
//
//   score            of the graph, from the F of its districts
//   gain             of a move: table entry less the price of edges; `likelihood_gain` keeps the
//                    table
//   compute_gain    F of the districts concerned, before and after, told apart by the kind of move
//   promise          the gain if it is known, else what it may be
//   permits          rules and acyclicity, for one move; `closes_cycle` asks `ancestors_`
//   for_each_move    all permitted changes of one pair
//   visit_best       those that gain enough, best promise first
//   apply, set_graph     one change; all changes that lead to a given graph
//   key_after        identity of a neighbor without making it; `toggled` is what a move changes
//   update_district, mark_stale, refresh, update_ancestors    the upkeep
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "model/scorer.hpp"
#include "rng.hpp"
#include "search/screen.hpp"
#include "space/rules.hpp"

namespace bowfree {

/// Set pair (i, j), i < j, to `edge`.
struct Move {
    int i, j;
    Edge edge;
};

/// A state that the pair is not in; each of the three is equally likely.
inline Edge other_edge(Edge now, Rng& rng) {
    return static_cast<Edge>((static_cast<int>(now) + 1 + rng.below(3)) % 4);
}

class MoveTable {
  public:
    /// Everything that needs a score throws `Stopped` when the workspace's stop is raised; the
    /// graph is then as it was before the call.
    MoveTable(Scorer& scorer, Graph start, Workspace& workspace);

    const Graph& graph() const { return graph_; }
    int d() const { return graph_.d(); }
    int n_edges() const { return n_edges_; }
    Edge edge(int i, int j) const { return edges_[pair(i, j)]; }

    /// Identity of the graph, and of the graph after a move.
    Key key() const { return key_; }
    Key key_after(const Move& move) const;

    /// The score of the graph, bit for bit that of `Scorer::score`.
    double score();
    /// How much the score grows by `move`, an edge costing `edge_cost`. What cannot be compared
    /// gains minus infinity.
    double gain(const Move& move, double edge_cost) {
        return likelihood_gain(move) - edge_cost * more_edges(move);
    }

    /// True when the graph after `move` is acyclic and satisfies the rules (the graph itself does).
    bool permits(const Rules& rules, const Move& move) {
        return permits_but_class(rules, move) && permits_class(rules, move);
    }

    void apply(const Move& move);
    /// Goes to `target`, marking as stale only what differs.
    void set_graph(const Graph& target);

    /// Calls `visit(move)` for every change of one pair that `rules` permit.
    template <class Visit>
    void for_each_move(const Rules& rules, Visit&& visit) {
        for (int j = 1; j < d(); ++j)
            for (int i = 0; i < j; ++i) {
                workspace_.stop.check();  // rules that look at the whole graph take milliseconds
                for (const Edge e : all_edges)
                    if (e != edge(i, j) && permits(rules, {i, j, e})) visit(Move{i, j, e});
            }
    }

    /// Calls `look(move, gain)` for permitted moves that gain at least `floor` and that `wanted`
    /// does not refuse, with a tournament those that promise most first; `look` returns the floor
    /// from there on. No such move is left out, up to what the screen promises too little for.
    template <class Wanted, class Look>
    void visit_best(const Rules& rules, double edge_cost, double floor, Wanted&& wanted,
                    Look&& look) {
        const auto visit_pair = [&](int i, int j) {
            for (const Edge e : all_edges) {
                const Move move{i, j, e};
                if (e == edge(i, j) || !wanted(move)) continue;
                const double cost = edge_cost * more_edges(move);
                if (!(possible_gain(move) - cost >= floor)) continue;
                workspace_.stop.check();
                if (!permits_but_class(rules, move)) continue;
                const double gain = likelihood_gain(move) - cost;
                // The class is a question for the whole graph, so it comes last.
                if (gain >= floor && permits_class(rules, move)) floor = look(move, gain);
            }
        };
        if (!has_tournament()) {
            for (int j = 1; j < d(); ++j)
                for (int i = 0; i < j; ++i) visit_pair(i, j);
            return;
        }
        refresh(rules, edge_cost);
        while (best_[1] >= floor && best_[1] > never) {
            const auto [i, j] = first_in_tournament();
            visit_pair(i, j);
            remove_from_tournament(i, j);
        }
    }

    /// To be told when the rules that `visit_best` is called with become others.
    void rules_changed() { refreshed_ = false; }

  private:
    static int pair(int i, int j) { return static_cast<int>(pair_index(i, j)); }
    static constexpr double never = -std::numeric_limits<double>::infinity();
    int more_edges(const Move& move) const {
        return (move.edge != Edge::none) - (edge(move.i, move.j) != Edge::none);
    }
    bool has_tournament() const { return leaves_ > 0; }
    double likelihood_gain(const Move& move);
    double possible_gain(const Move& move) {
        const double gain = gains_[4 * pair(move.i, move.j) + static_cast<int>(move.edge)];
        return std::isnan(gain) ? screened_gain(move) : gain;
    }
    double screened_gain(const Move& move);
    bool permits_but_class(const Rules& rules, const Move& move);
    bool permits_class(const Rules& rules, const Move& move);
    void refresh(const Rules& rules, double edge_cost);
    double possible_gain_of_pair(const Rules& rules, double edge_cost, int i, int j);
    std::pair<int, int> first_in_tournament() const;
    void remove_from_tournament(int i, int j);
    void enter(int pair, double value);
    void mark_changed(int i, int j);
    double compute_gain(const Move& move);
    double objective_of(int representative);
    void update_district(int node);
    void mark_stale(int node);
    void update_ancestors();
    bool closes_cycle(int from, int to);
    /// What the move toggles in the key of node `to`: the arrowheads it gets from `from` or loses.
    static Key toggled(Edge before, Edge after, int from, int to, bool to_is_second);

    Scorer& scorer_;
    Workspace& workspace_;
    Graph graph_;
    Key key_;
    int n_edges_ = 0;
    std::vector<Edge> edges_;        // by pair
    std::vector<Key> node_key_;      // by node
    std::vector<int> district_;      // by node: the smallest node of its district
    std::vector<Key> district_key_;  // by smallest node
    std::vector<double> objective_;  // by smallest node: F, NaN when not yet asked for
    std::vector<double> gains_;      // by 4 * pair + edge: gain without penalty, NaN when stale
    std::optional<Screen> screen_;   // with many variables
    std::vector<float> screened_;    // as `gains_`, with a screen
    std::vector<double> best_;       // a heap-shaped tree; pair p is leaf `leaves_` + p
    int leaves_ = 0;                 // 0: no tournament
    std::vector<char> is_changed_;   // by pair
    std::vector<std::pair<int, int>> changed_;  // pairs whose leaf is out of date
    bool refreshed_ = false;                    // false: all of them are
    double refreshed_cost_ = 0.0;
    std::vector<Word> ancestors_;  // d rows, valid when ancestors_known_
    bool ancestors_known_ = false;
};

}  // namespace bowfree
