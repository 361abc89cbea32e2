#include "search/move_table.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

namespace bowfree {

namespace {

constexpr double stale = std::numeric_limits<double>::quiet_NaN();
constexpr double never = -std::numeric_limits<double>::infinity();
constexpr int unsettled = -1;

/// A change of one pair that is taken back at the end of its scope, whatever is thrown meanwhile.
class Trial {
  public:
    Trial(Graph& graph, const Move& move, Edge before)
        : graph_(graph), i_(move.i), j_(move.j), before_(before) {
        set_edge(graph_, i_, j_, move.edge);
    }
    ~Trial() { set_edge(graph_, i_, j_, before_); }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

  private:
    Graph& graph_;
    int i_, j_;
    Edge before_;
};

}  // namespace

MoveTable::MoveTable(Scorer& scorer, Graph start, Workspace& workspace)
    : scorer_(scorer),
      workspace_(workspace),
      graph_(std::move(start)),
      edges_(pair(0, graph_.d())),
      node_key_(graph_.d()),
      district_(graph_.d()),
      district_key_(graph_.d()),
      objective_(graph_.d(), stale),
      gains_(4 * edges_.size(), stale),
      ancestors_(static_cast<std::size_t>(graph_.d()) * graph_.words()) {
    assert(graph_.d() == scorer.d());
    for (int j = 0; j < d(); ++j)
        for (int i = 0; i < j; ++i) edges_[pair(i, j)] = get_edge(graph_, i, j);
    n_edges_ = count_edges(graph_);
    for (int v = 0; v < d(); ++v) {
        node_key_[v] = row_key(graph_, v);
        key_ ^= node_key_[v];
    }
    for (const auto& district : districts(graph_)) settle_district(district.front());
}

double MoveTable::score() {
    double F = 0.0;
    for (int v = 0; v < d(); ++v)
        if (district_[v] == v) F += objective_of(v);
    return scorer_.constant() - 0.5 * F - scorer_.edge_cost() * n_edges_;
}

Key MoveTable::toggled(Edge before, Edge after, int from, int to, bool to_is_second) {
    Key key;
    for (const Edge e : {before, after}) {
        const bool head = to_is_second ? head_at_second(e) : head_at_first(e);
        if (head) key ^= element_key(from, to, e == Edge::bidirected);
    }
    return key;
}

Key MoveTable::key_after(const Move& move) const {
    const auto [i, j, after] = move;
    const Edge before = edge(i, j);
    return key_ ^ toggled(before, after, j, i, false) ^ toggled(before, after, i, j, true);
}

double MoveTable::objective_of(int representative) {
    double& F = objective_[representative];
    if (std::isnan(F))
        F = scorer_.objective(graph_, representative, district_key_[representative], workspace_);
    return F;
}

double MoveTable::likelihood_gain(const Move& move) {
    double& gain = gains_[4 * pair(move.i, move.j) + static_cast<int>(move.edge)];
    if (std::isnan(gain)) {
        gain = work_out_gain(move);
        if (std::isnan(gain))
            gain = never;  // F is not finite on either side: no reason to go there
    }
    return gain;
}

double MoveTable::work_out_gain(const Move& move) {
    ++workspace_.effort.candidates;
    const auto [i, j, after] = move;
    const Edge before = edge(i, j);
    const bool at_i = head_at_first(before) || head_at_first(after);
    const bool at_j = head_at_second(before) || head_at_second(after);
    const int a = district_[i], b = district_[j];
    const Key change_i = toggled(before, after, j, i, false);
    const Key change_j = toggled(before, after, i, j, true);

    double F_before = 0.0;
    if (at_i) F_before += objective_of(a);
    if (at_j && !(at_i && a == b)) F_before += objective_of(b);

    const Trial trial(graph_, move, before);
    double F_after = 0.0;
    if (after == Edge::bidirected) {  // one district, perhaps of two
        Key key = district_key_[a] ^ change_i ^ change_j;
        if (a != b) key ^= district_key_[b];
        F_after = scorer_.objective(graph_, i, key, workspace_);
    } else if (before == Edge::bidirected) {  // one district, perhaps falling in two
        Key rest = district_key_[a] ^ change_i ^ change_j, key;
        bool together = false;
        for (const int v : district_of(graph_, i)) {
            key ^= node_key_[v];
            together |= v == j;
        }
        key ^= change_i;
        if (together) key ^= change_j;
        F_after = scorer_.objective(graph_, i, key, workspace_);
        if (!together) F_after += scorer_.objective(graph_, j, rest ^ key, workspace_);
    } else if (at_i && at_j && a == b) {  // a reversal inside a district
        F_after = scorer_.objective(graph_, i, district_key_[a] ^ change_i ^ change_j, workspace_);
    } else {
        if (at_i) F_after += scorer_.objective(graph_, i, district_key_[a] ^ change_i, workspace_);
        if (at_j) F_after += scorer_.objective(graph_, j, district_key_[b] ^ change_j, workspace_);
    }
    return -0.5 * (F_after - F_before);
}

void MoveTable::apply(const Move& move) {
    const auto [i, j, after] = move;
    const Edge before = edge(i, j);
    if (before == after) return;
    const bool at_i = head_at_first(before) || head_at_first(after);
    const bool at_j = head_at_second(before) || head_at_second(after);
    node_key_[i] ^= toggled(before, after, j, i, false);
    node_key_[j] ^= toggled(before, after, i, j, true);
    key_ = key_after(move);
    n_edges_ += (after != Edge::none) - (before != Edge::none);
    set_edge(graph_, i, j, after);
    edges_[pair(i, j)] = after;
    if (is_directed(before) || is_directed(after)) ancestors_known_ = false;

    for (int e = 0; e < 4; ++e) gains_[4 * pair(i, j) + e] = stale;
    if (at_j) district_[j] = unsettled;
    if (at_i) settle_district(i);
    if (at_j && district_[j] == unsettled) settle_district(j);  // not one district with i
}

void MoveTable::settle_district(int node) {
    const auto members = district_of(graph_, node);
    const int representative = members.front();
    Key key;
    for (const int v : members) {
        district_[v] = representative;
        key ^= node_key_[v];
    }
    district_key_[representative] = key;
    objective_[representative] = stale;
    for (const int v : members) mark_stale(v);
}

void MoveTable::mark_stale(int node) {
    for (int other = 0; other < d(); ++other) {
        if (other == node) continue;
        const bool second = node > other;
        const int p = second ? pair(other, node) : pair(node, other);
        const auto head_here = [&](Edge e) {
            return second ? head_at_second(e) : head_at_first(e);
        };
        const bool has_head = head_here(edges_[p]);
        for (const Edge e : all_edges)
            if (has_head || head_here(e)) gains_[4 * p + static_cast<int>(e)] = stale;
    }
}

void MoveTable::morph(const Graph& target) {
    for (int j = 1; j < d(); ++j) {
        bool differs = false;
        for (int w = 0; w < graph_.words(); ++w)
            differs |= graph_.parents(j)[w] != target.parents(j)[w] ||
                       graph_.spouses(j)[w] != target.spouses(j)[w];
        for (int i = 0; i < j; ++i) {
            // A pair i <- j that differs shows in row i only, so all of the row is compared.
            if (differs || graph_.directed(j, i) != target.directed(j, i))
                apply({i, j, get_edge(target, i, j)});
        }
    }
}

void MoveTable::update_ancestors() {
    const int words = graph_.words();
    std::fill(ancestors_.begin(), ancestors_.end(), Word{0});
    for (const int v : topological_order(graph_)) {
        Word* row = ancestors_.data() + static_cast<std::size_t>(v) * words;
        for_each_node(graph_.parents(v), words, [&](int p) {
            insert(row, p);
            const Word* above = ancestors_.data() + static_cast<std::size_t>(p) * words;
            for (int w = 0; w < words; ++w) row[w] |= above[w];
        });
    }
    ancestors_known_ = true;
}

bool MoveTable::closes_cycle(int from, int to) {
    // Is there a path to -> ... -> from? When the pair now holds to -> from, that edge goes away
    // with the move, and only the paths through other parents of `from` count.
    if (!ancestors_known_) update_ancestors();
    const int words = graph_.words();
    const auto above = [&](int v) {
        return ancestors_.data() + static_cast<std::size_t>(v) * words;
    };
    if (!graph_.directed(to, from)) return contains(above(from), to);
    bool detour = false;
    for_each_node(graph_.parents(from), words,
                  [&](int p) { detour |= p != to && contains(above(p), to); });
    return detour;
}

bool MoveTable::permits(const Rules& rules, const Move& move) {
    const auto [i, j, after] = move;
    const Edge before = edge(i, j);
    if (!rules.permits_edge(d(), i, j, after) || !rules.permits_heads(graph_, i, j, before, after))
        return false;
    if (after == Edge::none) return true;  // the rules are hereditary
    if (before == Edge::none && n_edges_ == rules.max_edges) return false;
    if (after == Edge::forward && closes_cycle(i, j)) return false;
    if (after == Edge::backward && closes_cycle(j, i)) return false;
    if (!rules.looks_at_whole()) return true;
    const Trial trial(graph_, move, before);
    return rules.permits_whole(graph_);
}

}  // namespace bowfree
