// A lower bound of the gain of a new edge, at a small part of the cost of a fit.
//
// A fit leaves every node v with the residual z_v = (Omega^-1 (I - B) x)_v. Row v of B and Omega is
// the regression of x_v on its parents and, for its spouses q, the pseudo-variables
//
//     z_q - (W_qv / W_vv) z_v,        W = Omega^-1,
//
// whose own residual is z_v / W_vv: this is one step of RICF (section 2.3), and at the optimum it
// changes nothing. A new parent u adds x_u to these regressors, a new spouse u its pseudo-variable.
// With rho the partial correlation of the newcomer y with x_v given the regressors, this one row
// alone gains -log(1 - rho^2) / 2; the true gain, for which all other parameters move too, is at
// least that. For a node that is a district by itself, a new parent gains exactly that. Elsewhere
// it is nearly that (docs/evidence/scaling.md), unless the errors of other nodes determine most of
// that of v. A new edge then changes several rows at once, and the bound is infinite.
//
// The numerator of rho is cov(y, z_v), and all covariances come from the products z S, which are
// kept for every node; so a newcomer costs one triangular solve with as many unknowns as v has
// arrowheads.
#pragma once

#include <vector>

#include "model/scorer.hpp"

namespace bowfree {

class Screen {
  public:
    /// The data must be plain: one condition without targets.
    Screen(const Scorer& scorer, Workspace& workspace);

    /// Call when the district of the node has changed.
    void invalidate(int node) { rows_[node].known = rows_[node].factored = false; }

    /// A lower bound of the gain of from -> to, or infinity if unknown; the pair has no edge.
    double directed(const Graph& graph, int from, int to);
    /// A lower bound of the gain of i <-> j, or infinity if unknown; the pair has no edge.
    double bidirected(const Graph& graph, int i, int j);

  private:
    struct Row {
        bool known = false, factored = false;
        bool determined = false;   // by the errors of others
        double precision = 0.0;    // W_vv
        double left = 0.0;         // z S z
        std::vector<int> nodes;    // of the district: members first, then parents outside
        std::vector<double> z, W;  // over `nodes`; over the members
        std::vector<double> zS;    // over all nodes
        std::vector<int> parents, spouses;
        std::vector<double> share;   // by spouse: W_qv / W_vv
        std::vector<double> factor;  // of the regressors' covariances
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
    std::vector<double> solved_;  // scratch: the newcomer's covariances with the regressors
};

}  // namespace bowfree
