#include "search/orders.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "model/dense.hpp"

namespace bowfree {

namespace {

// Set by hand; benchmarks/bench_strategies.py judges what comes out as a whole.
constexpr int most_moved = 4;  // nodes that a kick moves

Edge arrow_between(int from, int to) {
    return from < to ? Edge::forward : Edge::backward;
}

bool may_be(const Rules& rules, int d, int a, int b, Edge edge) {
    return rules.permits_edge(d, std::min(a, b), std::max(a, b), edge);
}

bool must_be(const Rules& rules, int d, int from, int to) {
    return !may_be(rules, d, from, to, Edge::none) &&
           may_be(rules, d, from, to, arrow_between(from, to));
}

}  // namespace

ParentTree::ParentTree(const Scorer& scorer, int node, std::vector<int> candidates,
                       std::vector<int> fixed, int limit)
    : scorer_(scorer),
      node_(node),
      limit_(limit),
      n_fixed_(fixed.size()),
      candidates_(std::move(candidates)),
      sets_(1) {
    sets_[0].score = score_of(fixed);
    sets_[0].parents = std::move(fixed);
}

/// The part of the score that a single node has to do with: -log(residual variance) / 2, less what
/// its arrows cost.
double ParentTree::score_of(const std::vector<int>& parents) {
    const int n = static_cast<int>(parents.size());
    const double* S = scorer_.data().all.front().S.data();
    const auto at = [&](int i, int j) {
        return S[static_cast<std::ptrdiff_t>(i) * scorer_.d() + j];
    };
    factor_.resize(static_cast<std::size_t>(n) * n);
    with_node_.resize(n);
    for (int a = 0; a < n; ++a) {
        for (int b = 0; b <= a; ++b) factor_[a * n + b] = at(parents[a], parents[b]);
        with_node_[a] = at(parents[a], node_);
    }
    (void)cholesky_of_singular(factor_.data(), n, INFINITY);  // such a parent explains nothing
    solve_lower(factor_.data(), n, with_node_.data());
    const double variance = at(node_, node_);
    const double left = std::max(variance - dot(with_node_.data(), with_node_.data(), n),
                                 rounding_share * variance);
    return -0.5 * std::log(left) - scorer_.edge_cost() * n;
}

/// Lists the candidates that would gain, best first. With L the factor of the parents' covariances
/// and a_u = L^-1 S_Pu, candidate u has the partial covariance c = S_uv - a_u a_v with the node and
/// the variance w = S_uu - a_u a_u left, so it explains c^2 / w of what is left of the node. All
/// candidates go through each row of L together.
void ParentTree::grow(Set& set) {
    set.grown = true;
    const int n = static_cast<int>(set.parents.size()), d = scorer_.d();
    if (limit_ >= 0 && n >= limit_) return;
    const int m = static_cast<int>(candidates_.size());
    const double* S = scorer_.data().all.front().S.data();
    const auto row = [&](int i) { return S + static_cast<std::ptrdiff_t>(i) * d; };
    (void)score_of(set.parents);  // leaves L in `factor_`, a_v in `with_node_`
    rows_.resize(static_cast<std::size_t>(n) * m);
    left_.resize(2 * static_cast<std::size_t>(m));
    double *w = left_.data(), *c = left_.data() + m;
    for (int u = 0; u < m; ++u) {
        w[u] = row(candidates_[u])[candidates_[u]];
        c[u] = row(node_)[candidates_[u]];
    }
    double variance = row(node_)[node_];
    for (int a = 0; a < n; ++a) {
        double* Ra = &rows_[static_cast<std::size_t>(a) * m];
        const double* Sa = row(set.parents[a]);
        for (int u = 0; u < m; ++u) Ra[u] = Sa[candidates_[u]];
        for (int b = 0; b < a; ++b)
            axpy(-factor_[a * n + b], &rows_[static_cast<std::size_t>(b) * m], Ra, m);
        const double inverse = 1.0 / factor_[a * n + a], own = with_node_[a];
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
    const double worth_it = -std::expm1(-2.0 * cost) * variance;  // to be explained at least
    for (int u = 0; u < m; ++u) {
        const int candidate = candidates_[u];
        if (!(c[u] * c[u] > worth_it * w[u])) continue;
        if (!(w[u] > rounding_share * row(candidate)[candidate])) continue;
        const double left = std::max(variance - c[u] * c[u] / w[u], least);
        const double score = -0.5 * std::log(left) - cost * (n + 1);
        if (score > set.score) set.branches.push_back({score, candidate, -1});
    }
    std::sort(set.branches.begin(), set.branches.end(), [](const Branch& a, const Branch& b) {
        return a.score != b.score ? a.score > b.score : a.candidate < b.candidate;
    });
}

void ParentTree::shrink(Set& set) {
    set.shrunk = true;
    set.kept = set.parents;
    set.kept_score = set.score;
    std::vector<int> fewer;
    for (bool gains = true; gains;) {
        gains = false;
        std::size_t goes = 0;
        for (std::size_t k = n_fixed_; k < set.kept.size(); ++k) {
            fewer = set.kept;
            fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
            const double score = score_of(fewer);
            if (!(score > set.kept_score)) continue;
            set.kept_score = score;
            goes = k;
            gains = true;
        }
        if (gains) set.kept.erase(set.kept.begin() + static_cast<std::ptrdiff_t>(goes));
    }
}

void ParentTree::find(const Word* before, const Stop& stop, Place& place) {
    const int words = words_for(scorer_.d());
    place.taken.assign(words, 0);
    place.passed.assign(words, 0);
    int here = 0;
    for (bool further = true; further;) {
        if (!sets_[here].grown) {
            stop.check();
            grow(sets_[here]);
        }
        further = false;
        for (Branch& branch : sets_[here].branches) {
            if (!contains(before, branch.candidate)) {
                insert(place.passed.data(), branch.candidate);
                continue;
            }
            insert(place.taken.data(), branch.candidate);
            if (branch.child < 0) {
                Set child;
                child.parents = sets_[here].parents;
                child.parents.push_back(branch.candidate);
                child.score = branch.score;
                branch.child = static_cast<int>(sets_.size());
                here = branch.child;
                sets_.push_back(std::move(child));  // `branch` is gone
            } else {
                here = branch.child;
            }
            further = true;
            break;
        }
    }
    if (!sets_[here].shrunk) shrink(sets_[here]);
    place.leaf = here;
    place.score = sets_[here].kept_score;
}

bool OrderSearch::can_honour(const Rules& rules, int d) {
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

OrderSearch::OrderSearch(const Scorer& scorer, const Rules& rules, Rng& rng, const Stop& stop)
    : d_(scorer.d()),
      words_(words_for(d_)),
      rng_(rng),
      stop_(stop),
      fixed_parents_(d_),
      fixed_children_(d_),
      position_(d_),
      places_(d_),
      before_(words_) {
    Graph fixed(d_);
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
        trees_.emplace_back(scorer, v, std::move(candidates), fixed_parents_[v],
                            rules.max_in_degree);
    }
    // A random order that has fixed parents before their children: of the nodes that wait for
    // nobody, a random one goes next.
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
        trees_[v].find(before_.data(), stop_, places_[v]);
        insert(before_.data(), v);
    }
}

double OrderSearch::score() const {
    double total = 0.0;
    for (const Place& place : places_) total += place.score;
    return total;
}

Graph OrderSearch::graph() const {
    Graph graph(d_);
    for (int v = 0; v < d_; ++v)
        for (const int p : trees_[v].parents(places_[v])) graph.add_directed(p, v);
    return graph;
}

OrderSearch::Span OrderSearch::open_places(int node) const {
    Span span{0, d_ - 1};
    for (const int p : fixed_parents_[node])
        span.first = std::max(span.first, position_[p] + (position_[p] < position_[node]));
    for (const int c : fixed_children_[node])
        span.last = std::min(span.last, position_[c] - (position_[c] > position_[node]));
    return span;
}

/// Puts the node where the score is best. Places count the other nodes before it.
bool OrderSearch::move_to_best(int node, double tolerance) {
    stop_.check();
    const int now = position_[node];
    const Span open = open_places(node);
    std::fill(before_.begin(), before_.end(), Word{0});
    trees_[node].find(before_.data(), stop_, own_);
    // `others` is the sum over the other nodes, less what it is with this node at the very front.
    double others = 0.0, best = 0.0, here = 0.0;
    int to = now;
    totals_.assign(d_, 0.0);
    for (int place = 0, at = 0;; ++place, ++at) {
        totals_[place] = own_.score + others;
        if (place == d_ - 1) break;
        if (at == now) ++at;
        const int u = order_[at];
        const Place& current = places_[u];
        // What u has with the node before it, less what it has without.
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
    for (int place = open.first; place <= open.last; ++place)
        if (totals_[place] > best && totals_[place] > here + tolerance) {
            best = totals_[place];
            to = place;
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
    std::fill(before_.begin(), before_.end(), Word{0});
    for (int at = 0; at < first; ++at) insert(before_.data(), order_[at]);
    for (int at = first; at <= last; ++at) {
        const int u = order_[at];
        position_[u] = at;
        const Place& place = places_[u];
        const bool changes =
            u == node || contains(from < to ? place.taken.data() : place.passed.data(), node);
        if (changes) trees_[u].find(before_.data(), stop_, places_[u]);
        insert(before_.data(), u);
    }
}

void OrderSearch::improve(double tolerance) {
    std::vector<int> nodes(d_);
    std::iota(nodes.begin(), nodes.end(), 0);
    for (int still = 0; still < d_;) {  // nodes in a row that are where they should be
        for (int k = d_ - 1; k > 0; --k) std::swap(nodes[k], nodes[rng_.below(k + 1)]);
        for (int k = 0; k < d_ && still < d_; ++k)
            still = move_to_best(nodes[k], tolerance) ? 0 : still + 1;
    }
}

void OrderSearch::kick(int n, double tolerance) {
    for (int k = 0; k < n; ++k) {
        const std::vector<int> order = order_, position = position_;
        const std::vector<Place> places = places_;
        const double before = score();
        const int moved = 1 + rng_.below(most_moved);
        for (int m = 0; m < moved; ++m) {
            const int v = rng_.below(d_);
            const Span open = open_places(v);
            move(v, open.first + rng_.below(open.last - open.first + 1));
        }
        improve(tolerance);
        if (score() >= before - tolerance) continue;
        order_ = order;
        position_ = position;
        places_ = places;
    }
}

}  // namespace bowfree
