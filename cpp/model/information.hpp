// The precision of the coefficients of a district, from its observed information.
//
// The likelihood is a product over districts with separate parameters (section 3.1), so the
// information matrix of a graph has one block per district, which depends on the district only.
// Graphs that share a district share the standard errors of its coefficients. With several
// conditions the information of a district is the weighted sum over its groups (conditions.hpp).
// Specific parameters are estimated as well, and their uncertainty contributes to that of the
// coefficients.
#pragma once

#include <vector>

#include "data/conditions.hpp"
#include "graph/district.hpp"
#include "model/likelihood.hpp"

namespace bowfree {

/// The asymptotic covariance matrix of the shared coefficients of a fitted district, for one
/// observation: divide by n. Row-major, p x p for p coefficients; members in ascending order, for
/// each its parents in ascending local numbers. Empty when the information is not positive
/// definite: then the fit is no maximum, or the coefficients are not identified. `data` are those
/// of the fit.
std::vector<double> coefficient_covariance(const JointData& data, const District& district,
                                           const DistrictFit& fit);

/// The derivatives of the coefficients by the entries of S, for one sample without conditions: the
/// estimates solve g(theta, S) = 0, so dB = -(dg/dtheta)^-1 (dg/dS) dS. Row-major, p rows as in
/// `coefficient_covariance`, and a column for each entry (i, j), i >= j, of S among the nodes of
/// the district in local numbers, row by row. With the asymptotic covariance matrix Gamma of these
/// entries, L Gamma L^T is that of the coefficients whatever the distribution of the data. Empty
/// when the information is not positive definite.
std::vector<double> coefficient_slopes(const JointData& data, const District& district,
                                       const DistrictFit& fit);

/// The fitted covariance matrix Sigma of all variables, scaled to variances of one in the data.
struct SigmaEstimate {
    std::vector<double> Sigma;       ///< d x d
    std::vector<double> covariance;  ///< asymptotic, of the entries (i, j), i >= j, row by row
};

/// From the fit of a whole graph to one sample without conditions, B and Omega being d x d. With
/// `gamma`, the asymptotic covariance matrix of the entries of S in the same order, the covariances
/// hold for any distribution; without, for normal data. Both empty when the information is not
/// positive definite.
SigmaEstimate estimate_sigma(const JointData& data, const Graph& graph,
                             const std::vector<double>& B, const std::vector<double>& Omega,
                             const std::vector<double>& gamma);

}  // namespace bowfree
