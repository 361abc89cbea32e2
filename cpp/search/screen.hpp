// Estimates of the largest gain of a change of one edge, at a small part of the cost of a fit.
//
// A fit has for every node v the residual z_v = (Omega^-1 (I - B) x)_v. Row v of B and Omega is the
// regression of x_v on its parents and, for its spouses q, on the pseudo-variables
//
//     z_q - (W_qv / W_vv) z_v,        W = Omega^-1,
//
// with residual z_v / W_vv: this is one step of RICF (section 2.3), and it changes nothing at the
// optimum. A new parent u adds the regressor x_u, a new spouse u its pseudo-variable. With rho the
// partial correlation of the new regressor y and x_v given the others, a fit of this row alone gains
// -log(1 - rho^2) / 2. Deleting a regressor with coefficient b loses log(1 + b^2 / (g t)) / 2, where g
// is its diagonal entry of the inverse of the covariance matrix of the regressors and t the residual
// variance. The true gain, with all other parameters free, is at least the first, and the true loss
// at most the second.
//
// By how much they differ depends on the inflation V = Omega_vv W_vv, which is 1 / (1 - R^2) for the
// regression of the error of v on the errors of other nodes. With all other rows known, the
// information about a coefficient of row v is proportional to W_vv; with no other row known, to
// 1 / Omega_vv. So the largest gain is estimated by V times that of the row, and the smallest loss by
// that of the row divided by V. This is no bound: it holds to second order where the model fits
// (docs/evidence/scaling.md says how often it fails in climbs).
//
// For a change of the kind of an edge, the row gets the new regressor first and loses the old one
// afterward. The model between the two has a bow.
//
// The numerator of rho is cov(y, z_v), and all covariances follow from the products z S, which are
// stored for every node; so the cost is one or two triangular solves with as many unknowns as v has
// arrowheads. Runs return to most districts several times, so the rows of all districts that they
// have visited are kept, with the gains of all new parents.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/key.hpp"
#include "model/scorer.hpp"

namespace bowfree {

class Screen {
  public:
    class Memory;

    /// The data must be observational. `memory` has what was computed for the same data before, and
    /// is for one screen at a time; null: nothing.
    Screen(const Scorer& scorer, Workspace& workspace, Memory* memory = nullptr);

    /// Must be called when the district of the node has changed.
    void invalidate(int node) { rows_[node] = nullptr; }

    /// V of a node whose district has been fitted by one of the functions below.
    double inflation(int node) const { return rows_[node]->inflation; }

    /// The largest gain of from -> to; the pair has no edge, or to -> from.
    double directed(const Graph& graph, int from, int to);
    /// The largest gain of i <-> j; the pair has no edge.
    double bidirected(const Graph& graph, int i, int j);
    /// The smallest loss by deleting the edge of the pair, by a fit of the row of `to`, where it has
    /// an arrowhead.
    double loss(const Graph& graph, int from, int to);
    /// Of from -> to replaced by from <-> to, or the reverse: the largest gain by the new edge in
    /// addition to the old one, and the smallest loss by then deleting that.
    struct Exchange {
        double gain, loss;
    };
    Exchange exchange(const Graph& graph, int from, int to);

  private:
    struct Row {
        bool factored = false;
        double inflation = 1.0;    // Omega_vv W_vv
        double precision = 0.0;    // W_vv
        double left = 0.0;         // z S z
        std::vector<int> nodes;    // of the district: members first, then parents outside
        std::vector<double> z, W;  // over `nodes`; over the members
        std::vector<double> zS;    // over all nodes
        std::vector<int> parents, spouses;
        std::vector<double> share;   // by spouse: W_qv / W_vv
        std::vector<double> factor;  // L, of the regressors' covariances
        std::vector<double> solved;  // L^-1 times their covariances with x_v
        std::vector<double> gains;   // by a new parent, for all nodes; empty: not computed
        int number = 0;              // of this row among all
        /// By a new spouse, for all nodes: the number of its row, and the gain.
        std::vector<std::pair<int, double>> with_spouse;
    };
    /// The rows of a district, and the work of its fit.
    struct Fitted {
        std::vector<Row> rows;
        double work = 0.0;
    };
    /// A further regressor y of a row.
    struct Regressor {
        double with_residual, variance;  // cov(y, z_v); what the other regressors leave of y
        std::vector<double> solved;      // L^-1 times the covariances of y with the regressors
    };
    /// A regressor of a row: its coefficient, and its diagonal entry of the inverse.
    struct Present {
        double coefficient, inverse;
    };
    const Row& row(const Graph& graph, int node);
    Row& factored(const Graph& graph, int node);
    void find_district(const Graph& graph, int node);
    std::shared_ptr<Fitted> fit(const District& district);
    void compute_gains(Row& row);
    /// The covariance of z_i and z_j; both rows are known.
    double covariance(int i, int j) const;
    /// W_qv / W_vv of the row's node v and another node q; zero when it is in another district.
    static double share_of(const Row& row, int other);
    void use_parent(const Graph& graph, int parent, int node);
    void use_spouse(const Graph& graph, int spouse, int node);
    void reduce(const Row& row, double variance);
    static double gain(const Row& row, double with_residual, double variance);
    /// The same by the regressor `y_`.
    double gain(const Row& row) const { return gain(row, y_.with_residual, y_.variance); }
    Present present(const Graph& graph, int from, int to);
    double S(int i, int j) const { return S_[static_cast<std::ptrdiff_t>(i) * d_ + j]; }

    Workspace& workspace_;
    const double* S_;
    int d_;
    std::vector<std::shared_ptr<Row>> rows_;  // by node; null: unknown
    std::unique_ptr<Memory> own_;             // unless one was given
    Memory& memory_;
    Regressor y_;                         // scratch
    std::vector<double> all_, variance_;  // scratch of `compute_gains`
    std::vector<double> unit_;            // scratch: L^-1 times a unit vector
};

/// The districts that have been fitted.
class Screen::Memory {
    friend Screen;
    std::unordered_map<Key, std::shared_ptr<Fitted>, KeyHash> fitted_;
    std::size_t n_kept_ = 0;  // rows in `fitted_`
    int n_rows_ = 0;          // all rows there have been
};

}  // namespace bowfree
