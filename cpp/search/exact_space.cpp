#include "search/exact_space.hpp"

#include <cassert>
#include <cmath>
#include <functional>
#include <tuple>

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
      most_(std::min(options.max_parents, max_heads() - 1)),
      single_(d_, -infinity),
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
            if (!within || (must_be_parents_[v] & ~parents)) return;
            check(d_);
            double value = 0.0;
            if (observational) {
                value = loglik(v, parents);
            } else {
                Candidate node{bit(v), {parents}, {}, 0.0};
                value = -0.5 * objective(node);
            }
            single_.at(v, parents) = value - cost() * std::popcount(parents);
        });
    }
    single_.spread_to_supersets();
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

bool Space::may_be_district(Set members) const {
    Set reached = bit(first(members));
    for (Set before = 0; before != reached;) {
        before = reached;
        each(before, [&](int v) { reached |= may_be_spouses_[v] & members; });
    }
    bool enough = reached == members;
    each(members, [&](int v) { enough &= (must_be_spouses_[v] & ~members) == 0; });
    return enough;
}

/// The value of the members as single nodes. A district that is no better can be replaced by them.
double Space::value_alone(const Chain& chain) const {
    double value = 0.0;
    for (int i = 0; i < chain.size; ++i)
        value +=
            may_be_alone(chain.members[i]) ? single(chain.members[i], chain.prefix[i]) : -infinity;
    return value;
}

double Space::bound_of(const Chain& chain) {
    const double alone = value_alone(chain);
    double bound = -cost() * (chain.size - 1);
    for (int i = 0; i < chain.size; ++i) {
        const int n_fresh = std::popcount(chain.fresh[i]);
        if (n_fresh > most_) return -infinity;
        if (single(chain.members[i], chain.prefix[i]) == -infinity) return -infinity;  // rules
        bound += loglik(chain.members[i], chain.prefix[i]) - cost() * n_fresh;
    }
    if (bound > alone && chain.size == 2) bound = bound_of_pair(chain, alone);
    if (bound > alone && chain.size == 3) bound = bound_of_triple(chain, alone);
    return bound > alone ? bound : -infinity;
}

/// The same as the largest bound of a district, if that is above `least`.
double Space::bound_of_pair(const Chain& chain, double least) const {
    const auto [a, b] = std::pair(chain.members[0], chain.members[1]);
    const Set A = chain.prefix[0];
    const double upper = loglik(a, A) + loglik(b, chain.prefix[1]);
    each_subset(A, [&](Set more) {
        const Set B = chain.fresh[1] | more;
        const int n_edges = std::popcount(A) + std::popcount(B) + 1;
        if (std::popcount(B) > most_ || !(upper - cost() * n_edges > least)) return;
        const double other = loglik(b, B) + loglik(a, A | B | bit(b));
        least = std::max(least, std::min(upper, other) - cost() * n_edges);
    });
    return least;
}

