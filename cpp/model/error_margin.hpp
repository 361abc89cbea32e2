// The density of one error: that of a normal variable times a smooth function.
//
// With x an error in standard deviations and u = asinh x,
//
//     log f(x) = a x + b x^2 + sum_k theta_k s_k(u) - log Z,
//
// where s_k are cubic B-splines on a uniform grid. The prior of theta is a Gaussian random walk whose
// scale has a few values; half of the prior probability is on theta = 0, the normal density. The
// evidence of each scale is Laplace's approximation. Observations are binned linearly on a grid that
// is uniform in u, so the cost of a fit does not depend on their number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bowfree {

/// The grid, the splines and the prior, for observations up to a given size. Immutable.
class MarginFamily {
  public:
    static constexpr int n_splines = 20, per_knot = 8, n_features = n_splines + 2;
    static constexpr int n_points = (n_splines - 3) * per_knot + 1;

    /// `largest` is the largest absolute value of an observation, in standard deviations.
    explicit MarginFamily(double largest);

    double x(int m) const { return x_[m]; }
    double width(int m) const { return width_[m]; }  ///< of point m on the scale of x
    double log_width(int m) const { return log_width_[m]; }
    /// Between two points: the first of them, and the share of the second.
    struct Place {
        int point;
        double share;
    };
    Place place(double x) const {
        const double column = std::clamp((x - x_.front()) * columns_per_x_, 0.0, last_column_);
        int point = first_point_[static_cast<std::size_t>(column)];
        point += x > x_[point + 1] && point + 2 < n_points;
        return {point, std::clamp((x - x_[point]) / (x_[point + 1] - x_[point]), 0.0, 1.0)};
    }
    /// The first of the four splines that are not zero at point m.
    static int first_spline(int m) { return m == n_points - 1 ? n_splines - 4 : m / per_knot; }
    const double* splines(int m) const { return &splines_[4 * position(m)]; }
    /// The derivatives by u = asinh x, and that of u by x.
    const double* slopes(int m) const { return &slopes_[4 * position(m)]; }
    double du(int m) const { return step_ / width_[m]; }
    /// The prior precision of theta at scale one, and its log determinant.
    const std::vector<double>& precision() const { return precision_; }
    double log_det_precision() const { return log_det_; }

  private:
    static int position(int m) { return m == n_points - 1 ? per_knot : m % per_knot; }
    double step_, log_det_ = 0.0;
    std::vector<double> x_, width_, log_width_, splines_, slopes_, precision_;
    // The range of x in columns that are narrower than the distance of any two points: the point
    // before the beginning of each.
    double columns_per_x_, last_column_;
    std::vector<int> first_point_;
};

/// The density of one error, and of its normal score z = Phi^-1(F(x)), on the points of the grid.
struct Margin {
    double log_evidence = 0.0;  ///< relative to the normal density, averaged over scales
    double p_normal = 1.0;      ///< posterior probability of the normal density
    std::vector<double> theta;  ///< of the most probable scale; all zero but two if normal
    double precision = 0.0;     ///< of the prior at that scale; zero if normal
    std::vector<std::vector<double>> starts;  ///< theta by scale; empty if it is negligible
    bool normal = true;           ///< whether the most probable density is the normal one
    std::vector<double> d_log_f;  ///< derivative of log f by x
    std::vector<double> z, d_z;   ///< normal score, and its derivative by x
};

/// Fits densities; has buffers, so one object per thread.
class MarginFitter {
  public:
    explicit MarginFitter(const MarginFamily& family);

    /// `share` is the share of the n observations at each point. A margin with `starts` is a
    /// warm start.
    void fit(const std::vector<double>& share, double n, Margin& margin);

    /// Minus the mean second derivative of log f by x, after `fit`, as if no observation had
    /// influenced the density at its own place: estimated densities are too steep there.
    double curvature(const std::vector<double>& share, double n, const Margin& margin);

  private:
    double maximize(double n, double precision, std::vector<double>& theta);
    double evaluate(double n, double precision, const std::vector<double>& theta);
    void derive(double n, double precision, const std::vector<double>& theta);
    void describe(Margin& margin);

    const MarginFamily* family_;
    int size_ = 0;                 // of the parameters in use: 2 or all
    std::vector<double> mean_;     // of the features, over the observations
    std::vector<double> density_;  // probabilities of the points
    std::vector<double> gradient_, hessian_, trial_;
};

}  // namespace bowfree
