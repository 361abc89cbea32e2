#include "search/orders.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dense.hpp"

namespace bowfree {

namespace {

// Chosen by hand; benchmarks/bench_strategies.py compares strategies as a whole.
constexpr int most_moved = 4;  // nodes that a kick moves

Edge arrow_between(int from, int to) { return from < to ? Edge::forward : Edge::backward; }

bool may_be(const Rules& rules, int d, int a, int b, Edge edge) {
    return rules.permits_edge(d, std::min(a, b), std::max(a, b), edge);
}

bool must_be(const Rules& rules, int d, int from, int to) {
    return !may_be(rules, d, from, to, Edge::none) &&
           may_be(rules, d, from, to, arrow_between(from, to));
}

}  // namespace

ParentTree::ParentTree(const Scorer& scorer, Scratch& scratch, int node,
                       std::vector<int> candidates, std::vector<int> fixed, int limit)
    : scorer_(scorer),
      scratch_(scratch),
      node_(node),
      limit_(limit),
      candidates_(std::move(candidates)),
      fixed_(std::move(fixed)) {
    clear();
}

void ParentTree::clear() {
    // Swapped, not cleared, to free the memory.
    std::vector<Set>(1).swap(sets_);
    std::vector<std::int32_t>().swap(branches_);
    std::vector<std::int32_t>().swap(kept_);
    std::vector<std::int32_t>().swap(below_);
    std::vector<double>().swap(scores_);
    sets_[0].score = score_of(fixed_);
    leaf_ = 0;
}

std::size_t ParentTree::bytes() const {
    return sets_.capacity() * sizeof(Set) + scores_.capacity() * sizeof(double) +
           (branches_.capacity() + kept_.capacity() + below_.capacity()) * sizeof(std::int32_t);
}

/// The part of the score that belongs to the node: -log(residual variance) / 2 minus the cost of its
/// incoming edges.
double ParentTree::score_of(const std::vector<int>& parents) {
    const int n = static_cast<int>(parents.size());
    const double* S = scorer_.data().conditions.front().S.data();
    const auto at = [&](int i, int j) {
        return S[static_cast<std::ptrdiff_t>(i) * scorer_.d() + j];
    };
    std::vector<double>&factor = scratch_.factor, &with_node = scratch_.with_node;
    factor.resize(static_cast<std::size_t>(n) * n);
    with_node.resize(n);
    for (int a = 0; a < n; ++a) {
        for (int b = 0; b <= a; ++b) factor[a * n + b] = at(parents[a], parents[b]);
        with_node[a] = at(parents[a], node_);
    }
    (void)cholesky_of_singular(factor.data(), n, INFINITY);  // such a parent explains nothing
    solve_lower(factor.data(), n, with_node.data());
    const double variance = at(node_, node_);
    const double left =
        std::max(variance - dot(with_node.data(), with_node.data(), n), rounding_share * variance);
    return -0.5 * std::log(left) - scorer_.edge_cost() * n;
}

/// Writes the parents of a set into `scratch_.parents`: the fixed ones, then in the order taken.
void ParentTree::list_parents(int set) {
    std::vector<int>& parents = scratch_.parents;
    parents.clear();
    for (int s = set; s != 0; s = sets_[s].above) parents.push_back(sets_[s].last);
    parents.insert(parents.end(), fixed_.rbegin(), fixed_.rend());
    std::ranges::reverse(parents);
}

/// Lists the candidates with a gain, best first. With L the factor of the parents' covariances
/// and a_u = L^-1 S_Pu, candidate u has the partial covariance c = S_uv - a_u a_v with the node and
/// the variance w = S_uu - a_u a_u left, so it explains c^2 / w of the residual variance of
/// the node. Each row of L is applied to all candidates together.
void ParentTree::grow(int set) {
    sets_[set].grown = true;
    list_parents(set);
    const std::vector<int>& parents = scratch_.parents;
    const int n = static_cast<int>(parents.size()), d = scorer_.d();
    if (limit_ >= 0 && n >= limit_) return;
    const int m = static_cast<int>(candidates_.size());
    const double* S = scorer_.data().conditions.front().S.data();
    const auto row = [&](int i) { return S + static_cast<std::ptrdiff_t>(i) * d; };
    (void)score_of(parents);  // writes L and a_v
    const std::vector<double>&factor = scratch_.factor, &with_node = scratch_.with_node;
    std::vector<double>& rows = scratch_.rows;
    rows.resize(static_cast<std::size_t>(n) * m);
    scratch_.left.resize(2 * static_cast<std::size_t>(m));
    double *w = scratch_.left.data(), *c = w + m;
    for (int u = 0; u < m; ++u) {
        w[u] = row(candidates_[u])[candidates_[u]];
        c[u] = row(node_)[candidates_[u]];
    }
    double variance = row(node_)[node_];
    for (int a = 0; a < n; ++a) {
        double* Ra = &rows[static_cast<std::size_t>(a) * m];
        const double* Sa = row(parents[a]);
        for (int u = 0; u < m; ++u) Ra[u] = Sa[candidates_[u]];
        for (int b = 0; b < a; ++b)
            axpy(-factor[a * n + b], &rows[static_cast<std::size_t>(b) * m], Ra, m);
        const double inverse = 1.0 / factor[a * n + a], own = with_node[a];
        for (int u = 0; u < m; ++u) {
            Ra[u] *= inverse;
            w[u] -= Ra[u] * Ra[u];
            c[u] -= Ra[u] * own;
        }
        variance -= own * own;
    }
    const double least = rounding_share * row(node_)[node_];
    variance = std::max(variance, least);
    const double cost = scorer_.edge_cost();
    const double worth_it = -std::expm1(-2.0 * cost) * variance;  // the least that pays for an edge
    auto& gaining = scratch_.gaining;
    gaining.clear();
    for (int u = 0; u < m; ++u) {
        const int candidate = candidates_[u];
        if (!(c[u] * c[u] > worth_it * w[u])) continue;
        if (!(w[u] > rounding_share * row(candidate)[candidate])) continue;
        const double left = std::max(variance - c[u] * c[u] / w[u], least);
        const double score = -0.5 * std::log(left) - cost * (n + 1);
        if (score > sets_[set].score) gaining.emplace_back(score, candidate);
    }
    std::ranges::sort(gaining, [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    sets_[set].first = static_cast<std::int32_t>(branches_.size());
    for (const auto& [score, candidate] : gaining) {
        branches_.push_back(candidate);
        below_.push_back(-1);
        scores_.push_back(score);
    }
    sets_[set].end = static_cast<std::int32_t>(branches_.size());
}

void ParentTree::shrink(int set) {
    list_parents(set);
    std::vector<int>&kept = scratch_.kept, &fewer = scratch_.fewer;
    kept = scratch_.parents;
    double kept_score = sets_[set].score;
    for (bool gains = true; gains;) {
        gains = false;
        std::size_t goes = 0;
        for (std::size_t k = fixed_.size(); k < kept.size(); ++k) {
            fewer = kept;
            fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
            const double score = score_of(fewer);
            if (!(score > kept_score)) continue;
            kept_score = score;
            goes = k;
            gains = true;
        }
        if (gains) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(goes));
    }
    Set& here = sets_[set];
    here.shrunk = true;
    here.kept = static_cast<std::int32_t>(kept_.size());
    kept_.insert(kept_.end(), kept.begin(), kept.end());
    here.kept_end = static_cast<std::int32_t>(kept_.size());
    here.kept_score = kept_score;
}

/// The set at the end of a branch; created when it is first taken.
int ParentTree::below(int set, int branch) {
    if (below_[branch] < 0) {
        below_[branch] = static_cast<std::int32_t>(sets_.size());
        Set fresh;
        fresh.above = set;
        fresh.last = branches_[branch];
        fresh.score = scores_[branch];
        sets_.push_back(fresh);
    }
    return below_[branch];
}

void ParentTree::find(const Word* before, const Stop& stop, Descent& descent) {
    const int words = words_for(scorer_.d());
    descent.taken.assign(words, 0);
    descent.passed.assign(words, 0);
    leaf_ = 0;
    for (bool further = true; further;) {
        if (!sets_[leaf_].grown) {
            stop.check();
            grow(leaf_);
        }
        further = false;
        for (int b = sets_[leaf_].first; b < sets_[leaf_].end; ++b) {
            if (!contains(before, branches_[b])) {
                insert(descent.passed.data(), branches_[b]);
                continue;
            }
            insert(descent.taken.data(), branches_[b]);
            leaf_ = below(leaf_, b);
            further = true;
            break;
        }
    }
    if (!sets_[leaf_].shrunk) shrink(leaf_);
    descent.score = sets_[leaf_].kept_score;
}

std::vector<int> ParentTree::found() const {
    const Set& leaf = sets_[leaf_];
    return {kept_.begin() + leaf.kept, kept_.begin() + leaf.kept_end};
}

bool OrderSearch::supports(const Rules& rules, int d) {
    if (rules.graph_class == GraphClass::bidirected || rules.max_edges != Rules::unlimited)
        return false;
    if (rules.knowledge.empty()) return true;
    for (int j = 0; j < d; ++j) {
        int n_fixed = 0;
        for (int i = 0; i < d; ++i) {
            if (i == j || may_be(rules, d, i, j, Edge::none)) continue;
            int states = 0;
            for (const Edge e : all_edges) states += may_be(rules, d, i, j, e);
            if (states != 1 || may_be(rules, d, i, j, Edge::bidirected)) return false;
            n_fixed += must_be(rules, d, i, j);
        }
        if (rules.max_in_degree != Rules::unlimited && n_fixed > rules.max_in_degree) return false;
    }
    return true;
}

OrderSearch::OrderSearch(const Scorer& scorer, const Rules& rules, ParentTrees& memory, Rng& rng,
                         const Stop& stop, std::size_t max_bytes)
    : d_(scorer.d()),
      words_(words_for(d_)),
      max_bytes_(max_bytes),
      rng_(rng),
      stop_(stop),
      fixed_parents_(d_),
      fixed_children_(d_),
      trees_(memory.trees),
      position_(d_),
      descents_(d_),
      before_(words_) {
    Graph fixed(d_);
    const bool is_new = trees_.empty();
    trees_.reserve(d_);
    for (int v = 0; v < d_; ++v) {
        std::vector<int> candidates;
        for (int u = 0; u < d_; ++u) {
            if (u == v) continue;
            if (must_be(rules, d_, u, v)) {
                fixed_parents_[v].push_back(u);
                fixed_children_[u].push_back(v);
                fixed.add_directed(u, v);
            } else if (may_be(rules, d_, u, v, arrow_between(u, v))) {
                candidates.push_back(u);
            }
        }
        if (is_new)
            trees_.emplace_back(scorer, memory.scratch, v, std::move(candidates), fixed_parents_[v],
                                rules.max_in_degree);
    }
    // A random order with fixed parents before their children: the next node is drawn among those
    // whose fixed parents have been placed.
    std::vector<int> waits_for(d_), free;
    for (int v = 0; v < d_; ++v) {
        waits_for[v] = static_cast<int>(fixed_parents_[v].size());
        if (waits_for[v] == 0) free.push_back(v);
    }
    while (!free.empty()) {
        std::swap(free[rng_.below(static_cast<int>(free.size()))], free.back());
        const int v = free.back();
        free.pop_back();
        position_[v] = static_cast<int>(order_.size());
        order_.push_back(v);
        for (const int child : fixed_children_[v])
            if (--waits_for[child] == 0) free.push_back(child);
    }
    for (const int v : order_) {
        trees_[v].find(before_.data(), stop_, descents_[v]);
        insert(before_.data(), v);
    }
}

double OrderSearch::score() const {
    double total = 0.0;
    for (const Descent& descent : descents_) total += descent.score;
    return total;
}

Graph OrderSearch::graph() {
    Graph graph(d_);
    std::ranges::fill(before_, Word{0});
    for (const int v : order_) {
        trees_[v].find(before_.data(), stop_, trial_);
        for (const int p : trees_[v].found()) graph.add_directed(p, v);
        insert(before_.data(), v);
    }
    return graph;
}

/// Clears the trees when they are too large.
void OrderSearch::free_memory_if_needed() {
    std::size_t bytes = 0;
    for (const ParentTree& tree : trees_) bytes += tree.bytes();
    if (bytes > max_bytes_)
        for (ParentTree& tree : trees_) tree.clear();
}

OrderSearch::Span OrderSearch::possible_positions(int node) const {
    Span span{0, d_ - 1};
    for (const int p : fixed_parents_[node])
        span.first = std::max(span.first, position_[p] + (position_[p] < position_[node]));
    for (const int c : fixed_children_[node])
        span.last = std::min(span.last, position_[c] - (position_[c] > position_[node]));
    return span;
}

/// Moves the node to its best position; returns false if it is there already.
bool OrderSearch::move_to_best(int node, double tolerance) {
    stop_.check();
    free_memory_if_needed();
    const int now = position_[node];
    const Span open = possible_positions(node);
    std::ranges::fill(before_, Word{0});
    trees_[node].find(before_.data(), stop_, own_);
    // `others` is the sum over the other nodes minus its value with this node in the first position.
    double others = 0.0, best = 0.0, here = 0.0;
    int to = now;
    totals_.assign(d_, 0.0);
    for (int to_try = 0, at = 0;; ++to_try, ++at) {
        totals_[to_try] = own_.score + others;
        if (to_try == d_ - 1) break;
        if (at == now) ++at;
        const int u = order_[at];
        const Descent& current = descents_[u];
        // Subtract the difference that the node makes for u.
        if (at < now) {
            if (contains(current.passed.data(), node)) {
                insert(before_.data(), node);
                trees_[u].find(before_.data(), stop_, trial_);
                erase(before_.data(), node);
                others -= trial_.score - current.score;
            }
        } else if (contains(current.taken.data(), node)) {
            trees_[u].find(before_.data(), stop_, trial_);
            others -= current.score - trial_.score;
        }
        insert(before_.data(), u);
        if (contains(own_.passed.data(), u)) trees_[node].find(before_.data(), stop_, own_);
    }
    here = best = totals_[now];
    for (int position = open.first; position <= open.last; ++position)
        if (totals_[position] > best && totals_[position] > here + tolerance) {
            best = totals_[position];
            to = position;
        }
    if (to == now) return false;
    move(node, to);
    return true;
}

void OrderSearch::move(int node, int to) {
    const int from = position_[node];
    if (from < to)
        std::rotate(order_.begin() + from, order_.begin() + from + 1, order_.begin() + to + 1);
    else
        std::rotate(order_.begin() + to, order_.begin() + from, order_.begin() + from + 1);
    const int first = std::min(from, to), last = std::max(from, to);
    std::ranges::fill(before_, Word{0});
    for (int at = 0; at < first; ++at) insert(before_.data(), order_[at]);
    for (int at = first; at <= last; ++at) {
        const int u = order_[at];
        position_[u] = at;
        const Descent& descent = descents_[u];
        const bool changes =
            u == node || contains(from < to ? descent.taken.data() : descent.passed.data(), node);
        if (changes) trees_[u].find(before_.data(), stop_, descents_[u]);
        insert(before_.data(), u);
    }
}

void OrderSearch::improve(double tolerance) {
    std::vector<int> nodes(d_);
    std::iota(nodes.begin(), nodes.end(), 0);
    for (int still = 0; still < d_;) {  // consecutive nodes that were not moved
        for (int k = d_ - 1; k > 0; --k) std::swap(nodes[k], nodes[rng_.below(k + 1)]);
        for (int k = 0; k < d_ && still < d_; ++k)
            still = move_to_best(nodes[k], tolerance) ? 0 : still + 1;
    }
}

void OrderSearch::kick(int n, double tolerance) {
    for (int k = 0; k < n; ++k) {
        const std::vector<int> order = order_, position = position_;
        const std::vector<Descent> descents = descents_;
        const double before = score();
        const int moved = 1 + rng_.below(most_moved);
        for (int m = 0; m < moved; ++m) {
            const int v = rng_.below(d_);
            const Span open = possible_positions(v);
            move(v, open.first + rng_.below(open.last - open.first + 1));
        }
        improve(tolerance);
        if (score() >= before - tolerance) continue;
        order_ = order;
        position_ = position;
        descents_ = descents;
    }
}

}  // namespace bowfree
