// The evidence of the rows beyond their covariances: non-Gaussian errors.
//
// The density of the errors of a district has flexible margins (error_margin.hpp). The errors of one
// member are independent of all others. In larger districts the normal scores z of the errors have
// a Gaussian copula with the zeros of the missing bidirected edges, and each pair a <-> b a factor,
// the ratio of the copula of a linear hidden cause (hidden_cause.hpp) and the Gaussian copula with
// the correlation of the pair, mixed with the constant 1. (The correlation is that of the scores, not
// that of the fit: a graph that does not fit the covariances must not gain by it.) Coefficients start
// at the maximum of the normal likelihood and are improved by a few steps on this one, without the
// factors of pairs.
//
// All factors have the normal model as a special case with its own prior probability, so with normal
// data the evidence is nearly the same for all graphs.
#pragma once

#include <utility>
#include <vector>

#include "graph/district.hpp"
#include "model/error_margin.hpp"
#include "model/hidden_cause.hpp"
#include "model/likelihood.hpp"
#include "stop.hpp"

namespace bowfree {

/// Complete rows, in standard deviations. Immutable.
class ErrorRows {
  public:
    /// `rows` is n x d, row-major, with mean zero. Scores raise the evidence to the power `power`.
    ErrorRows(const double* rows, std::size_t n, int d, double power = 1.0);

    int n() const { return n_; }
    int d() const { return static_cast<int>(sd_.size()); }
    double power() const { return power_; }
    const double* column(int v) const { return &columns_[static_cast<std::size_t>(v) * n_]; }
    double sd(int v) const { return sd_[v]; }
    const MarginFamily& family() const { return family_; }
    const HiddenCauses& hidden_causes() const { return hidden_causes_; }

  private:
    int n_;
    double power_;
    std::vector<double> sd_, columns_;
    MarginFamily family_;
    HiddenCauses hidden_causes_;  // freed with the rows: its tables can take hundreds of megabytes
};

/// Computes the evidence of districts; has buffers, so one object per thread.
class ErrorEvidence {
  public:
    ErrorEvidence(const ErrorRows& rows, const Stop* stop);

    /// The log evidence of a district, minus its maximal normal log-likelihood; `fit` is the maximum
    /// of the latter.
    double gain(const District& district, const DistrictFit& fit);

    /// The density of a variable, and its curvature; see `MarginFitter`.
    std::pair<Margin, double> margin(int v);

  private:
    using Place = MarginFamily::Place;
    /// The error of a member of the district.
    struct Error {
        std::vector<double> residual;
        double sd = 0.0;
        Margin margin;
        Cumulants cumulants;
        std::vector<Place> places;  // by row
        std::vector<double> z;      // by row; empty until it is needed
    };
    void describe(Error& error);
    void score(Error& error) const;
    const Error& error(int v) const { return *errors_[v]; }
    double evaluate(const District& district, const std::vector<double>& B);
    double copula_objective(const District& district);
    double pairs(const District& district);
    double hidden_cause(int a, int b, double rho);
    bool improve(const District& district);
    static double at(const std::vector<double>& values, const Place& place) {
        return values[place.point] + place.share * (values[place.point + 1] - values[place.point]);
    }

    const ErrorRows& rows_;
    const Stop* stop_;
    MarginFitter fitter_;
    std::vector<Error> with_parents_;     // by member
    std::vector<Error> without_parents_;  // by node, once they are needed
    std::vector<const Error*> errors_;    // by member: one of these
    std::vector<double> count_;           // of a pair, on the grid of scores
    std::vector<double> T_, R_;           // correlations of z: observed, fitted
    std::vector<double> best_B_, direction_, share_;
};

}  // namespace bowfree
