#include "search/exact.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/district.hpp"
#include "graph/key.hpp"
#include "rng.hpp"

namespace bowfree {

namespace {

using Set = std::uint32_t;  ///< of nodes

constexpr double infinity = std::numeric_limits<double>::infinity();

// Starts of the fits that bound larger districts.
constexpr int n_pair_starts = 3;

Set bit(int v) { return Set{1} << v; }
bool has(Set set, int v) { return set >> v & 1; }
int first(Set set) { return std::countr_zero(set); }

/// Calls `visit(v)` for every node of the set.
template <class Visit>
void each(Set set, Visit&& visit) {
    for (; set != 0; set &= set - 1) visit(first(set));
}

/// Calls `visit(subset)` for every subset.
template <class Visit>
void each_subset(Set set, Visit&& visit) {
    for (Set subset = set;; subset = (subset - 1) & set) {
        visit(subset);
        if (subset == 0) break;
    }
}

/// A district with its edges: parents (inside the district, too) and spouses of its members.
struct Candidate {
    Set members = 0, parents_of_all = 0;
    std::array<Set, exact_district_limit> parents{}, spouses{};
    double value = 0.0;

    int size() const { return std::popcount(members); }
};

/// A number for every node v and every set of other nodes.
class Table {
  public:
    Table(int d, double value) : d_(d), values_(static_cast<std::size_t>(d) << (d - 1), value) {}
    double& at(int v, Set set) { return values_[index(v, set)]; }
    double at(int v, Set set) const { return values_[index(v, set)]; }

    /// at(v, P) becomes the largest number of the subsets of P.
    void spread_to_supersets() {
        spread([this](int v, Set with, Set without) {
            at(v, with) = std::max(at(v, with), at(v, without));
        });
    }
    /// at(v, P) becomes the largest number of the supersets of P.
    void spread_to_subsets() {
        spread([this](int v, Set with, Set without) {
            at(v, without) = std::max(at(v, with), at(v, without));
        });
    }

  private:
    std::size_t index(int v, Set set) const {
        const Set low = bit(v) - 1;
        return (static_cast<std::size_t>(v) << (d_ - 1)) | (set & low) | (set >> 1 & ~low);
    }
    template <class Merge>
    void spread(Merge&& merge) {
        for (int v = 0; v < d_; ++v)
            for (int u = 0; u < d_; ++u) {
                if (u == v) continue;
                for (Set set = 0; set < bit(d_); ++set)
                    if (has(set, u) && !has(set, v)) merge(v, set, set ^ bit(u));
            }
    }

    int d_;
    std::vector<double> values_;
};

class ExactSearch {
  public:
    ExactSearch(Scorer& scorer, const Rules& rules, const ExactOptions& options, double score,
                const Stop& stop)
        : scorer_(scorer),
          rules_(rules),
          options_(options),
          stop_(stop),
          workspace_(scorer, stop),
          d_(scorer.d()),
          all_(bit(d_) - 1),
          cost_(scorer.edge_cost()),
          single_(d_, -infinity),
          share_(options.max_district > 1 ? d_ : 1, -infinity),
          rest_(std::size_t{1} << d_),
          scratch_(d_) {
        found_.score = score;
        found_.bound = infinity;
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
        largest_ = std::min(options.max_district, d_);
        if (rules.graph_class == GraphClass::dag) largest_ = 1;
    }

    ExactResult run() {
        try {
            fill_single();
            if (largest_ == 1) {
                search_dags();
            } else {
                bound_cells();
                open_cells();
                search_states();
            }
            found_.proved = true;
            found_.bound = found_.score;
        } catch (const Stopped&) {
            found_.bound = std::max(found_.bound, found_.score);
        }
        return std::move(found_);
    }

  private:
    double threshold() const { return found_.score + options_.tolerance - scorer_.constant(); }

    int max_heads() const {
        return rules_.max_in_degree == Rules::unlimited ? d_ : rules_.max_in_degree;
    }

    // --- single nodes ---