double Space::bound_of_triple(const Chain& chain, double least) {
    const auto [a, b, c] = std::tuple(chain.members[0], chain.members[1], chain.members[2]);
    const Set A = chain.prefix[0], all = chain.prefix[2] | bit(c), may_see = A | chain.fresh[1];
    // Member x given everything else, and the others without it: with the edge <->, without an
    // edge, and with an arrow from the earlier to the later.
    const std::array<double, 3> given{loglik(a, all ^ bit(a)), loglik(b, all ^ bit(b)),
                                      loglik(c, all ^ bit(c))};
    std::array<double, 3> pair{}, none{}, arrow{};
    const double alone_a = loglik(a, A);
    const auto costs = [&](Set B, Set C) {
        return cost() * (std::popcount(A) + std::popcount(B) + std::popcount(C) + 2);
    };
    each_subset(A, [&](Set more_b) {
        const Set B = chain.fresh[1] | more_b;
        const int n_b = std::popcount(B);
        if (n_b > most_) return;
        const double alone_b = loglik(b, B);
        pair[2] = given[2] + pair_loglik(a, b, A, B);
        none[2] = given[2] + alone_a + alone_b;
        arrow[2] = n_b < most_ ? given[2] + alone_a + loglik(b, B | bit(a)) - cost() : -infinity;
        const double upper = std::max({pair[2], none[2], arrow[2]});
        if (!(upper - costs(B, chain.fresh[2]) > least)) return;
        each_subset(may_see, [&](Set more_c) {
            const Set C = chain.fresh[2] | more_c;
            const int n_c = std::popcount(C);
            const double cost_of_all = costs(B, C);
            if (n_c > most_ || !(upper - cost_of_all > least)) return;
            const double alone_c = loglik(c, C);
            pair[0] = given[0] + pair_loglik(b, c, B, C);
            pair[1] = given[1] + pair_loglik(a, c, A, C);
            none[0] = given[0] + alone_b + alone_c;
            none[1] = given[1] + alone_a + alone_c;
            arrow[0] = arrow[1] = -infinity;
            if (n_c < most_) {
                arrow[0] = given[0] + alone_b + loglik(c, C | bit(b)) - cost();
                arrow[1] = given[1] + alone_a + loglik(c, C | bit(a)) - cost();
            }
            // Any member can be removed from a triangle. If two are not spouses, the third one and
            // those without children can be.
            double best = std::min({pair[0], pair[1], pair[2]}) - cost();
            best = std::max(best, std::min({none[0], pair[1], pair[2]}));
            best = std::max(best, std::min({pair[0], none[1], pair[2]}));
            best = std::max(best, std::min({pair[0], pair[1], none[2]}));
            best = std::max(best, std::min(arrow[0], pair[2] - cost()));
            best = std::max(best, std::min(arrow[1], pair[2] - cost()));
            best = std::max(best, std::min(arrow[2], pair[1] - cost()));
            least = std::max(least, best - cost_of_all);
        });
    });
    return least;
}

