// Total effects over the members of a class (section 4.1 of the paper), accumulated member by member.
//
// Members of a class share most of their districts, and the coefficients of a district depend only
// on the district and its incoming edges. The fit of each district is therefore cached; a member
// then takes a few look-ups and the sums of products of coefficients along directed paths. Members
// are not stored: they only update minima, maxima, sums and counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/conditions.hpp"
#include "effects/shared_fit.hpp"
#include "graph/graph.hpp"
#include "graph/key.hpp"
#include "model/likelihood.hpp"
#include "stop.hpp"

namespace bowfree {

/// Summaries of the total effects of the members added so far. All matrices are d x d, row-major;
/// [i, j] is the effect of j on i.
struct EffectTally {
    explicit EffectTally(int d);

    std::uint64_t n_members = 0;
    std::vector<double> lower, upper;        ///< smallest and largest effect
    std::vector<double> min_abs, max_abs;    ///< of the absolute effect
    std::vector<double> sum;                 ///< of the effects
    std::vector<double> sum_abs;             ///< of the absolute effects
    std::vector<double> positive, negative;  ///< members with an effect beyond the threshold
};

class EffectCounter {
  public:
    /// `data` are one covariance matrix (divisor n), or several conditions. `path_sign` is 1 for
    /// the total effects (I - B)^-1, or -1 for (I + B)^-1, which the authors' program computed. An
    /// effect is zero if its absolute value, in standard deviations, is at most `zero`. The cache is
    /// cleared when it has `max_districts` fits or takes much memory. `variances` must be true if `variance` is called;
    /// it needs a matrix for each district, about a tenth of the time. `gamma` is the asymptotic
    /// covariance matrix of the entries S_ij, i >= j, row by row, of one sample; without it,
    /// variances are those of normal data. `sizes` are the numbers of columns of the nodes of all
    /// graphs, which sum to d, as for a `Scorer`; empty: one each. Effects are those of columns.
    EffectCounter(JointData data, double path_sign, double zero, std::size_t max_districts,
                  bool variances, std::vector<double> gamma = {}, std::vector<int> sizes = {});

    EffectCounter(const EffectCounter&) = delete;  // the fitter refers to the data
    EffectCounter& operator=(const EffectCounter&) = delete;

    int d() const { return d_; }
    int n_nodes() const { return sizes_.empty() ? d_ : static_cast<int>(sizes_.size()); }
    /// The columns of some nodes.
    std::vector<int> columns(const std::vector<int>& nodes) const;
    const EffectTally& tally() const { return tally_; }
    void reset() { tally_ = EffectTally(d_); }

    /// Sets the stop that ends later calls by `Stopped`. No member is counted in part, and no
    /// interrupted fit is cached. The stop must outlive these calls.
    void use_stop(const Stop& stop);

    /// Members added next are equivalent to `graph`, whose fit may serve all of them; without a
    /// graph, they are not. On more than a few nodes nothing is shared.
    void share_fit(const Graph* graph = nullptr);

    /// Adds a member. Only effects among `nodes` (ascending) are computed, which must be a union of
    /// connected components.
    void add(const Graph& graph, const std::vector<int>& nodes);

    /// The effects of the member added last, d x d; only entries among its nodes are valid.
    const std::vector<double>& effects() const { return E_; }

    /// Whether an effect of j on i of this size is not zero.
    bool exceeds_zero(int i, int j, double size) const { return size * sd_[j] > zero_ * sd_[i]; }

    /// The variance of one of these effects for one observation (divide by n), by the delta method:
    /// dE_ij is the sum of E_ik dB_kl E_lj over the edges l -> k. NaN if a coefficient that it
    /// depends on has no variance (see information.hpp).
    double variance(int i, int j) const;

    /// The sum of F over the districts of a graph, with the same cache of fits.
    double objective(const Graph& graph);

    std::uint64_t n_fits() const { return n_fits_; }
    std::uint64_t n_uncertified() const { return n_uncertified_; }
    /// Work of all fits, the same on every machine: iterations times the cube of the nodes.
    std::uint64_t work() const { return work_; }

  private:
    /// A cached fit. The covariance matrix, see `coefficient_covariance`, is there with `variances`.
    struct Rows : Coefficients {
        std::uint64_t number = 0;  ///< of this fit among all
        double objective = 0.0;
        std::vector<double> slopes;  ///< of these, see `coefficient_slopes`, with `gamma`
        std::vector<int> entries;    ///< the columns of `slopes`, as rows of `gamma`
    };

    /// The fit of a district, from the cache if it is there; valid until `make_room`.
    const Rows& rows_of(const Graph& graph, const std::vector<int>& district);
    void make_room();
    void set_coefficients(const Graph& graph, const std::vector<int>& nodes);
    void add_columns(const Graph& graph, const std::vector<int>& nodes);
    void count_effects(const std::vector<int>& nodes);
    void join(const std::vector<const Rows*>& parts);
    const std::vector<double>& covariance_between(const Rows& a, const Rows& b);

    JointData data_;
    int d_;
    double path_sign_, zero_;
    std::vector<double> gamma_;
    std::vector<int> sizes_, first_;  // the number of columns of each node, and the first of them
    std::vector<double> sd_;          // of the variables, over all conditions
    std::size_t max_districts_;
    bool variances_;
    std::optional<SharedFit> shared_;
    const Stop* stop_ = nullptr;  // of the current call
    DistrictFitter fitter_;
    std::unordered_map<Key, Rows, KeyHash> known_;
    std::unordered_map<std::uint64_t, std::vector<double>> between_;  // covariances, by two fits
    std::size_t n_numbers_ = 0;                                       // in both
    std::uint64_t n_fits_ = 0, n_uncertified_ = 0, work_ = 0;
    EffectTally tally_;
    // Of the member added last: independent groups of coefficients, and B and E, d x d.
    std::vector<const Coefficients*> blocks_;
    Coefficients joint_;  // one of these, perhaps
    std::vector<double> B_, E_;
    // Scratch of `variance`: the coefficients with a parent that depends on the node `from_`.
    struct Reached {
        const Coefficients* block;
        std::size_t at;  // in the block
        int child;
        double effect;  // of `from_` on the parent
    };
    mutable int from_ = -1;
    mutable std::vector<Reached> reached_;
    mutable std::vector<std::pair<std::size_t, double>> slope_;
};

}  // namespace bowfree
