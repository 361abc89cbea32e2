// The data of a district in standardized units and canonical order.
//
// The score of a graph must not depend on the units or the order of the columns. So a district is
// fitted to covariances that are transformed in three steps:
//
//   gather       conditions that inform about the district, pooled into groups (conditions.hpp);
//   standardize  variances of one, members and parents in canonical order (canonical_order.hpp);
//   round_off    if necessary, correlations without their last bits, which depend on units.
//
// Every quantity that is compared with a threshold is then free of units. `sd` and `original` serve
// to transform estimates back.
#pragma once

#include <cstddef>
#include <vector>

#include "data/conditions.hpp"
#include "graph/district.hpp"
#include "model/canonical_order.hpp"

namespace bowfree {

/// One district after another of the same data; buffers are kept between districts.
class StandardizedDistrict {
  public:
    /// `S` is the d x d row-major covariance matrix of all variables; it must outlive this object.
    StandardizedDistrict(const double* S, int d) : cov_(S), d_(d) {}

    /// `conditions` must outlive this object.
    explicit StandardizedDistrict(const JointData& conditions);

    /// Loads the groups of a district. If there is one only, in which no member is set, its
    /// covariance matrix becomes that of the fit, and true is returned.
    bool gather(const District& district);

    /// Standardizes the gathered district. Returns false when the correlations are singular up to
    /// rounding; X is then the factor of a matrix that differs from them by rounding only.
    bool standardize(const District& given);

    /// Rounds the standardized covariances, so that results are bitwise the same in all units.
    /// Returns false when they are too close to singular for that.
    bool round_off();

    int d() const { return d_; }                                 ///< variables of the data
    const JointData* conditions() const { return conditions_; }  ///< null: one matrix

    // As gathered: in the original units and order.
    double covariance(int i, int j) const { return cov_[static_cast<std::ptrdiff_t>(i) * d_ + j]; }
    double share() const { return share_; }            ///< of the observations that inform about it
    bool single() const { return gathered_.empty(); }  ///< one covariance matrix, no groups
    const std::vector<ConditionGroup>& original_groups() const { return gathered_; }
    double sd(int i) const { return sd_[i]; }  ///< standard deviation of variable i

    // As standardized: in canonical order.
    const District& district() const { return canonical_.district(); }
    const std::vector<int>& original() const { return canonical_.original(); }  ///< numbers before
    const std::vector<double>& S() const { return S_; }  ///< correlations, m x m
    const std::vector<double>& X() const { return X_; }  ///< their Cholesky factor
    const std::vector<ConditionGroup>& ordered_groups() const { return ordered_; }
    const std::vector<GroupMoments>& group_moments() const { return groups_; }

    /// The covariances for the regression of member v, m x m: pooled over the groups that do not
    /// set it.
    const double* regression_covariance(int v) const {
        return single() ? S_.data() : regression_S_[same_groups_[v]].data();
    }

  private:
    void standardize_groups(const District& given);
    void apply_order();
    void make_groups();
    void pool_by_member();
    bool factorize();

    const double* cov_;
    int d_;
    const JointData* conditions_ = nullptr;
    std::vector<double> pooled_;  // cov_ of a single group: entries of one district
    double share_ = 1.0;
    std::vector<ConditionGroup> gathered_, ordered_;  // in the original and in canonical order
    std::vector<GroupMoments> groups_;
    std::vector<int> same_groups_;                   // see `first_with_same_groups`
    std::vector<std::vector<double>> regression_S_;  // by such first member: pooled S
    CanonicalOrder canonical_;
    std::vector<double> sd_, R_;  // scales and correlations, original order
    std::vector<double> S_, X_;
};

}  // namespace bowfree
