// A district's share of the data, in units and in an order of its own.
//
// The score of a graph must not depend on whether a column is in grams or in kilograms, nor on
// which column comes first. So a district is not fitted to the covariances as they are, but to what
// this file makes of them, in three steps:
//
//   gather       the conditions that tell about the district, pooled into groups (groups.hpp);
//   standardize  variances of one, members and parents in canonical order (canonical_order.hpp);
//   round_off    where it matters, correlations without their last bits, which do depend on units.
//
// Fits are equivariant under the first two changes of coordinates, and every number that is
// compared with a threshold then has no unit. What a fit finds is told in the variables' own units
// again by whoever asked for it: `sd` and `canonical` lead back.
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

    /// Takes up the groups of a district. Where there is just one, and all members are left alone,
    /// its covariance matrix becomes that of the fit, and true is returned.
    bool gather(const District& district);

    /// Puts the district that was gathered into units of variance one and canonical order. Returns
    /// false when the correlations are singular to rounding; X is then the factor of a matrix that
    /// differs from them by no more.
    bool standardize(const District& given);

    /// Takes the last bits off the standardized covariances, so that what is worked out from them
    /// is the same, bit for bit, in all units. Returns false when they are too near to singular for
    /// that.
    bool round_off();

    int d() const { return d_; }                                 ///< variables of the data
    const JointData* conditions() const { return conditions_; }  ///< null: one matrix

    // As gathered: in the variables' own units, in the order given.
    double covariance(int i, int j) const { return cov_[static_cast<std::ptrdiff_t>(i) * d_ + j]; }
    double share() const { return share_; }  ///< of the observations that tell about the district
    bool single() const { return gathered_.empty(); }  ///< one covariance matrix, no groups
    const std::vector<Pooled>& gathered() const { return gathered_; }
    double sd(int i) const { return sd_[i]; }  ///< of variable i of the district

    // As standardized: in canonical order.
    const District& district() const { return canonical_.district(); }
    const std::vector<int>& given() const { return canonical_.given(); }  ///< numbers before
    const std::vector<double>& S() const { return S_; }                   ///< correlations, m x m
    const std::vector<double>& X() const { return X_; }                   ///< their Cholesky factor
    const std::vector<Pooled>& ordered() const { return ordered_; }
    const std::vector<Group>& groups() const { return groups_; }

    /// What a regression of member v rests on: the covariances of those who leave it alone, m x m.
    const double* left_alone(int v) const {
        return single() ? S_.data() : alone_[alike_[v]].data();
    }

  private:
    void standardize_groups(const District& given);
    void put_in_order();
    void make_groups();
    void pool_by_member();
    bool factorize();

    const double* cov_;
    int d_;
    const JointData* conditions_ = nullptr;
    std::vector<double> pooled_;  // what cov_ then is: entries of one district
    double share_ = 1.0;
    std::vector<Pooled> gathered_, ordered_;  // the groups, as given and in canonical order
    std::vector<Group> groups_;
    std::vector<int> alike_;                  // by member: the first one left alone by the same
    std::vector<std::vector<double>> alone_;  // for these first ones: S of those groups
    CanonicalOrder canonical_;
    std::vector<double> sd_, R_;  // scales and correlations in the order given
    std::vector<double> S_, X_;
};

}  // namespace bowfree
