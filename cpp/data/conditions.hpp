// Data of several conditions, and the groups of conditions that a district sees.
//
// Under a perfect intervention on the targets T_e, condition e informs about the members
// R_e = C \ T_e of a district C only, and the objective of the district is
//
//     F = sum_e w_e (log |Omega_R_e| + tr(Omega_R_e^-1 A_R_e S_e A_R_e^T)),   w_e = n_e / N,
//
// with the same A = (I - B)_C and Omega in all terms. Conditions with the same targets in C form a
// *group*: one term with their pooled covariance matrix. A district without targets has one group
// and is fitted as if there were one condition; so has a single node, whose group consists of the
// conditions in which it is not a target.
//
// Under the other kinds of intervention (intervention_kinds.hpp) R_e = C, and some entries of A and
// Omega are specific to the condition. A condition is a group by itself for the districts in which
// it has specific parameters, and is pooled like any other elsewhere.
//
// When the means of the conditions are modeled too, intercepts are shared like coefficients: an
// additional last variable, the constant one, is a parent of every node, and the matrices S_e
// contain second moments about one point for all conditions. A set variable has a specific mean.
#pragma once

#include <memory>
#include <vector>

#include "data/intervention_kinds.hpp"
#include "graph/district.hpp"
#include "graph/graph.hpp"

namespace bowfree {

/// The covariance matrix of one condition and its intervention.
struct ConditionData {
    double weight = 1.0;       ///< share of the observations
    std::vector<double> S;     ///< all variables, row-major, divisor n
    std::vector<char> target;  ///< by variable
    InterventionKind kind = InterventionKind::perfect;
    int number = 0;  ///< its index in the user's list
};

class ErrorRows;

/// All conditions of a data set; the weights sum to one.
struct JointData {
    int d = 0;
    bool constant = false;  ///< whether variable d is the constant one
    std::vector<ConditionData> conditions;
    /// The rows, if errors may be non-Gaussian; only for observational data.
    std::shared_ptr<const ErrorRows> rows = nullptr;

    /// The number of variables with the constant: the size of S and of `target`.
    int width() const { return d + constant; }

    /// One condition without targets.
    JointData(std::vector<double> S, int d);

    /// Pools conditions that have equal targets of perfect interventions.
    JointData(std::vector<ConditionData> given, int d, bool constant = false);

    /// A district of a graph on the d variables, with the constant among the parents.
    District district(const Graph& graph, const std::vector<int>& members) const;

    /// The contribution of set variables to the objective, which is the same for every graph: the
    /// sum of w_e (log s + 1) over conditions and targets, s being the variance of the target
    /// there; and the number of these variances. A target that was held constant has no density, so
    /// its log 2 pi is subtracted.
    double set_objective = 0.0;
    int n_set = 0;

    /// The number of specific variances under noise and mechanism interventions, which every graph
    /// has; and for every possible edge the number of conditions in which its coefficient
    /// [tail * width + head] or its covariance is specific. Intercepts are not counted.
    int n_specific_variances = 0;
    /// With shared means: intercepts that are a condition's own, those of set variables among them.
    int n_own_intercepts = 0;
    std::vector<int> specific_coefficients, specific_covariances;

    /// Whether there is one condition, without targets and without the constant.
    bool is_observational() const { return is_observational_; }

    /// Whether some condition has specific parameters other than the variances of set variables.
    bool has_specific() const { return has_specific_; }

    /// Whether v is a target in some condition in which one of the others is not.
    bool sets_without(int v, const std::vector<int>& others) const;

  private:
    bool is_observational_ = true, has_specific_ = false;
};

/// Conditions that a district does not distinguish: they set the same members. Or one condition
/// that has specific parameters; only then `condition`, `kind` and `target` are filled in.
struct ConditionGroup {
    double weight = 0.0;    ///< share of the observations
    std::vector<char> set;  ///< by member: whether it is set
    std::vector<double> S;  ///< pooled, of the m variables of the district
    int condition = -1;     ///< the number of the condition with specific parameters
    InterventionKind kind = InterventionKind::perfect;
    std::vector<char> target = {};  ///< by variable of the district

    bool is_target(int j) const { return condition >= 0 && target[j]; }
    /// The status of the coefficient of p -> v, and of an error covariance (u = v: variance), in
    /// local numbers.
    ParameterUse coefficient(int p, int v) const {
        return use_of_coefficient(kind, is_target(p), is_target(v));
    }
    ParameterUse error(int u, int v) const {
        return use_of_error(kind, u == v, is_target(u) || is_target(v));
    }
};

/// The groups of a district, without the conditions that set all of its members.
std::vector<ConditionGroup> pool_conditions(const JointData& data, const District& district);

/// For each of k members the first member that is set by the same groups.
std::vector<int> first_with_same_groups(const std::vector<ConditionGroup>& groups, int k);

/// The number of specific parameters of a district, except variances.
int count_specific(const JointData& data, const District& district);

/// The members that are not set, with their parents, in the same order. The `nodes` of the result
/// are local numbers of `district`.
District unset_members(const District& district, const std::vector<char>& set);

/// The district without the bidirected edges about which the data contain no information: one of
/// their ends is set in every group.
District without_uninformed_pairs(const District& district,
                                  const std::vector<ConditionGroup>& groups);

/// A group in the form that the objective needs.
struct GroupMoments {
    double weight = 1.0;
    District district;         ///< `unset_members`
    std::vector<double> S, X;  ///< covariance matrix of its variables, and the Cholesky factor
    const ConditionGroup* source = nullptr;
};

}  // namespace bowfree
