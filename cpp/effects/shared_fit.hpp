// One fit for all members of an equivalence class on few nodes.
//
// Equivalent graphs have the same fitted covariance matrix Sigma, and a BAP determines its
// coefficients from Sigma (decision.hpp): row v of A = I - B is the combination of v and its parents
// whose error is uncorrelated with those of the parents,
//
//     A_v Sigma A_p^T = 0   for every parent p.
//
// Their derivatives by Sigma follow from those of these equations, and with the asymptotic
// covariance matrix of Sigma, which the members share too, they give that of the coefficients. So
// a class needs one fit and one information matrix, and each member a few small linear systems.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "data/conditions.hpp"
#include "graph/graph.hpp"

namespace bowfree {

/// Some coefficients of a graph, and their asymptotic covariance matrix.
struct Coefficients {
    std::vector<std::pair<int, int>> at;  ///< (child, parent)
    std::vector<double> coefficients;
    std::vector<double> covariance;
};

class SharedFit {
  public:
    static constexpr int max_nodes = 5;

    /// From the fit of a graph, see `estimate_sigma`. None if the information is not positive
    /// definite.
    static std::optional<SharedFit> of(const JointData& data, const Graph& graph,
                                       const std::vector<double>& B,
                                       const std::vector<double>& Omega,
                                       const std::vector<double>& gamma);

    /// Sets the coefficients among `nodes` in an equivalent graph. Returns false if they cannot be
    /// computed with enough digits.
    bool coefficients(const Graph& graph, const std::vector<int>& nodes, Coefficients& found) const;

  private:
    /// One number for each entry (i, j), i >= j, of a symmetric matrix, and zeros up to a multiple
    /// of four.
    static constexpr int width = (max_nodes * (max_nodes + 1) / 2 + 3) / 4 * 4;
    using Entries = std::array<double, width>;

    int d_ = 0;
    std::array<double, max_nodes> sd_{};  // Sigma is that of scaled variables
    std::array<std::array<double, max_nodes>, max_nodes> Sigma_{};
    std::array<Entries, width> covariance_{};  // of the entries of Sigma
};

}  // namespace bowfree
