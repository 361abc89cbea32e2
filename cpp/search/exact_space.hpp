// The space of an exact search (exact.hpp): scores of single nodes, and lists of districts with
// bounds of their scores.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
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

/// The set of the other nodes, numbered without v.
inline Set without_position(Set set, int v) {
    const Set low = bit(v) - 1;
    return (set & low) | (set >> 1 & ~low);
}

/// A district with its edges: parents (inside the district, too) and spouses of its members.
struct Candidate {
    Set members = 0;
    std::array<Set, exact_district_limit> parents{}, spouses{};  ///< by member, ascending
    double value = 0.0;

    int size() const { return std::popcount(members); }
};

/// The members of a district in an order of all nodes. `fresh[i]` are the nodes that may be parents
/// of members[i] but not of earlier members, and `prefix[i]` all that may be its parents: with the
/// fresh nodes of the earlier members, and these members.
struct Chain {
    int size = 0;
    std::array<int, exact_district_limit> members{};
    std::array<Set, exact_district_limit> fresh{}, prefix{};
};

/// A number for every node v and every set of other nodes.
class Table {
  public:
    Table(int d, double value) : d_(d), values_(static_cast<std::size_t>(d) << (d - 1), value) {}
    double& at(int v, Set set) { return values_[index(v, set)]; }
    double at(int v, Set set) const { return values_[index(v, set)]; }

    /// at(v, P) becomes the largest number of the subsets of P.
    void spread_to_supersets() {
        for (int v = 0; v < d_; ++v)
            for (int u = 0; u < d_; ++u) {
                if (u == v) continue;
                for (Set set = 0; set < bit(d_); ++set)
                    if (has(set, u) && !has(set, v))
                        at(v, set) = std::max(at(v, set), at(v, set ^ bit(u)));
            }
    }

  private:
    std::size_t index(int v, Set set) const {
        return (static_cast<std::size_t>(v) << (d_ - 1)) | without_position(set, v);
    }

    int d_;
    std::vector<double> values_;
};

/// The graphs of a search, and its result so far.
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
    /// The best value of v with parents in a prefix.
    double single(int v, Set prefix) const { return single_.at(v, prefix); }
    const Table& singles() const { return single_; }
    /// The parents in `prefix` that attain single(v | prefix).
    Set best_parents(int v, Set prefix) const;
    /// Whether v may be a district by itself.
    bool may_be_alone(int v) const { return must_be_spouses_[v] == 0; }

    /// Whether the nodes can be a district, judging by the spouses that they may and must have.
    bool may_be_district(Set members) const;

    /// An upper bound of the values of the districts of a chain: those whose parents are its fresh
    /// nodes, each of which is a parent of the first member that it can be a parent of. -infinity
    /// if there are none, or none better than the members as single nodes.
    double bound_of(const Chain& chain);
    /// The best of these districts, if its value is above `least` and that of the single nodes.
    std::optional<Candidate> best_of(const Chain& chain, double least);

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
    double value_alone(const Chain& chain) const;
    double bound_of_pair(const Chain& chain, double least) const;
    double bound_of_triple(const Chain& chain, double least);
    double loglik_bound(Set members, bool with_pairs);
    double pair_loglik(int a, int b, Set A, Set B);
    template <class Visit>
    void each_pattern(const Pairs& pairs, std::size_t next, Visit&& visit);
    template <class Visit>
    void each_parents(int v, Set outside, Set needed, int& spare, Visit&& visit);
    template <class Visit>
    void each_family(const Chain& chain, int next, int& spare, Visit&& visit);
    bool permits_spouses(Set members) const;
    Candidate built(Set members) const;

    Scorer& scorer_;
    const Rules& rules_;
    ExactOptions options_;
    ExactResult& found_;
    const Stop& stop_;
    Workspace workspace_;
    int d_, largest_;
    int most_;  // parents of a member of a district
    std::vector<Set> may_be_parents_, must_be_parents_, may_be_spouses_, must_be_spouses_;
    std::vector<double> determinants_;  // log determinants of all principal submatrices
    Table single_;
    std::vector<int> subset_number_;  // of sets of at most most_ nodes, and -1
    std::size_t n_subsets_ = 0;
    std::vector<double> pairs_;  // log-likelihoods of pairs by the numbers of their parents, or NaN
    std::array<Set, exact_limit> built_parents_{}, built_spouses_{};
    Graph scratch_;
};

/// Writes the edges of a district into a graph.
void write(const Candidate& candidate, Graph& graph);

}  // namespace bowfree::exact
