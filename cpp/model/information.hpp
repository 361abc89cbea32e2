// How precisely a district's coefficients are known: the inverse of its observed information.
//
// The likelihood is a product over districts, each with parameters of its own (section 3.1), so the
// information matrix of a graph has one block per district and a block depends on nothing but the
// district. Graphs that share a district share the standard errors of its coefficients too. With
// several conditions the information of a district is the sum over its groups (groups.hpp), each
// with its share of the observations; what a condition has to itself (kinds.hpp) is estimated, too,
// and its uncertainty is part of that of the coefficients.
#pragma once

#include <vector>

#include "data/conditions.hpp"
#include "graph/district.hpp"
#include "model/likelihood.hpp"

namespace bowfree {

/// The asymptotic covariance matrix of the shared coefficients of a fitted district, for one
/// observation: divide by n. Row-major, p x p for p coefficients; members ascending, for each its
/// parents ascending. Empty when the information is not positive definite: then there is no maximum
/// here, or the coefficients are not identified. `data` are those of the fit.
std::vector<double> coefficient_covariance(const JointData& data, const District& district,
                                           const DistrictFit& fit);

/// The derivatives of the coefficients by the entries of S, for one sample without conditions: the
/// estimates solve g(theta, S) = 0, so dB = -(dg/dtheta)^-1 (dg/dS) dS. Row-major, p rows as in
/// `coefficient_covariance`, and a column for each entry (i, j), i >= j, of S among the nodes of the
/// district in local numbers, row by row. With the asymptotic covariance matrix Gamma of these
/// entries, L Gamma L^T is that of the coefficients whatever the distribution of the data. Empty
/// when the information is not positive definite.
std::vector<double> coefficient_slopes(const JointData& data, const District& district,
                                       const DistrictFit& fit);

}  // namespace bowfree
