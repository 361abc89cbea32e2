#include "search/exact_space.hpp"

#include <cassert>
#include <cmath>

#include "graph/district.hpp"
#include "graph/key.hpp"

namespace bowfree::exact {

// Work of a bound of a district, approximately.
constexpr double bound_work = 100.0;

// Starts of the fits that bound larger districts.
constexpr int n_pair_starts = 3;

Space::Space(Scorer& scorer, const Rules& rules, const ExactOptions& options, ExactResult& found,
             const Stop& stop)
    : scorer_(scorer),
      rules_(rules),
      options_(options),
      found_(found),
      stop_(stop),
      workspace_(scorer, stop),
      d_(scorer.d()),
      largest_(rules.graph_class == GraphClass::dag ? 1 : std::min(options.max_district, d_)),
      single_(d_, -infinity),
      share_(largest_ > 1 ? d_ : 1, -infinity),
      scratch_(d_) {
    workspace_.work_limit = options.work_limit;
    for (int v = 0; v < d_; ++v) {
        Set may_be_parents = 0, must_be_parents = 0, may_be_spouses = 0, must_be_spouses = 0;
        for (int u = 0; u < d_; ++u) {
            if (u == v) continue;
            const int i = std::min(u, v), j = std::max(u, v);
            const Edge to_v = u < v ? Edge::forward : Edge::backward;
            const bool optional = rules.permits_edge(d_, i, j, Edge::none);
            const bool parent = rules.permits_edge(d_, i, j, to_v);
            const bool spouse = rules.permits_edge(d_, i, j, Edge::bidirected);
            may_be_parents |= parent ? bit(u) : 0;
            may_be_spouses |= spouse ? bit(u) : 0;
            must_be_parents |= parent && !optional ? bit(u) : 0;
            must_be_spouses |= spouse && !optional ? bit(u) : 0;
        }
        may_be_parents_.push_back(may_be_parents);
        must_be_parents_.push_back(must_be_parents);
        may_be_spouses_.push_back(may_be_spouses);
        must_be_spouses_.push_back(must_be_spouses);
    }
    fill_single();
}

void Space::accept(Graph graph) {
    const double score = scorer_.score(graph, workspace_);
    if (found_.graph && !(score > found_.score)) return;
    found_.score = score;
    found_.graph = std::move(graph);
}

int Space::max_heads() const {
    return rules_.max_in_degree == Rules::unlimited ? d_ : rules_.max_in_degree;
}

/// The log determinants of all principal submatrices, from the Schur complement of a subset of
/// the first nodes in the others.
void Space::fill_determinants() {
    const auto& S = scorer_.data().conditions.front().S;
    determinants_.assign(std::size_t{1} << d_, 0.0);
    std::vector<std::vector<double>> schur(d_ + 1);
    for (int k = 0; k <= d_; ++k) schur[k].resize(static_cast<std::size_t>(d_ - k) * (d_ - k));
    schur[0] = S;
    determinants_below(0, 0, 0.0, schur);
}

void Space::determinants_below(int k, Set set, double value,
                               std::vector<std::vector<double>>& schur) {
    if (k == d_) {
        determinants_[set] = value;
        return;
    }
    const int m = d_ - k;
    const std::vector<double> here = schur[k];
    auto& next = schur[k + 1];
    for (int i = 1; i < m; ++i)
        for (int j = 1; j < m; ++j) next[(i - 1) * (m - 1) + j - 1] = here[i * m + j];
    determinants_below(k + 1, set, value, schur);
    const double pivot = here[0];
    for (int i = 1; i < m; ++i)
        for (int j = 1; j < m; ++j)
            next[(i - 1) * (m - 1) + j - 1] = here[i * m + j] - here[i * m] * here[j * m] / pivot;
    determinants_below(k + 1, set | bit(k), value + std::log(pivot), schur);
}

void Space::fill_single() {
    const bool observational = scorer_.data().is_observational();
    assert(observational || largest_ == 1);
    if (observational) fill_determinants();
    const int most = std::min(options_.max_parents, max_heads());
    for (int v = 0; v < d_; ++v) {
        const Set others = all() ^ bit(v);
        each_subset(others & may_be_parents_[v], [&](Set parents) {
            const bool within = std::popcount(parents) <= most;
            if ((!within && largest_ == 1) || (must_be_parents_[v] & ~parents)) return;
            check(d_);
            double value = 0.0;
            if (observational) {
                value = loglik(v, parents);
            } else {
                Candidate node{bit(v), parents, {parents}, {}, 0.0};
                value = -0.5 * objective(node);
            }
            value -= cost() * std::popcount(parents);
            if (within) single_.at(v, parents) = value;
            if (largest_ > 1) share_.at(v, parents) = value;
        });
    }
    single_.spread_to_supersets();
    if (largest_ > 1) share_.spread_to_supersets();
}

Set Space::best_parents(int v, Set prefix) const {
    const double best = single_.at(v, prefix);
    for (bool smaller = true; smaller;) {
        smaller = false;
        each(prefix, [&](int u) {
            if (smaller || single_.at(v, prefix ^ bit(u)) < best) return;
            prefix ^= bit(u);
            smaller = true;
        });
    }
    return prefix;
}

void write(const Candidate& candidate, Graph& graph) {
    int k = 0;
    each(candidate.members, [&](int v) {
        graph.parents(v)[0] = candidate.parents[k];
        graph.spouses(v)[0] = candidate.spouses[k];
        ++k;
    });
}

namespace {

int count_edges_of(const Candidate& candidate) {
    int heads = 0, arrows = 0;
    for (int k = 0; k < candidate.size(); ++k) {
        arrows += std::popcount(candidate.parents[k]);
        heads += std::popcount(candidate.spouses[k]);
    }
    return arrows + heads / 2;
}

}  // namespace

/// F of the district.
double Space::objective(const Candidate& candidate) {
    write(candidate, scratch_);
    Key key;
    each(candidate.members, [&](int v) { key ^= row_key(scratch_, v); });
    const double found = scorer_.objective(scratch_, first(candidate.members), key, workspace_);
    each(candidate.members, [&](int v) {
        scratch_.parents(v)[0] = 0;
        scratch_.spouses(v)[0] = 0;
    });
    return found;
}

/// The members that are connected with v by bidirected edges within `members`.
Set Space::component(int v, Set members) const {
    Set found = bit(v);
    for (Set fresh = found; fresh != 0;) {
        Set next = 0;
        each(fresh, [&](int u) { next |= built_spouses_[u]; });
        fresh = next & members & ~found;
        found |= fresh;
    }
    return found;
}

Set Space::parents_of_all(Set members) const {
    Set found = 0;
    each(members, [&](int v) { found |= built_parents_[v]; });
    return found;
}

/// An upper bound of the log-likelihood of the districts on `members`, which contain their
/// children among them. Pairs of spouses are fitted if the fits are `with_pairs`.
double Space::loglik_bound(Set members, bool with_pairs) {
    if (members == 0) return 0.0;
    if (with_pairs && std::popcount(members) == 2) {
        const int a = first(members), b = first(members & (members - 1));
        if (has(spouses_of(a), b)) return pair_loglik(a, b);
    }
    double best = infinity;
    each(members, [&](int c) {
        if (has_child_in(c, members)) return;
        const Set district = component(c, members);
        const Set given = (district ^ bit(c)) | parents_of_all(district);
        best = std::min(best, loglik(c, given) + loglik_bound(members ^ bit(c), with_pairs));
    });
    return best;
}

/// The maximum of the log-likelihood of the district a <-> b. It bounds larger districts, so it
/// must not be missed: the best of several starts.
double Space::pair_loglik(int a, int b) {
    const Set A = parents_of(a), B = parents_of(b);
    // Nested parents: the closed form, see peeling.hpp.
    if ((A & ~B) == 0) return loglik(a, A) + loglik(b, B | bit(a));
    if ((B & ~A) == 0) return loglik(b, B) + loglik(a, A | bit(b));
    const std::uint64_t key = ((static_cast<std::uint64_t>(a * d_ + b) << d_) | A) << d_ | B;
    const auto [entry, fresh] = pairs_.try_emplace(key, 0.0);
    if (!fresh) return entry->second;
    Graph graph(d_);
    graph.parents(a)[0] = A;
    graph.parents(b)[0] = B;
    graph.add_bidirected(a, b);
    const FitOptions starts{n_pair_starts, 0, false, false};
    const DistrictFit fit = workspace_.fitter.fit(make_district(graph, {a, b}), starts);
    check(workspace_.fitter.work());
    ++found_.fitted;
    stop_.count_result();
    return entry->second = -0.5 * fit.objective;
}

/// A lower bound of the sum of table.at(t, P_t) over the members, whatever the order.
double Space::least_sum(const Table& table, Set members) const {
    if (members == 0) return 0.0;
    const Set parents = parents_of_all(members);
    double best = infinity;
    each(members, [&](int t) {
        if (has(parents, t)) return;
        const double own = table.at(t, (members ^ bit(t)) | parents);
        best = std::min(best, own + least_sum(table, members ^ bit(t)));
    });
    return best;
}

int Space::count_components(Set members) const {
    int n = 0;
    for (Set rest = members; rest != 0; ++n) rest &= ~component(first(rest), members);
    return n;
}

/// Calls `visit()` for every choice of edges of the pairs from `next` on. The edges are in
/// built_parents_ and built_spouses_.
template <class Visit>
void Space::each_pattern(const Pairs& pairs, std::size_t next, Visit&& visit) {
    if (next == pairs.size()) {
        visit();
        return;
    }
    const auto [i, j] = pairs[next];
    for (const Edge edge : all_edges) {
        if (!rules_.permits_edge(d_, std::min(i, j), std::max(i, j), edge)) continue;
        if (edge == Edge::forward) parents_of(std::max(i, j)) |= bit(std::min(i, j));
        if (edge == Edge::backward) parents_of(std::min(i, j)) |= bit(std::max(i, j));
        if (edge == Edge::bidirected) {
            spouses_of(i) |= bit(j);
            spouses_of(j) |= bit(i);
        }
        each_pattern(pairs, next + 1, visit);
        parents_of(j) &= ~bit(i);
        parents_of(i) &= ~bit(j);
        spouses_of(i) &= ~bit(j);
        spouses_of(j) &= ~bit(i);
    }
}

bool Space::is_acyclic(Set members) const {
    for (Set rest = members; rest != 0;) {
        const Set before = rest;
        each(before, [&](int v) {
            if ((built_parents_[v] & rest) == 0) rest &= ~bit(v);
        });
        if (rest == before) return false;
    }
    return true;
}

/// Calls `visit()` for every choice of parents of v in `outside`, in addition to those inside,
/// that contains `needed`.
template <class Visit>
void Space::each_parents(int v, Set outside, Set needed, Visit&& visit) {
    const Set inside = parents_of(v);
    const int most = std::min(options_.max_parents, max_heads() - std::popcount(spouses_of(v))) -
                     std::popcount(inside);
    needed |= must_be_parents_[v] & ~inside;
    if ((needed & ~(outside & may_be_parents_[v])) || std::popcount(needed) > most) return;
    parents_with(v, outside & may_be_parents_[v] & ~needed, most - std::popcount(needed),
                 inside | needed, visit);
    parents_of(v) = inside;
}

template <class Visit>
void Space::parents_with(int v, Set optional, int most, Set chosen, Visit&& visit) {
    parents_of(v) = chosen;
    visit();
    if (most == 0) return;
    for (; optional != 0; optional &= optional - 1)
        parents_with(v, optional & (optional - 1), most - 1, chosen | (optional & (~optional + 1)),
                     visit);
}

/// Calls `visit()` for all parents in `outside` of the nodes of `members`, so that every node
/// of `uncovered` is one of them.
template <class Visit>
void Space::each_family(Set members, Set outside, Set uncovered, Visit&& visit) {
    const int v = first(members);
    const Set rest = members & (members - 1);
    each_parents(v, outside, rest == 0 ? uncovered : 0, [&] {
        if (rest == 0)
            visit();
        else
            each_family(rest, outside, uncovered & ~parents_of(v), visit);
    });
}

void Space::each_group_member(Set group, int k, const std::function<void(Set)>& visit) {
    if (std::popcount(group) > k + k * options_.max_parents) return;
    each_subset(group, [&](Set others) {
        if (std::popcount(others) != k) return;
        Pairs pairs;
        each(others, [&](int i) {
            parents_of(i) = spouses_of(i) = 0;
            each(others, [&](int j) {
                if (i < j) pairs.emplace_back(i, j);
            });
        });
        const Set outside = group & ~others;
        each_pattern(pairs, 0, [&] {
            if (is_acyclic(others)) each_family(others, outside, outside, [&] { visit(others); });
        });
    });
}

double Space::closing_of_others(Set others) {
    check(bound_work);
    int arrows = 0, heads = 0;
    each(others, [&](int v) {
        arrows += std::popcount(parents_of(v));
        heads += std::popcount(spouses_of(v) & others);
    });
    const int n_edges = arrows + heads / 2 + count_components(others);
    return loglik_bound(others, true) - least_sum(share_, others) - cost() * n_edges;
}

double Space::closing_of_singles(int c, Set prefix, Set others) const {
    bool alone = may_be_alone(c);
    each(others, [&](int v) { alone &= may_be_alone(v); });
    if (!alone) return -infinity;
    return least_sum(single_, others) + single_.at(c, prefix) - least_sum(share_, others);
}

void Space::each_district_with(int c, Set prefix, Set others, Set uncovered, const double& least,
                               const OnDistrict& visit) {
    const Set members = others | bit(c), outside = prefix & ~others;
    const double shares = least_sum(share_, others);
    const double singles = closing_of_singles(c, prefix, others);
    const auto enough = [&](double closing) { return closing > least && closing > singles; };
    Pairs pairs;
    each(others, [&](int t) { pairs.emplace_back(c, t); });
    parents_of(c) = spouses_of(c) = 0;
    each_pattern(pairs, 0, [&] {
        if (has_child_in(c, others) || component(c, members) != members) return;
        if (!permits_spouses(members)) return;
        each_parents(c, outside, uncovered, [&] {
            check(bound_work);
            ++found_.bounded;
            Candidate candidate = built(members);
            const double costs = cost() * count_edges_of(candidate) + shares;
            if (!enough(loglik_bound(members, false) - costs)) return;
            if (largest_ > 2 && !enough(loglik_bound(members, true) - costs)) return;
            ++found_.fitted;
            stop_.count_result();
            const double closing = -0.5 * objective(candidate) - costs;
            candidate.value = closing + shares;
            if (enough(closing)) visit(candidate, closing);
        });
    });
}

/// Whether the members have their required spouses, and not too many arrowheads.
bool Space::permits_spouses(Set members) const {
    bool permitted = true;
    each(members, [&](int v) {
        const int heads = std::popcount(built_parents_[v]) + std::popcount(built_spouses_[v]);
        permitted &= heads <= max_heads() && (must_be_spouses_[v] & ~built_spouses_[v]) == 0;
    });
    return permitted;
}

Candidate Space::built(Set members) const {
    Candidate candidate{members, parents_of_all(members), {}, {}, 0.0};
    int k = 0;
    each(members, [&](int v) {
        candidate.parents[k] = built_parents_[v];
        candidate.spouses[k++] = built_spouses_[v];
    });
    return candidate;
}

}  // namespace bowfree::exact
