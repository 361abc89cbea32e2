#include "search/move_table.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace bowfree {

namespace {

constexpr double stale = std::numeric_limits<double>::quiet_NaN();
constexpr double unbounded = std::numeric_limits<double>::infinity();

// With more variables than `screened_beyond`, the gain of a move is computed only if an estimate by
// the screen would improve the score: the largest gain times a margin, minus the smallest loss divided
// by it. The margins are those with which hardly any gain was missed (docs/evidence/scaling.md).
constexpr int screened_beyond = 12;
constexpr double margin_of_addition = 1.25;
constexpr double margin_of_deletion = 2.0;
constexpr double margin_of_exchange = 2.0;  // of one kind of edge for another

// If more than one in `rebuild_share` pairs has changed, the whole tournament is computed again.
constexpr int rebuild_share = 8;

// Work of a batch of districts from which starting threads takes less time than it saves.
constexpr double worth_threads = 1e6;

constexpr int unassigned = -1;

/// A change of one pair that is undone at the end of its scope, also after an exception.
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

MoveTable::MoveTable(Scorer& scorer, Graph start, Workspace& workspace, Screen::Memory* memory)
    : scorer_(scorer),
      workspace_(workspace),
      graph_(std::move(start)),
      edges_(n_pairs(graph_.d())),
      node_key_(graph_.d()),
      district_(graph_.d()),
      district_key_(graph_.d()),
      objective_(graph_.d(), stale),
      gains_(4 * edges_.size(), stale),
      is_changed_(edges_.size()),
      ancestors_(static_cast<std::size_t>(graph_.d()) * graph_.words()) {
    assert(graph_.d() == scorer.d());
    if (d() > screened_beyond && scorer.is_plain() && !scorer.data().rows) {
        screen_.emplace(scorer, workspace, memory);
        screened_.assign(gains_.size(), std::numeric_limits<float>::quiet_NaN());
    }
    // The screen excludes nearly as many moves as bounds do, and more cheaply.
    if (!screen_ && scorer.has_bounds())
        bounds_.assign(gains_.size(), std::numeric_limits<float>::quiet_NaN());
    if (d() > screened_beyond) {
        leaves_ = static_cast<int>(std::bit_ceil(edges_.size()));
        best_.assign(2 * static_cast<std::size_t>(leaves_), never);
    }
    for (int j = 0; j < d(); ++j)
        for (int i = 0; i < j; ++i) edges_[pair(i, j)] = get_edge(graph_, i, j);
    n_edges_ = count_edges(graph_);
    for (int v = 0; v < d(); ++v) {
        node_key_[v] = row_key(graph_, v);
        key_ ^= node_key_[v];
    }
    for (const auto& district : districts(graph_)) update_district(district.front());
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

/// The gain of the likelihood. If it is certainly less than `least`, a bound that is less.
double MoveTable::likelihood_gain(const Move& move, double least) {
    const int at = 4 * pair(move.i, move.j) + static_cast<int>(move.edge);
    if (!std::isnan(gains_[at])) return gains_[at];
    if (!bounds_.empty() && bounds_[at] + bound_rounding < least) return bounds_[at];
    return compute_gain(move, least);
}

double MoveTable::compute_gain(const Move& move, double least) {
    ++workspace_.effort.candidates;
    const auto [i, j, after] = move;
    const Edge before = edge(i, j);
    mark_changed(i, j);
    const bool at_i = head_at_first(before) || head_at_first(after);
    const bool at_j = head_at_second(before) || head_at_second(after);
    const int a = district_[i], b = district_[j], at = 4 * pair(i, j) + static_cast<int>(after);
    double F_before = 0.0;
    if (at_i) F_before += objective_of(a);
    if (at_j && !(at_i && a == b)) F_before += objective_of(b);

    double F_after = 0.0;
    bool exact = true;
    with_districts_after(move, [&](std::span<const NewDistrict> found) {
        Scorer::Entry known[2];
        if (!bounds_.empty()) {
            double bound = 0.0;
            for (std::size_t n = 0; n < found.size(); ++n) {
                known[n] = scorer_.estimate(graph_, found[n].node, found[n].key, workspace_);
                bound += known[n].bound;
            }
            bounds_[at] = std::nextafter(static_cast<float>(-0.5 * (bound - F_before)),
                                         std::numeric_limits<float>::infinity());
            exact = !(bounds_[at] + bound_rounding < least);
            if (!exact) return;
        }
        for (std::size_t n = 0; n < found.size(); ++n)
            F_after += known[n].is_fitted()
                           ? Scorer::use(known[n], workspace_)
                           : scorer_.objective(graph_, found[n].node, found[n].key, workspace_);
    });
    if (!exact) return bounds_[at];
    const double gain = -0.5 * (F_after - F_before);
    return gains_[at] = std::isnan(gain) ? never : gain;  // NaN: F is not finite on either side
}

/// Calls `use(found)` with the one or two districts at which the move adds or removes an arrowhead,
/// while the move is made.
template <class Use>
void MoveTable::with_districts_after(const Move& move, Use&& use) {
    const auto [i, j, after] = move;
    const Edge before = edge(i, j);
    const bool at_i = head_at_first(before) || head_at_first(after);
    const bool at_j = head_at_second(before) || head_at_second(after);
    const int a = district_[i], b = district_[j];
    const Key change_i = toggled(before, after, j, i, false);
    const Key change_j = toggled(before, after, i, j, true);
    const Trial trial(graph_, move, before);
    NewDistrict found[2];
    std::size_t n = 0;
    const auto visit = [&](int node, const Key& key) { found[n++] = {node, key}; };
    if (after == Edge::bidirected) {  // one district, perhaps of two
        Key key = district_key_[a] ^ change_i ^ change_j;
        if (a != b) key ^= district_key_[b];
        visit(i, key);
    } else if (before == Edge::bidirected) {  // one district, perhaps split in two
        Key rest = district_key_[a] ^ change_i ^ change_j, key;
        bool together = false;
        for (const int v : district_of(graph_, i)) {
            key ^= node_key_[v];
            together |= v == j;
        }
        key ^= change_i;
        if (together) key ^= change_j;
        visit(i, key);
        if (!together) visit(j, rest ^ key);
    } else if (at_i && at_j && a == b) {  // a reversal inside a district
        visit(i, district_key_[a] ^ change_i ^ change_j);
    } else {
        if (at_i) visit(i, district_key_[a] ^ change_i);
        if (at_j) visit(j, district_key_[b] ^ change_j);
    }
    use(std::span<const NewDistrict>(found, n));
}

/// Notes the districts that an unknown gain needs, if it may be at least `least` and is not known.
void MoveTable::compute_later(const Rules& rules, const Move& move, double least) {
    if (!std::isnan(gains_[4 * pair(move.i, move.j) + static_cast<int>(move.edge)])) return;
    if (!(possible_gain(move) >= least) || !permits_but_class(rules, move)) return;
    with_districts_after(move, [&](std::span<const NewDistrict> found) {
        for (const auto& [node, key] : found)
            if (!scorer_.is_cached(key))
                wanted_.push_back({make_district(graph_, district_of(graph_, node)), key});
    });
}

void MoveTable::compute_ahead() {
    double work = 0.0;  // approximately: Newton's method factors matrices of this size
    for (const auto& [district, key] : wanted_) {
        double n = district.k + static_cast<double>(district.spouse_pairs.size());
        for (const auto& parents : district.parents) n += static_cast<double>(parents.size());
        work += n * n * n;
    }
    if (work > worth_threads) scorer_.compute_ahead(wanted_, workspace_.n_threads, workspace_.stop);
    wanted_.clear();
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

    for (int e = 0; e < 4; ++e) forget_gain(4 * pair(i, j) + e);
    mark_changed(i, j);
    if (at_j) district_[j] = unassigned;
    if (at_i) update_district(i);
    if (at_j && district_[j] == unassigned) update_district(j);  // not in the district of i
}

void MoveTable::update_district(int node) {
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

void MoveTable::forget_gain(int at) {
    gains_[at] = stale;
    if (!bounds_.empty()) bounds_[at] = std::numeric_limits<float>::quiet_NaN();
    if (screen_) screened_[at] = std::numeric_limits<float>::quiet_NaN();
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
            if (has_head || head_here(e)) forget_gain(4 * p + static_cast<int>(e));
        mark_changed(std::min(node, other), std::max(node, other));
    }
    if (screen_) screen_->invalidate(node);
}

/// The largest possible value of an unknown gain.
double MoveTable::screened_gain(const Move& move) {
    const auto [i, j, after] = move;
    const Edge before = edge(i, j);
    const bool is_exchange = before != Edge::none && after != Edge::none &&
                             (before == Edge::bidirected || after == Edge::bidirected);
    if (!screen_ || (is_exchange && !exchanges_screened_)) return unbounded;
    float& possible = screened_[4 * pair(i, j) + static_cast<int>(after)];
    if (!std::isnan(possible)) return possible;
    const auto gain_of = [&](Edge e) {
        if (e == Edge::bidirected) return screen_->bidirected(graph_, i, j);
        return e == Edge::forward ? screen_->directed(graph_, i, j)
                                  : screen_->directed(graph_, j, i);
    };
    const auto loss_of = [&](Edge e) {
        if (e == Edge::forward) return screen_->loss(graph_, i, j);
        const double loss = screen_->loss(graph_, j, i);
        return e == Edge::backward ? loss : std::min(loss, screen_->loss(graph_, i, j));
    };
    double most = 0.0;
    if (before == Edge::none) {
        most = margin_of_addition * gain_of(after);
    } else if (after == Edge::none) {
        most = -loss_of(before) / margin_of_deletion;
    } else if (!is_exchange) {
        most = gain_of(after) - loss_of(before);
    } else {
        const bool forward = before == Edge::forward || after == Edge::forward;
        const auto [gain, loss] = screen_->exchange(graph_, forward ? i : j, forward ? j : i);
        most = margin_of_exchange * gain - loss / margin_of_exchange;
    }
    return possible = static_cast<float>(std::isnan(most) ? unbounded : most);
}

double MoveTable::possible_gain_of_pair(const Rules& rules, double edge_cost, int i, int j) {
    double most = never;
    for (const Edge e : all_edges) {
        const Move move{i, j, e};
        if (e == edge(i, j) || !rules.permits_edge(d(), i, j, e)) continue;
        most = std::max(most, possible_gain(move) - edge_cost * more_edges(move));
    }
    return most;
}

void MoveTable::mark_changed(int i, int j) {
    if (!has_tournament() || std::exchange(is_changed_[pair(i, j)], 1)) return;
    changed_.emplace_back(i, j);
}

/// Updates the tournament.
void MoveTable::refresh(const Rules& rules, double edge_cost) {
    if (refreshed_ && refreshed_cost_ == edge_cost &&
        rebuild_share * changed_.size() < edges_.size()) {
        while (!changed_.empty()) {
            const auto [i, j] = changed_.back();
            workspace_.stop.check();
            enter(pair(i, j), possible_gain_of_pair(rules, edge_cost, i, j));
            is_changed_[pair(i, j)] = 0;
            changed_.pop_back();
        }
        return;
    }
    refreshed_ = false;
    for (int j = 1; j < d(); ++j)
        for (int i = 0; i < j; ++i) {
            workspace_.stop.check();
            best_[leaves_ + pair(i, j)] = possible_gain_of_pair(rules, edge_cost, i, j);
        }
    for (int k = leaves_ - 1; k > 0; --k) best_[k] = std::max(best_[2 * k], best_[2 * k + 1]);
    std::ranges::fill(is_changed_, 0);
    changed_.clear();
    refreshed_ = true;
    refreshed_cost_ = edge_cost;
}

void MoveTable::enter(int p, double value) {
    std::size_t k = static_cast<std::size_t>(leaves_) + p;
    best_[k] = value;
    while (k > 1) {
        k /= 2;
        const double most = std::max(best_[2 * k], best_[2 * k + 1]);
        if (best_[k] == most) break;
        best_[k] = most;
    }
}

/// The pairs with a possible gain of at least `floor`, in any order.
std::vector<MoveTable::Ranked> MoveTable::pairs_from(double floor) const {
    std::vector<Ranked> found;
    std::vector<int> waiting{1};
    while (!waiting.empty()) {
        const int k = waiting.back();
        waiting.pop_back();
        if (!(best_[k] >= floor && best_[k] > never)) continue;
        if (k >= leaves_)
            found.push_back({best_[k], k - leaves_});
        else
            waiting.insert(waiting.end(), {2 * k, 2 * k + 1});
    }
    return found;
}

std::pair<int, int> MoveTable::nodes_of(int p) {
    int j = static_cast<int>((1.0 + std::sqrt(1.0 + 8.0 * p)) / 2.0);
    while (pair(0, j) > p) --j;
    while (pair(0, j + 1) <= p) ++j;
    return {p - pair(0, j), j};
}

void MoveTable::set_graph(const Graph& target) {
    std::vector<std::pair<int, int>> differ;
    for (int v = 0; v < d(); ++v)
        for (int w = 0; w < graph_.words(); ++w) {
            Word rest = (graph_.parents(v)[w] ^ target.parents(v)[w]) |
                        (graph_.spouses(v)[w] ^ target.spouses(v)[w]);
            for (; rest != 0; rest &= rest - 1) {
                const int u = 64 * w + std::countr_zero(rest);
                differ.emplace_back(std::min(u, v), std::max(u, v));
            }
        }
    for (const auto& [i, j] : differ) apply({i, j, get_edge(target, i, j)});
}

void MoveTable::update_ancestors() {
    const int words = graph_.words();
    std::ranges::fill(ancestors_, Word{0});
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
    // Is there a path to -> ... -> from? If the pair now has the edge to -> from, the move removes
    // it, and only paths through other parents of `from` count.
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

/// All rules except those of the class, in ascending order of cost.
bool MoveTable::permits_but_class(const Rules& rules, const Move& move) {
    const auto [i, j, after] = move;
    const Edge before = edge(i, j);
    if (!rules.permits_edge(d(), i, j, after) || !rules.permits_heads(graph_, i, j, before, after))
        return false;
    if (after == Edge::none) return true;  // the rules are hereditary
    if (before == Edge::none && n_edges_ == rules.max_edges) return false;
    if (rules.max_district != Rules::unlimited && after == Edge::bidirected &&
        district_[i] != district_[j]) {
        const auto together = std::count_if(district_.begin(), district_.end(), [&](int district) {
            return district == district_[i] || district == district_[j];
        });
        if (together > rules.max_district) return false;
    }
    if (after == Edge::forward && closes_cycle(i, j)) return false;
    return !(after == Edge::backward && closes_cycle(j, i));
}

bool MoveTable::permits_class(const Rules& rules, const Move& move) {
    if (move.edge == Edge::none || !rules.has_global_class()) return true;
    const Trial trial(graph_, move, edge(move.i, move.j));
    return rules.permits_class(graph_);
}

}  // namespace bowfree