    /// The log determinants of all principal submatrices, from the Schur complement of a subset of
    /// the first nodes in the others.
    void fill_determinants() {
        const auto& S = scorer_.data().conditions.front().S;
        determinants_.assign(std::size_t{1} << d_, 0.0);
        std::vector<std::vector<double>> schur(d_ + 1);
        for (int k = 0; k <= d_; ++k) schur[k].resize(static_cast<std::size_t>(d_ - k) * (d_ - k));
        schur[0] = S;
        determinants_below(0, 0, 0.0, schur);
    }
    void determinants_below(int k, Set set, double value, std::vector<std::vector<double>>& schur) {
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
                next[(i - 1) * (m - 1) + j - 1] =
                    here[i * m + j] - here[i * m] * here[j * m] / pivot;
        determinants_below(k + 1, set | bit(k), value + std::log(pivot), schur);
    }

    /// The log-likelihood of v given the nodes of a set, per observation and without constants.
    double loglik(int v, Set given) const {
        return -0.5 * (determinants_[given | bit(v)] - determinants_[given] + 1.0);
    }

    void fill_single() {
        const bool observational = scorer_.data().is_observational();
        assert(observational || largest_ == 1);
        if (observational) fill_determinants();
        const int most = std::min(options_.max_parents, max_heads());
        for (int v = 0; v < d_; ++v) {
            const Set others = all_ ^ bit(v);
            each_subset(others & may_be_parents_[v], [&](Set parents) {
                const bool within = std::popcount(parents) <= most;
                if ((!within && largest_ == 1) || (must_be_parents_[v] & ~parents)) return;
                stop_.check();
                double value = 0.0;
                if (observational) {
                    value = loglik(v, parents);
                } else {
                    Candidate node{bit(v), parents, {parents}, {}, 0.0};
                    value = -0.5 * objective(node);
                }
                value -= cost_ * std::popcount(parents);
                if (within) single_.at(v, parents) = value;
                if (largest_ > 1) share_.at(v, parents) = value;
            });
        }
        single_.spread_to_supersets();
        if (largest_ > 1) share_.spread_to_supersets();
    }

    /// Whether v may be a district by itself.
    bool may_be_alone(int v) const { return must_be_spouses_[v] == 0; }

