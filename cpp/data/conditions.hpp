// Conditions, and what a district makes of them.
//
// In a condition a *target* was set from outside: it loses every edge with a head at it and has a
// variance of its own there. Of a district C, condition e thus tells about the members
// R_e = C \ T_e only, and the district's objective is
//
//     F = sum_e w_e (log |Omega_R_e| + tr(Omega_R_e^-1 A_R_e S_e A_R_e^T)),   w_e = n_e / N,
//
// with the same A = (I - B)_C and Omega in all of them. Conditions with the same C and T_e in
// common have one term with their pooled covariance matrix: they are a *group*. A district that no
// intervention touches has one group, and is fitted as if there were no conditions; so has a single
// node, whose group is that of the conditions in which it is no target.
//
// That is a perfect intervention. The other kinds (kinds.hpp) leave all members, R_e = C, and some
// of the entries of A and Omega are the condition's own. Such a condition is a group by itself
// where it has parameters of its own, and like any other where it has none.
//
// Where the means of the conditions are to be explained, too, the intercepts are shared like the
// coefficients: a variable that is always one, behind all others, is a parent of every node, and
// S_e are second moments about one point for all conditions. A set variable has a mean of its own.
#pragma once

#include <vector>

#include "data/intervention_kinds.hpp"
#include "graph/district.hpp"
#include "graph/graph.hpp"

namespace bowfree {

/// One covariance matrix of all d variables (row-major, divisor n), its share of the observations,
/// and which nodes an intervention acted on, and how.
struct ConditionData {
    double weight = 1.0;
    std::vector<double> S;
    std::vector<char> target;
    Kind kind = Kind::perfect;
    int number = 0;  ///< its place among the conditions as they were given
};

/// All conditions of a data set; the weights sum to one.
struct JointData {
    int d = 0;
    bool constant = false;  ///< whether variable d is the one that is always one
    std::vector<ConditionData> all;

    /// The number of variables, with the constant: the size of S and of `target`.
    int width() const { return d + constant; }

    /// One condition without targets.
    JointData(std::vector<double> S, int d);

    /// Conditions with equal targets of perfect interventions are pooled; without any target, one
    /// is left.
    JointData(std::vector<ConditionData> given, int d, bool constant = false);

    /// A district of a graph on the d variables, with the constant among the parents.
    District district(const Graph& graph, const std::vector<int>& members) const;

    /// What set variables have to themselves, whatever the graph: the sum of w_e (log s + 1) over
    /// conditions and their targets, s being the target's variance there; and the number of these
    /// variances. A target that was held constant has no density: its log 2 pi is taken back.
    double set_objective = 0.0;
    int n_set = 0;

    /// Parameters that conditions have to themselves, whatever has an edge: variances of noise and
    /// mechanism; and for each edge that a graph may have: in how many conditions its coefficient
    /// [tail * width + head] or its covariance is a condition's own; intercepts are not counted.
    int n_own_variances = 0;
    /// With shared means: intercepts that are a condition's own, those of set variables among them.
    int n_own_intercepts = 0;
    std::vector<int> own_coefficients, own_covariances;

    /// Whether there is just one, without targets.
    bool plain() const { return plain_; }

    /// Whether some condition has parameters of its own besides the variances of set variables.
    bool has_own() const { return has_own_; }

    /// Whether some condition sets v and leaves one of the others alone.
    bool parts(int v, const std::vector<int>& others) const;

  private:
    bool plain_ = true, has_own_ = false;
};

/// The conditions that set the same members of a district: their share of the observations, which
/// members they set, and the pooled covariance matrix of the district's m variables. Or a condition
/// that has parameters of its own: its number, kind, and which of the m variables are targets.
struct Pooled {
    double weight = 0.0;
    std::vector<char> set;
    std::vector<double> S;
    int condition = -1;
    Kind kind = Kind::perfect;
    std::vector<char> target = {};

    bool is_target(int j) const { return condition >= 0 && target[j]; }
    /// What the coefficient of p -> v and the error covariance (u = v: variance) are; local
    /// numbers.
    Use coefficient(int p, int v) const {
        return use_of_coefficient(kind, is_target(p), is_target(v));
    }
    Use error(int u, int v) const {
        return u == v ? use_of_variance(kind, is_target(v))
                      : use_of_covariance(kind, is_target(u) || is_target(v));
    }
};

/// The groups of a district; conditions that set all of its members are left out.
std::vector<Pooled> pool(const JointData& conditions, const District& district);

/// For each of k members the first one that the same groups leave alone: one of a few, because
/// interventions hit few.
std::vector<int> left_alone_alike(const std::vector<Pooled>& groups, int k);

/// How many parameters of a district are a condition's own, but for variances.
int count_own(const JointData& conditions, const District& district);

/// The members that are not set, with their parents; its `nodes` are local numbers of `district`,
/// and both keep their order.
District members_left(const District& district, const std::vector<char>& set);

/// The district without the bidirected edges that no group tells about: one end is always set, and
/// no condition has the covariance to itself.
District told_of(const District& district, const std::vector<Pooled>& groups);

/// A group as the kernels see it: its share of the observations, `members_left`, the covariance
/// matrix of these variables with its Cholesky factor, and what it was made of.
struct Group {
    double weight = 1.0;
    District district;
    std::vector<double> S, X;
    const Pooled* pooled = nullptr;
};

}  // namespace bowfree
