// The current graph of a run, with a table of the gains of all single-edge changes ("moves").
//
// A gain depends only on the districts at which the move adds or removes an arrowhead. `apply`
// changes the graph, updates the one or two districts with a changed row, and marks as stale the
// gains of all moves with an arrowhead there; all other entries remain valid. Stale gains are
// computed on demand, and most of the districts that this needs are in the cache of the scorer.
//
// With few variables the gains of all permitted moves are computed, except those that a bound of the
// likelihood of the new districts shows to be too small to matter. With more than
// `screened_beyond`, a tournament tree ranks the pairs by the largest possible gain of their moves:
// the gain if it is known, else an estimate by the screen (screen.hpp). `visit_best` takes pairs in
// this order and stops when the possible gains of all others are too small. With
// several threads it takes a batch of pairs at a time: the threads compute the scores of the districts
// that the batch needs, and then the run continues as if they had been in the cache.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
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
    static constexpr double never = -std::numeric_limits<double>::infinity();

  public:
    /// Everything that needs a score throws `Stopped` when the workspace's stop is raised; the
    /// graph is then as it was before the call.
    MoveTable(Scorer& scorer, Graph start, Workspace& workspace, Screen::Memory* memory = nullptr);

    const Graph& graph() const { return graph_; }
    int d() const { return graph_.d(); }
    int n_edges() const { return n_edges_; }
    Edge edge(int i, int j) const { return edges_[pair(i, j)]; }

    /// The key of the graph, and of the graph after a move.
    Key key() const { return key_; }
    Key key_after(const Move& move) const;

    /// The score of the graph, bit for bit that of `Scorer::score`.
    double score();
    /// The gain of the score by `move` if an edge costs `edge_cost`; minus infinity if the graphs
    /// cannot be compared.
    /// If it is certainly less than `least`, the result may be another number less than `least`.
    double gain(const Move& move, double edge_cost, double least = never) {
        const double cost = edge_cost * more_edges(move);
        return likelihood_gain(move, least + cost) - cost;
    }

    /// True when the graph after `move` is acyclic and satisfies the rules (the graph itself does).
    bool permits(const Rules& rules, const Move& move) {
        return permits_but_class(rules, move) && permits_class(rules, move);
    }

    void apply(const Move& move);
    /// Changes the graph to `target` by single-edge changes.
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

    /// Calls `look(move, gain)` for all moves that are permitted and `wanted` and gain at least
    /// `floor`, except those that the screen underestimates; `look` returns the new floor.
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
                const double gain = likelihood_gain(move, floor + cost) - cost;
                // The class is a property of the whole graph, so it is checked last.
                if (gain >= floor && permits_class(rules, move)) floor = look(move, gain);
            }
        };
        if (!has_tournament()) {
            for (int j = 1; j < d(); ++j)
                for (int i = 0; i < j; ++i) visit_pair(i, j);
            return;
        }
        refresh(rules, edge_cost);
        // A heap of the pairs with a large enough possible gain; the first of equal ones comes first.
        std::vector<Ranked> ranked = pairs_from(floor), batch;
        const auto comes_later = [](const Ranked& a, const Ranked& b) {
            return a.possible != b.possible ? a.possible < b.possible : a.pair > b.pair;
        };
        std::ranges::make_heap(ranked, comes_later);
        while (!ranked.empty() && ranked.front().possible >= floor) {
            // One pair, or with several threads the next pairs, whose scores are computed together.
            batch.clear();
            do {
                std::ranges::pop_heap(ranked, comes_later);
                batch.push_back(ranked.back());
                ranked.pop_back();
            } while (static_cast<int>(batch.size()) < batch_size() && !ranked.empty() &&
                     ranked.front().possible >= floor);
            if (batch.size() > 1) {
                for (const auto& [possible, p] : batch)
                    for (const Edge e : all_edges) {
                        const auto [i, j] = nodes_of(p);
                        const Move move{i, j, e};
                        const double least = floor + edge_cost * more_edges(move);
                        if (e != edge(i, j) && wanted(move)) compute_later(rules, move, least);
                    }
                compute_ahead();
            }
            for (const auto& [possible, p] : batch) {
                const auto [i, j] = nodes_of(p);
                if (possible >= floor) visit_pair(i, j);
            }
        }
    }

    /// Whether changes between -> and <-> are screened, as they are at first.
    void screen_exchanges(bool screened) {
        exchanges_screened_ = screened;
        refreshed_ = false;
    }

    /// Must be called when `visit_best` gets other rules than before.
    void rules_changed() { refreshed_ = false; }

  private:
    static int pair(int i, int j) { return static_cast<int>(pair_index(i, j)); }
    int more_edges(const Move& move) const {
        return (move.edge != Edge::none) - (edge(move.i, move.j) != Edge::none);
    }
    bool has_tournament() const { return leaves_ > 0; }
    double likelihood_gain(const Move& move, double least);
    double possible_gain(const Move& move) {
        const int at = 4 * pair(move.i, move.j) + static_cast<int>(move.edge);
        if (!std::isnan(gains_[at])) return gains_[at];
        const double screened = screened_gain(move);
        return bounds_.empty() ? screened : std::fmin(screened, bounds_[at]);
    }
    double screened_gain(const Move& move);
    bool permits_but_class(const Rules& rules, const Move& move);
    bool permits_class(const Rules& rules, const Move& move);
    void refresh(const Rules& rules, double edge_cost);
    double possible_gain_of_pair(const Rules& rules, double edge_cost, int i, int j);
    struct Ranked {
        double possible;
        int pair;
    };
    std::vector<Ranked> pairs_from(double floor) const;
    static std::pair<int, int> nodes_of(int pair);
    void enter(int pair, double value);
    void mark_changed(int i, int j);
    double compute_gain(const Move& move, double least);
    struct NewDistrict {
        int node;  // one of its nodes
        Key key;
    };
    void forget_gain(int at);
    template <class Use>
    void with_districts_after(const Move& move, Use&& use);
    int batch_size() const { return workspace_.n_threads > 1 ? 16 * workspace_.n_threads : 1; }
    void compute_later(const Rules& rules, const Move& move, double least);
    void compute_ahead();
    double objective_of(int representative);
    void update_district(int node);
    void mark_stale(int node);
    void update_ancestors();
    bool closes_cycle(int from, int to);
    /// The change of the key of node `to` by the arrowheads at `to` that are added or removed.
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
    std::vector<double> objective_;  // by smallest node: F, NaN if unknown
    std::vector<double> gains_;      // by 4 * pair + edge: gain without penalty, NaN when stale
    std::vector<float> bounds_;      // as `gains_`: upper bounds, NaN if unknown; without a screen
    std::optional<Screen> screen_;   // with many variables
    std::vector<Scorer::Wanted> wanted_;        // districts to compute ahead
    std::vector<float> screened_;               // as `gains_`: possible gains by the screen
    std::vector<double> best_;                  // a heap-shaped tree; pair p is leaf `leaves_` + p
    int leaves_ = 0;                            // 0: no tournament
    std::vector<char> is_changed_;              // by pair
    std::vector<std::pair<int, int>> changed_;  // pairs whose leaf is out of date
    bool refreshed_ = false;                    // false: all of them are
    bool exchanges_screened_ = true;
    double refreshed_cost_ = 0.0;
    std::vector<Word> ancestors_;  // d rows, valid when ancestors_known_
    bool ancestors_known_ = false;
};

}  // namespace bowfree