    /// The parents in `prefix` that attain single(v | prefix).
    Set best_parents(int v, Set prefix) const {
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

    void search_dags() {
        fill_rest(single_, rest_);
        found_.states = static_cast<std::int64_t>(rest_.size());
        if (!(rest_[0] > threshold())) return;
        Graph graph(d_);
        for (Set placed = 0; placed != all_;) {
            int best = -1;
            for (int v = 0; v < d_; ++v)
                if (!has(placed, v) && (best < 0 || through(v, placed) > through(best, placed)))
                    best = v;
            each(best_parents(best, placed), [&](int p) { graph.add_directed(p, best); });
            placed |= bit(best);
        }
        accept(std::move(graph));
    }
    double through(int v, Set placed) const {
        return single_.at(v, placed) + rest_[placed | bit(v)];
    }

    /// rest[P]: the best sum of table.at(v, prefix) over the orders of the nodes outside P.
    void fill_rest(const Table& table, std::vector<double>& rest) const {
        rest[all_] = 0.0;
        for (Set placed = all_; placed-- > 0;) {
            double best = -infinity;
            each(all_ & ~placed, [&](int v) {
                best = std::max(best, table.at(v, placed) + rest[placed | bit(v)]);
            });
            rest[placed] = best;
        }
    }
    void accept(Graph graph) {
        const double score = scorer_.score(graph, workspace_);
        if (found_.graph && !(score > found_.score)) return;
        found_.score = score;
        found_.graph = std::move(graph);
    }

    // --- districts ---

    static void write(const Candidate& candidate, Graph& graph) {
        int k = 0;
        each(candidate.members, [&](int v) {
            graph.parents(v)[0] = candidate.parents[k];
            graph.spouses(v)[0] = candidate.spouses[k];
            ++k;
        });
    }

    /// F of the district.
    double objective(const Candidate& candidate) {
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

    static int count_edges_of(const Candidate& candidate) {
        int heads = 0, arrows = 0;
        for (int k = 0; k < candidate.size(); ++k) {
            arrows += std::popcount(candidate.parents[k]);
            heads += std::popcount(candidate.spouses[k]);
        }
        return arrows + heads / 2;
    }

    /// The parents and spouses of a node of a candidate that is being built.
    Set& parents_of(int v) { return built_parents_[v]; }
    Set& spouses_of(int v) { return built_spouses_[v]; }

    /// The members that are connected with v by bidirected edges within `members`.
    Set component(int v, Set members) const {
        Set found = bit(v);
        for (Set fresh = found; fresh != 0;) {
            Set next = 0;
            each(fresh, [&](int u) { next |= built_spouses_[u]; });
            fresh = next & members & ~found;
            found |= fresh;
        }
        return found;
    }
    Set parents_of_all(Set members) const {
        Set found = 0;
        each(members, [&](int v) { found |= built_parents_[v]; });
        return found;
    }
    bool has_child_in(int v, Set members) const { return has(parents_of_all(members), v); }

    /// An upper bound of the log-likelihood of the districts on `members`, which contain their
    /// children among them. Pairs of spouses are fitted if the fits are `with_pairs`.
    double loglik_bound(Set members, bool with_pairs) {
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
    double pair_loglik(int a, int b) {
        const Set A = parents_of(a), B = parents_of(b);
        // Nested parents: the closed form, see peeling.hpp.
        if ((A & ~B) == 0) return loglik(a, A) + loglik(b, B | bit(a));
        if ((B & ~A) == 0) return loglik(b, B) + loglik(a, A | bit(b));
        const auto [entry, fresh] = pairs_.try_emplace(pair_key(a, A, b, B), 0.0);
        if (!fresh) return entry->second;
        stop_.check();
        Graph graph(d_);
        graph.parents(a)[0] = A;
        graph.parents(b)[0] = B;
        graph.add_bidirected(a, b);
        const FitOptions starts{n_pair_starts, 0, false, false};
        const DistrictFit fit = workspace_.fitter.fit(make_district(graph, {a, b}), starts);
        ++found_.fitted;
        return entry->second = -0.5 * fit.objective;
    }
    std::uint64_t pair_key(int a, Set A, int b, Set B) const {
        return ((static_cast<std::uint64_t>(a * d_ + b) << d_) | A) << d_ | B;
    }

    /// A lower bound of the sum of table.at(t, P_t) over the members, whatever the order.
    double least_sum(const Table& table, Set members) const {
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

    int count_components(Set members) const {
        int n = 0;
        for (Set rest = members; rest != 0; ++n) rest &= ~component(first(rest), members);
        return n;
    }

    using Pairs = std::vector<std::pair<int, int>>;

    /// Calls `visit()` for every choice of edges of the pairs from `next` on. The edges are in
    /// built_parents_ and built_spouses_.
    template <class Visit>
    void each_pattern(const Pairs& pairs, std::size_t next, Visit&& visit) {
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
    bool is_acyclic(Set members) const {
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
    void each_parents(int v, Set outside, Set needed, Visit&& visit) {
        const Set inside = parents_of(v);
        const int most =
            std::min(options_.max_parents, max_heads() - std::popcount(spouses_of(v))) -
            std::popcount(inside);
        needed |= must_be_parents_[v] & ~inside;
        if ((needed & ~(outside & may_be_parents_[v])) || std::popcount(needed) > most) return;
        parents_with(v, outside & may_be_parents_[v] & ~needed, most - std::popcount(needed),
                     inside | needed, visit);
        parents_of(v) = inside;
    }
    template <class Visit>
    void parents_with(int v, Set optional, int most, Set chosen, Visit&& visit) {
        parents_of(v) = chosen;
        visit();
        if (most == 0) return;
        for (; optional != 0; optional &= optional - 1)
            parents_with(v, optional & (optional - 1), most - 1,
                         chosen | (optional & (~optional + 1)), visit);
    }

    /// Calls `visit()` for all parents in `outside` of the nodes of `members`, so that every node
    /// of `uncovered` is one of them.
    template <class Visit>
    void each_family(Set members, Set outside, Set uncovered, Visit&& visit) {
        const int v = first(members);
        const Set rest = members & (members - 1);
        each_parents(v, outside, rest == 0 ? uncovered : 0, [&] {
            if (rest == 0)
                visit();
            else
                each_family(rest, outside, uncovered & ~parents_of(v), visit);
        });
    }

    /// Calls `visit(others)` for all edges of sets of k nodes that make up `group` together with
    /// their parents.
    template <class Visit>
    void each_group_member(Set group, int k, Visit&& visit) {
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
                if (is_acyclic(others))
                    each_family(others, outside, outside, [&] { visit(others); });
            });
        });
    }

    // --- cells ---

    struct Cell {
        int c, size;  // the node that closes, and the number of members
        Set prefix;
        double bound;    // of the closings of all its districts
        double closing;  // the same, or the largest closing above single(c | prefix)
        bool open = false;
    };

    /// The part of a closing that does not depend on c, with the cost of the edges c <-> t.
    double closing_of_others(Set others) {
        int arrows = 0, heads = 0;
        each(others, [&](int v) {
            arrows += std::popcount(parents_of(v));
            heads += std::popcount(spouses_of(v) & others);
        });
        const int n_edges = arrows + heads / 2 + count_components(others);
        return loglik_bound(others, true) - least_sum(share_, others) - cost_ * n_edges;
    }

    /// Bounds of all cells, from the other members alone.
    void bound_cells() {
        group_best_.assign(largest_, std::vector<double>(std::size_t{1} << d_, -infinity));
        for (int k = 1; k < largest_; ++k) {
            auto& group_best = group_best_[k];
            for (Set group = 1; group <= all_; ++group)
                each_group_member(group, k, [&](Set others) {
                    stop_.check();
                    group_best[group] = std::max(group_best[group], closing_of_others(others));
                });
            for (int c = 0; c < d_; ++c)
                each_subset(all_ ^ bit(c), [&](Set prefix) {
                    stop_.check();
                    double best = -infinity;
                    each_subset(prefix, [&](Set group) {
                        const int own = std::popcount(prefix & ~group);
                        if (own > options_.max_parents) return;
                        best = std::max(best, group_best[group] - cost_ * own);
                    });
                    best += loglik(c, prefix);
                    if (best > -infinity) cells_.push_back({c, k + 1, prefix, best, best});
                });
        }
    }

    /// The relaxation from the bounds of the cells. Beside the prefix it counts the nodes that no
    /// district has claimed so far: a closing of size k claims k - 1 of them.
    void relax() {
        closing_.assign(largest_ + 1, Table(d_, -infinity));
        closing_[1] = share_;
        for (const Cell& cell : cells_) {
            double& value = closing_[cell.size].at(cell.c, cell.prefix);
            value = std::max(value, cell.closing);
        }
        for (int k = 2; k <= largest_; ++k) closing_[k].spread_to_supersets();
        const std::size_t width = d_ + 1;
        std::vector<double> rest(width << d_, -infinity), before(width << d_, -infinity);
        for (int u = 0; u <= d_; ++u) rest[all_ * width + u] = 0.0;
        before[0] = 0.0;
        const auto each_step = [&](Set placed, int u, auto&& visit) {
            each(all_ & ~placed, [&](int v) {
                for (int k = 1; k <= std::min(largest_, u + 1); ++k) {
                    const int left = k == 1 ? u + 1 : u - k + 1;
                    visit((placed | bit(v)) * width + left, closing_[k].at(v, placed));
                }
            });
        };
        for (Set placed = all_; placed-- > 0;)
            for (int u = 0; u <= std::popcount(placed); ++u) {
                double& best = rest[placed * width + u];
                each_step(placed, u, [&](std::size_t next, double value) {
                    best = std::max(best, value + rest[next]);
                });
            }
        for (Set placed = 0; placed < all_; ++placed)
            for (int u = 0; u <= std::popcount(placed); ++u) {
                const double here = before[placed * width + u];
                each_step(placed, u, [&](std::size_t next, double value) {
                    before[next] = std::max(before[next], here + value);
                });
            }
        passing_.assign(largest_ + 1, Table(d_, -infinity));
        for (int k = 2; k <= largest_; ++k) {
            for (int c = 0; c < d_; ++c)
                each_subset(all_ ^ bit(c), [&](Set prefix) {
                    double& best = passing_[k].at(c, prefix);
                    for (int u = k - 1; u <= std::popcount(prefix); ++u)
                        best = std::max(best, before[prefix * width + u] +
                                                  rest[(prefix | bit(c)) * width + u - k + 1]);
                });
            passing_[k].spread_to_subsets();
        }
        found_.bound = std::min(found_.bound, rest[0] + scorer_.constant());
    }

    /// What a closing in the cell must exceed to be part of a better graph.
    double needed(const Cell& cell) const {
        return threshold() - passing_[cell.size].at(cell.c, cell.prefix);
    }

    /// Finds the largest closing of every cell that matters, which makes the relaxation tight, and
    /// then lists all districts that may be part of a better graph.
    void open_cells() {
        for (;;) {
            relax();
            std::erase_if(cells_, [&](const Cell& cell) { return !(cell.bound > needed(cell)); });
            std::vector<Cell*> closed;
            for (Cell& cell : cells_)
                if (!cell.open && cell.bound > share_.at(cell.c, cell.prefix))
                    closed.push_back(&cell);
            if (closed.empty()) break;
            // Those with the best bounds first, then bound again.
            const auto excess = [&](const Cell* cell) { return cell->bound - needed(*cell); };
            std::ranges::sort(closed,
                              [&](const Cell* a, const Cell* b) { return excess(a) > excess(b); });
            closed.resize((closed.size() + 15) / 16);
            for (Cell* cell : closed) {
                ++found_.cells;
                const double least = std::max(needed(*cell), share_.at(cell->c, cell->prefix));
                double best = least;
                each_district(*cell, best, [&](const Candidate&, double closing) {
                    best = std::max(best, closing);
                });
                cell->open = true;
                cell->closing = best > least ? best : -infinity;
            }
        }
        for (Cell& cell : cells_) {
            const double least = needed(cell);
            each_district(cell, least, [&](const Candidate& candidate, double closing) {
                kept_.push_back({candidate, cell.c, cell.prefix, closing});
            });
        }
    }

    struct Kept {
        Candidate candidate;
        int c;
        Set prefix;
        double closing;
    };

    /// Calls `visit(district, closing)` for the districts of the cell with a closing above `least`,
    /// which may rise meanwhile.
    template <class Visit>
    void each_district(const Cell& cell, const double& least, Visit&& visit) {
        const double own = loglik(cell.c, cell.prefix);
        each_subset(cell.prefix, [&](Set group) {
            const Set uncovered = cell.prefix & ~group;
            const int n_uncovered = std::popcount(uncovered);
            if (n_uncovered > options_.max_parents) return;
            const double base = own - cost_ * n_uncovered;
            if (!(group_best_[cell.size - 1][group] + base > least)) return;
            each_group_member(group, cell.size - 1, [&](Set others) {
                stop_.check();
                const double bound = closing_of_others(others) + base;
                if (bound > least && bound > closing_of_singles(cell, others))
                    each_district_with(cell, others, uncovered, least, visit);
            });
        });
    }

    /// The closing of single nodes with parents in the same prefixes. A district that is no better
    /// can be replaced by them in every order in which c is the last member.
    double closing_of_singles(const Cell& cell, Set others) const {
        bool alone = may_be_alone(cell.c);
        each(others, [&](int v) { alone &= may_be_alone(v); });
        if (!alone) return -infinity;
        return least_sum(single_, others) + single_.at(cell.c, cell.prefix) -
               least_sum(share_, others);
    }

    /// The same for given other members and their edges.
    template <class Visit>
    void each_district_with(const Cell& cell, Set others, Set uncovered, const double& least,
                            Visit&& visit) {
        const int c = cell.c;
        const Set members = others | bit(c), outside = cell.prefix & ~others;
        const double shares = least_sum(share_, others);
        const double singles = closing_of_singles(cell, others);
        const auto enough = [&](double closing) { return closing > least && closing > singles; };
        Pairs pairs;
        each(others, [&](int t) { pairs.emplace_back(c, t); });
        parents_of(c) = spouses_of(c) = 0;
        each_pattern(pairs, 0, [&] {
            if (has_child_in(c, others) || component(c, members) != members) return;
            if (!permits_spouses(members)) return;
            each_parents(c, outside, uncovered, [&] {
                ++found_.bounded;
                Candidate candidate = built(members);
                const double costs = cost_ * count_edges_of(candidate) + shares;
                if (!enough(loglik_bound(members, false) - costs)) return;
                if (largest_ > 2 && !enough(loglik_bound(members, true) - costs)) return;
                ++found_.fitted;
                const double closing = -0.5 * objective(candidate) - costs;
                candidate.value = closing + shares;
                if (enough(closing)) visit(candidate, closing);
            });
        });
    }
    /// Whether the members have their required spouses, and not too many arrowheads.
    bool permits_spouses(Set members) const {
        bool permitted = true;
        each(members, [&](int v) {
            const int heads = std::popcount(built_parents_[v]) + std::popcount(built_spouses_[v]);
            permitted &= heads <= max_heads() && (must_be_spouses_[v] & ~built_spouses_[v]) == 0;
        });
        return permitted;
    }

    Candidate built(Set members) const {
        Candidate candidate{members, parents_of_all(members), {}, {}, 0.0};
        int k = 0;
        each(members, [&](int v) {
            candidate.parents[k] = built_parents_[v];
            candidate.spouses[k++] = built_spouses_[v];
        });
        return candidate;
    }

    // --- A* search ---

    /// A prefix of an order: the nodes placed, and the other members of the districts begun, which
    /// wait for their parents. The values of these districts are counted in full.
    struct State {
        Set placed = 0, pending = 0;
        std::array<Set, exact_limit> missing{};  // by pending node: its parents not placed
        double value = 0.0, bound = 0.0;
        int before = -1, node = -1, candidate = -1;  // the previous state, and what was added

        bool same_as(const State& other) const {
            return placed == other.placed && pending == other.pending && missing == other.missing;
        }
        std::size_t hash() const {
            std::uint64_t code = scatter(static_cast<std::uint64_t>(placed) << 32 | pending);
            each(pending, [&](int v) { code = scatter(code ^ missing[v]); });
            return code;
        }
    };

    /// The kept districts without those that contain the edges of a better one.
    std::vector<Candidate> undominated() const {
        std::vector<Candidate> candidates, found;
        for (const Kept& entry : kept_) candidates.push_back(entry.candidate);
        std::ranges::sort(candidates, [&](const auto& a, const auto& b) {
            return std::tie(a.members, b.value, a.parents, a.spouses) <
                   std::tie(b.members, a.value, b.parents, b.spouses);
        });
        std::size_t group = 0;
        for (const Candidate& candidate : candidates) {
            while (group < found.size() && found[group].members != candidate.members) ++group;
            const bool dominated =
                std::any_of(found.begin() + group, found.end(), [&](const Candidate& better) {
                    for (int k = 0; k < candidate.size(); ++k)
                        if ((better.parents[k] & ~candidate.parents[k]) ||
                            (better.spouses[k] & ~candidate.spouses[k]))
                            return false;
                    return true;
                });
            if (!dominated) found.push_back(candidate);
        }
        return found;
    }

    void search_states() {
        const std::vector<Candidate> candidates = undominated();
        found_.kept = static_cast<std::int64_t>(candidates.size());
        add_state({}, nullptr);
        while (!queue_.empty()) {
            stop_.check();
            const auto [value, index] = queue_.top();
            found_.bound = std::min(found_.bound, value + scorer_.constant());
            if (!(value > threshold())) break;
            queue_.pop();
            const State state = states_[index];
            if (state.value + state.bound > value) continue;  // reached on a better way since
            if (state.placed == all_) {
                accept(graph_of(index, candidates));
                continue;
            }
            State next = state;
            next.before = index;
            next.candidate = -1;
            each(all_ & ~state.placed & ~state.pending, [&](int v) {
                if (!may_be_alone(v) || single_.at(v, state.placed) == -infinity) return;
                next.node = v;
                next.value = state.value + single_.at(v, state.placed);
                next.placed = state.placed | bit(v);
                add_state(next, nullptr);
            });
            next.node = -1;
            next.placed = state.placed;
            for (int k = 0; k < static_cast<int>(candidates.size()); ++k) {
                const Candidate& candidate = candidates[k];
                if (candidate.members & (state.placed | state.pending)) continue;
                next.candidate = k;
                next.value = state.value + candidate.value;
                add_state(next, &candidate);
            }
        }
    }

    /// Adds a state, at the beginning of a district if one is given, after placing all pending
    /// nodes whose parents are placed: their parents are chosen, so there is nothing to wait for.
    void add_state(State state, const Candidate* begun) {
        const Set before = state.placed;
        if (begun != nullptr) {
            state.pending |= begun->members;
            int k = 0;
            each(begun->members, [&](int v) { state.missing[v] = begun->parents[k++]; });
        }
        for (Set ready = all_; ready != 0;) {
            ready = 0;
            each(state.pending, [&](int v) {
                state.missing[v] &= ~state.placed;
                if (state.missing[v] == 0) ready |= bit(v);
            });
            state.placed |= ready;
            state.pending &= ~ready;
        }
        if (begun != nullptr && (state.placed & ~before & begun->members) == 0) return;
        const std::size_t hash = state.hash();
        auto [entry, end] = known_.equal_range(hash);
        for (; entry != end; ++entry) {
            State& known = states_[entry->second];
            if (!known.same_as(state)) continue;
            if (!(state.value > known.value)) return;
            state.bound = known.bound;
            known = state;
            if (state.value + state.bound > threshold())
                queue_.emplace(state.value + state.bound, entry->second);
            return;
        }
        state.bound = completion(state);
        known_.emplace(hash, static_cast<int>(states_.size()));
        states_.push_back(state);
        found_.states = static_cast<std::int64_t>(states_.size());
        if (state.value + state.bound > threshold())
            queue_.emplace(state.value + state.bound, static_cast<int>(states_.size()) - 1);
    }

    /// An upper bound of the value of the nodes that are neither placed nor pending: the relaxation
    /// with the districts that can still begin.
    double completion(const State& state) {
        const Set open = all_ & ~state.placed, busy = state.placed | state.pending;
        const int m = std::popcount(open);
        const std::size_t size = std::size_t{1} << m;
        std::array<int, exact_limit> nodes{}, local{};
        int k = 0;
        each(open, [&](int v) {
            local[v] = k;
            nodes[k++] = v;
        });
        prefixes_.resize(size);
        prefixes_[0] = state.placed;
        for (std::size_t x = 1; x < size; ++x)
            prefixes_[x] = prefixes_[x & (x - 1)] | bit(nodes[std::countr_zero(x)]);
        // values_[k - 1]: what node i counts at prefix x if it closes a district of k nodes.
        values_.resize(largest_);
        for (auto& values : values_) values.assign(size * m, -infinity);
        for (int i = 0; i < m; ++i)
            if (!has(state.pending, nodes[i]))
                for (std::size_t x = 0; x < size; ++x)
                    if (!(x >> i & 1)) values_[0][i * size + x] = share_.at(nodes[i], prefixes_[x]);
        std::array<Set, exact_district_limit> spread{};
        for (const Kept& entry : kept_) {
            if (entry.candidate.members & busy) continue;
            std::size_t x = 0;
            each(entry.prefix & open, [&](int v) { x |= std::size_t{1} << local[v]; });
            const int k = entry.candidate.size() - 1;
            double& value = values_[k][local[entry.c] * size + x];
            value = std::max(value, entry.closing);
            spread[k] |= bit(local[entry.c]);
        }
        for (int k = 1; k < largest_; ++k)
            each(spread[k], [&](int i) {
                double* values = &values_[k][i * size];
                for (int j = 0; j < m; ++j)
                    if (j != i)
                        for (std::size_t x = 0; x < size; ++x)
                            if ((x >> j & 1) && !(x >> i & 1))
                                values[x] = std::max(values[x], values[x ^ (std::size_t{1} << j)]);
            });
        const std::size_t width = m + 1;  // as in `relax`
        completions_.assign(size * width, -infinity);
        std::fill_n(completions_.end() - static_cast<std::ptrdiff_t>(width), width, 0.0);
        for (std::size_t x = size - 1; x-- > 0;)
            for (int u = 0; u <= std::popcount(x); ++u) {
                double best = -infinity;
                for (int i = 0; i < m; ++i) {
                    if (x >> i & 1) continue;
                    const int v = nodes[i];
                    const double* rest = &completions_[(x | std::size_t{1} << i) * width];
                    if (has(state.pending, v)) {
                        if ((state.missing[v] & ~prefixes_[x]) == 0) best = std::max(best, rest[u]);
                        continue;
                    }
                    best = std::max(best, values_[0][i * size + x] + rest[u + 1]);
                    for (int k = 1; k < largest_ && k <= u; ++k)
                        best = std::max(best, values_[k][i * size + x] + rest[u - k]);
                }
                completions_[x * width + u] = best;
            }
        return completions_[0];
    }

    Graph graph_of(int index, const std::vector<Candidate>& candidates) const {
        Graph graph(d_);
        for (; index > 0; index = states_[index].before) {
            const State& state = states_[index];
            if (state.candidate >= 0) write(candidates[state.candidate], graph);
            if (state.node >= 0)
                graph.parents(state.node)[0] =
                    best_parents(state.node, states_[state.before].placed);
        }
        return graph;
    }

    Scorer& scorer_;
    const Rules& rules_;
    ExactOptions options_;
    const Stop& stop_;
    Workspace workspace_;
    int d_;
    Set all_;
    double cost_;
    int largest_ = 1;
    std::vector<Set> may_be_parents_, must_be_parents_, may_be_spouses_, must_be_spouses_;
    std::vector<double> determinants_;
    Table single_, share_;
    std::vector<Table> closing_, passing_;  // by the number of members
    std::vector<double> rest_;
    std::vector<Cell> cells_;
    std::vector<Kept> kept_;
    std::vector<std::vector<double>>
        group_best_;  // by their number and by the set of other members and their parents
    std::unordered_map<std::uint64_t, double> pairs_;
    std::vector<Set> prefixes_;
    std::vector<std::vector<double>> values_;
    std::vector<double> completions_;
    std::vector<State> states_;
    std::unordered_multimap<std::size_t, int> known_;  // states by hash
    std::priority_queue<std::pair<double, int>> queue_;
    std::array<Set, exact_limit> built_parents_{}, built_spouses_{};
    Graph scratch_;
    ExactResult found_;
};

}  // namespace

ExactResult exact_search(Scorer& scorer, const Rules& rules, const ExactOptions& options,
                         double score, const Stop& stop) {
    return ExactSearch(scorer, rules, options, score, stop).run();
}

}  // namespace bowfree
