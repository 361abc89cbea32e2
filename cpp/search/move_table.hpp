// The current graph of a run, with a table of what every move would gain.
//
// A gain depends only on the districts at which the move adds or removes an arrowhead. After a
// step, the entries of moves with an arrowhead in a changed district are marked stale; all others
// stay valid. An entry is worked out when it is first asked for.
#pragma once

#include <vector>

#include "space/rules.hpp"
#include "model/scorer.hpp"

namespace bowfree {

/// Set pair (i, j), i < j, to `edge`.
struct Move {
    int i, j;
    Edge edge;
};

class MoveTable {
  public:
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
    /// How much the score grows by `move`, an edge costing `edge_cost`.
    double gain(const Move& move, double edge_cost) {
        const int change = (move.edge != Edge::none) - (edge(move.i, move.j) != Edge::none);
        return likelihood_gain(move) - edge_cost * change;
    }

    /// True when the graph after `move` is acyclic and satisfies the rules (the graph itself
    /// does).
    bool permits(const Rules& rules, const Move& move);

    void apply(const Move& move);
    /// Goes to `target`, marking as stale only what differs.
    void morph(const Graph& target);

    /// Calls `visit(move)` for every change of one pair that `rules` permit.
    template <class Visit>
    void for_each_move(const Rules& rules, Visit&& visit) {
        for (int j = 1; j < d(); ++j)
            for (int i = 0; i < j; ++i)
                for (const Edge e : all_edges)
                    if (e != edge(i, j) && permits(rules, {i, j, e})) visit(Move{i, j, e});
    }

  private:
    static int pair(int i, int j) { return j * (j - 1) / 2 + i; }
    double likelihood_gain(const Move& move);
    double work_out_gain(const Move& move);
    double objective_of(int representative);
    void settle_district(int node);
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
    std::vector<Word> ancestors_;    // d rows, valid when ancestors_known_
    bool ancestors_known_ = false;
};

}  // namespace bowfree
