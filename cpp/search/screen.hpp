// A lower bound of the gain of a new edge, and an upper bound of the loss by deleting one, at a small
// part of the cost of a fit.
//
// A fit has for every node v the residual z_v = (Omega^-1 (I - B) x)_v. Row v of B and Omega is the
// regression of x_v on its parents and, for its spouses q, on the pseudo-variables
//
//     z_q - (W_qv / W_vv) z_v,        W = Omega^-1,
//
// with residual z_v / W_vv: this is one step of RICF (section 2.3), and it changes nothing at the
// optimum. A new parent u adds the regressor x_u, a new spouse u its pseudo-variable. With rho the
// partial correlation of the new regressor y and x_v given the others, a fit of this row alone gains
// -log(1 - rho^2) / 2; the true gain, with all other parameters free, is at least that. It is equal
// for a new parent of a node that is a district by itself, and nearly equal elsewhere
// (docs/evidence/scaling.md), unless the errors of other nodes determine most of that of v. Then a
// new edge changes several rows at once, and the bound is infinite.
//
// Deleting a regressor with coefficient b from the row loses log(1 + b^2 / (g t)) / 2, where g is its
// diagonal entry of the inverse of the covariance matrix of the regressors and t the residual
// variance; the true loss, with all other parameters free, is at most that.
//
// The numerator of rho is cov(y, z_v), and all covariances follow from the products z S, which are
// stored for every node; so the cost is one triangular solve with as many unknowns as v has
// arrowheads.
#pragma once

#include <vector>

#include "model/scorer.hpp"

namespace bowfree {

class Screen {
  public:
    /// The data must be observational.
    Screen(const Scorer& scorer, Workspace& workspace);

    /// Must be called when the district of the node has changed.
    void invalidate(int node) { rows_[node].known = rows_[node].factored = false; }

    /// A lower bound of the gain of from -> to, or infinity if unknown; the pair has no edge.
    double directed(const Graph& graph, int from, int to);
    /// An upper bound of the loss by deleting from -> to or from <-> to, by a fit of the row of `to`;
    /// zero if unknown.
    double loss(const Graph& graph, int from, int to);
    /// A lower bound of the gain of i <-> j, or infinity if unknown; the pair has no edge.
    double bidirected(const Graph& graph, int i, int j);

  private:
    struct Row {
        bool known = false, factored = false;
        bool determined = false;   // nearly, by the errors of other nodes
        double precision = 0.0;    // W_vv
        double left = 0.0;         // z S z
        std::vector<int> nodes;    // of the district: members first, then parents outside
        std::vector<double> z, W;  // over `nodes`; over the members
        std::vector<double> zS;    // over all nodes
        std::vector<int> parents, spouses;
        std::vector<double> share;   // by spouse: W_qv / W_vv
        std::vector<double> factor;  // of the regressors' covariances
        std::vector<double> losses;  // by regressor, once computed
    };
    const Row& row(const Graph& graph, int node);
    const Row& factored(const Graph& graph, int node);
    void fit_district(const Graph& graph, int node);
    /// The covariance of z_i and z_j; both rows are known.
    double covariance(int i, int j) const;
    /// W_qv / W_vv of the row's node v and another node q; zero when it is in another district.
    static double share_of(const Row& row, int other);
    double gain(const Row& row, double with_residual, double variance);
    double from_side(const Graph& graph, int spouse, int node);
    double S(int i, int j) const { return S_[static_cast<std::ptrdiff_t>(i) * d_ + j]; }

    Workspace& workspace_;
    const double* S_;
    int d_;
    std::vector<Row> rows_;
    std::vector<double> solved_;  // scratch: covariances of y with the regressors
};

}  // namespace bowfree
