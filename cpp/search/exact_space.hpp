// The space of an exact search (exact.hpp): scores of single nodes, and lists of districts with
// bounds of their scores.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "search/exact.hpp"

namespace bowfree::exact {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

using Set = std::uint32_t;  ///< of nodes

inline Set bit(int v) { return Set{1} << v; }
inline bool has(Set set, int v) { return set >> v & 1; }
inline int first(Set set) { return std::countr_zero(set); }

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

/// The graphs of a search, and its result so far. A district is listed in two steps: the edges of
/// the members but the last, c, among each other and from their parents; then those of c. The edges
/// chosen so far are kept in this object, so the functions about `others` are to be called by
/// visitors only.
class Space {
  public:
    Space(Scorer& scorer, const Rules& rules, const ExactOptions& options, ExactResult& found,
          const Stop& stop);

    int d() const { return d_; }
    Set all() const { return bit(d_) - 1; }
    int largest() const { return largest_; }  ///< district
    int max_parents() const { return options_.max_parents; }
    double cost() const { return scorer_.edge_cost(); }  ///< of an edge
    ExactResult& found() { return found_; }
    /// Counts work, and throws `Stopped` at the work limit or when a stop is requested.
    void check(double work) {
        stop_.check();
        workspace_.count(work);
    }
    double work() const { return workspace_.effort.work; }

    /// What the value of a graph must exceed to be better than the known one.
    double threshold() const { return found_.score + options_.tolerance - scorer_.constant(); }
    /// Lowers the bound to that of a value.
    void lower_bound(double value) {
        found_.bound = std::min(found_.bound, value + scorer_.constant());
    }
    void accept(Graph graph);

    /// The log-likelihood of v given the nodes of a set, per observation and without constants.
    double loglik(int v, Set given) const {
        return -0.5 * (determinants_[given | bit(v)] - determinants_[given] + 1.0);
    }
    /// The best value of v with parents in a prefix; `share` with any number of parents.
    double single(int v, Set prefix) const { return single_.at(v, prefix); }
    double share(int v, Set prefix) const { return share_.at(v, prefix); }
    const Table& singles() const { return single_; }
    const Table& shares() const { return share_; }
    /// The parents in `prefix` that attain single(v | prefix).
    Set best_parents(int v, Set prefix) const;
    /// Whether v may be a district by itself.
    bool may_be_alone(int v) const { return must_be_spouses_[v] == 0; }

    /// Calls `visit(others)` for all edges of sets of k nodes that make up `group` together with
    /// their parents.
    void each_group_member(Set group, int k, const std::function<void(Set)>& visit);
    /// The part of a closing that does not depend on c, with the cost of the edges c <-> t.
    double closing_of_others(Set others);
    /// The closing of single nodes with parents in the same prefixes. A district that is no better
    /// can be replaced by them in every order in which c is the last member.
    double closing_of_singles(int c, Set prefix, Set others) const;
    /// Calls `visit(district, closing)` for the districts of `others` and c, whose parents together
    /// with the other members are `prefix`, with a closing above `least`, which may rise meanwhile.
    /// The nodes of `uncovered` are no parents of the others.
    using OnDistrict = std::function<void(const Candidate&, double)>;
    void each_district_with(int c, Set prefix, Set others, Set uncovered, const double& least,
                            const OnDistrict& visit);

  private:
    using Pairs = std::vector<std::pair<int, int>>;

    void fill_determinants();
    void determinants_below(int k, Set set, double value, std::vector<std::vector<double>>& schur);
    void fill_single();
    int max_heads() const;
    double objective(const Candidate& candidate);
    Set& parents_of(int v) { return built_parents_[v]; }
    Set& spouses_of(int v) { return built_spouses_[v]; }
    Set component(int v, Set members) const;
    Set parents_of_all(Set members) const;
    bool has_child_in(int v, Set members) const { return has(parents_of_all(members), v); }
    double loglik_bound(Set members, bool with_pairs);
    double pair_loglik(int a, int b);
    double least_sum(const Table& table, Set members) const;
    int count_components(Set members) const;
    bool is_acyclic(Set members) const;
    template <class Visit>
    void each_pattern(const Pairs& pairs, std::size_t next, Visit&& visit);
    template <class Visit>
    void each_parents(int v, Set outside, Set needed, Visit&& visit);
    template <class Visit>
    void parents_with(int v, Set optional, int most, Set chosen, Visit&& visit);
    template <class Visit>
    void each_family(Set members, Set outside, Set uncovered, Visit&& visit);
    bool permits_spouses(Set members) const;
    Candidate built(Set members) const;

    Scorer& scorer_;
    const Rules& rules_;
    ExactOptions options_;
    ExactResult& found_;
    const Stop& stop_;
    Workspace workspace_;
    int d_, largest_;
    std::vector<Set> may_be_parents_, must_be_parents_, may_be_spouses_, must_be_spouses_;
    std::vector<double> determinants_;  // log determinants of all principal submatrices
    Table single_, share_;
    std::unordered_map<std::uint64_t, double> pairs_;  // log-likelihoods
    std::array<Set, exact_limit> built_parents_{}, built_spouses_{};
    Graph scratch_;
};

/// Writes the edges of a district into a graph.
void write(const Candidate& candidate, Graph& graph);

}  // namespace bowfree::exact