/// An upper bound of the log-likelihood of the districts on `members`, which contain their
/// children among them. Pairs of spouses are fitted if the fits are `with_pairs`.
double Space::loglik_bound(Set members, bool with_pairs) {
    if (members == 0) return 0.0;
    if (with_pairs && std::popcount(members) == 2) {
        const int a = first(members), b = first(members & (members - 1));
        if (has(spouses_of(a), b)) return pair_loglik(a, b, parents_of(a), parents_of(b));
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

/// The maximum of the log-likelihood of the district a <-> b with parents A and B. It bounds larger
/// districts, so it must not be missed: the best of several starts.
double Space::pair_loglik(int a, int b, Set A, Set B) {
    if (a > b) {
        std::swap(a, b);
        std::swap(A, B);
    }
    if (pairs_.empty()) {
        for (Set set = 0; set < bit(d_ - 2); ++set)
            subset_number_.push_back(
                std::popcount(set) <= options_.max_parents ? static_cast<int>(n_subsets_++) : -1);
        pairs_.assign(n_subsets_ * n_subsets_ * d_ * (d_ - 1) / 2,
                      std::numeric_limits<double>::quiet_NaN());
    }
    const auto number = [&](Set set) {
        return subset_number_[without_position(without_position(set, b), a)];
    };
    double& found =
        pairs_[((b * (b - 1) / 2 + a) * n_subsets_ + number(A)) * n_subsets_ + number(B)];
    if (!std::isnan(found)) return found;
    // Nested parents: the closed form, see peeling.hpp.
    if ((A & ~B) == 0) return found = loglik(a, A) + loglik(b, B | bit(a));
    if ((B & ~A) == 0) return found = loglik(b, B) + loglik(a, A | bit(b));
    Graph graph(d_);
    graph.parents(a)[0] = A;
    graph.parents(b)[0] = B;
    graph.add_bidirected(a, b);
    const FitOptions starts{n_pair_starts, 0, false, false};
    const DistrictFit fit = workspace_.fitter.fit(make_district(graph, {a, b}), starts);
    check(workspace_.fitter.work());
    ++found_.fitted;
    stop_.count_result();
    return found = -0.5 * fit.objective;
}

/// Calls `visit()` for every choice of edges of the pairs from `next` on, with arrows from the first
/// to the second node only. The edges are in built_parents_ and built_spouses_.
template <class Visit>
void Space::each_pattern(const Pairs& pairs, std::size_t next, Visit&& visit) {
    if (next == pairs.size()) {
        visit();
        return;
    }
    const auto [from, to] = pairs[next];
    const Edge arrow = from < to ? Edge::forward : Edge::backward;
    for (const Edge edge : {Edge::none, arrow, Edge::bidirected}) {
        if (!rules_.permits_edge(d_, std::min(from, to), std::max(from, to), edge)) continue;
        if (edge == arrow) parents_of(to) |= bit(from);
        if (edge == Edge::bidirected) {
            spouses_of(from) |= bit(to);
            spouses_of(to) |= bit(from);
        }
        each_pattern(pairs, next + 1, visit);
        parents_of(to) &= ~bit(from);
        spouses_of(from) &= ~bit(to);
        spouses_of(to) &= ~bit(from);
    }
}

/// Calls `visit()` for all parents of v in `outside` that contain `needed` and at most `spare`
/// further nodes; meanwhile `spare` is what is left of them.
template <class Visit>
void Space::each_parents(int v, Set outside, Set needed, int& spare, Visit&& visit) {
    const Set inside = parents_of(v);
    const int most = std::min(options_.max_parents, max_heads() - std::popcount(spouses_of(v)));
    const Set least = needed | (must_be_parents_[v] & ~inside);
    if (least & ~(outside & may_be_parents_[v])) return;
    each_subset(outside & may_be_parents_[v] & ~least, [&](Set more) {
        const int n_more = std::popcount(more | least) - std::popcount(needed);
        if (n_more > spare || std::popcount(inside | least | more) > most) return;
        parents_of(v) = inside | least | more;
        spare -= n_more;
        visit();
        spare += n_more;
    });
    parents_of(v) = inside;
}

/// Calls `visit()` for all parents of the members of the chain from `next` on.
template <class Visit>
void Space::each_family(const Chain& chain, int next, int& spare, Visit&& visit) {
    if (next == chain.size) {
        visit();
        return;
    }
    Set outside = chain.prefix[next];
    for (int i = 0; i < next; ++i) outside &= ~bit(chain.members[i]);
    each_parents(chain.members[next], outside, chain.fresh[next], spare,
                 [&] { each_family(chain, next + 1, spare, visit); });
}

std::optional<Candidate> Space::best_of(const Chain& chain, double least) {
    least = std::max(least, value_alone(chain));
    Set members = 0;
    double upper = 0.0;  // of the value, without the costs of edges beyond the fresh nodes
    Pairs pairs;
    for (int j = 0; j < chain.size; ++j) {
        const int v = chain.members[j];
        members |= bit(v);
        parents_of(v) = spouses_of(v) = 0;
        upper += loglik(v, chain.prefix[j]) - cost() * std::popcount(chain.fresh[j]);
        for (int i = 0; i < j; ++i) pairs.emplace_back(chain.members[i], v);
    }
    std::vector<Candidate> candidates;  // their values are upper bounds
    each_pattern(pairs, 0, [&] {
        if (component(chain.members[0], members) != members || !permits_spouses(members)) return;
        const int n_edges = count_edges_of(built(members));
        int spare = 0;  // edges that a district better than `least` may have beside
        while (spare < chain.size * d_ && upper - cost() * (n_edges + spare + 1) > least) ++spare;
        if (!(upper - cost() * n_edges > least)) return;
        each_family(chain, 0, spare, [&] {
            check(bound_work);
            ++found_.bounded;
            Candidate candidate = built(members);
            const double costs = cost() * count_edges_of(candidate);
            candidate.value = loglik_bound(members, false) - costs;
            if (largest_ > 2 && candidate.value > least)
                candidate.value = std::min(candidate.value, loglik_bound(members, true) - costs);
            if (candidate.value > least) candidates.push_back(candidate);
        });
    });
    std::ranges::stable_sort(candidates, std::greater<>(), &Candidate::value);
    std::optional<Candidate> best;
    for (Candidate& candidate : candidates) {
        if (!(candidate.value > least)) break;
        ++found_.fitted;
        stop_.count_result();
        candidate.value = -0.5 * objective(candidate) - cost() * count_edges_of(candidate);
        if (!(candidate.value > least)) continue;
        least = candidate.value;
        best = candidate;
    }
    return best;
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
    Candidate candidate{members, {}, {}, 0.0};
    int k = 0;
    each(members, [&](int v) {
        candidate.parents[k] = built_parents_[v];
        candidate.spouses[k++] = built_spouses_[v];
    });
    return candidate;
}

}  // namespace bowfree::exact
