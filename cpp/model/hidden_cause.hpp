// The copula of two errors with a hidden common cause:
//
//     x = a h + e,  y = c h + f,
//
// with independent h, e and f, each with one of a few typical distributions. The copulas are
// tabulated on a grid of normal scores, when they are first needed; the likelihood of a pair of
// errors is the largest one found over the distributions of h and ratios a / c. The distributions of
// e and f first are those that agree best with the third and fourth cumulants of x and y; if that is
// promising, others are tried, of e and of f by itself and then the best of both, so that the result
// does not depend on which error comes first.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace bowfree {

/// Standardized third and fourth cumulants of an error.
struct Cumulants {
    double third = 0.0, fourth = 0.0;
};

/// Tables of log copula densities. Thread-safe.
class HiddenCauses {
  public:
    HiddenCauses();
    ~HiddenCauses();

    static constexpr int n_points = 25;
    static constexpr double first = -3.6, step = 0.3;  ///< of the grid of normal scores

    /// The largest log-likelihood ratio of a hidden cause against independence. `count` has the number
    /// of observations at each point of the grid; the errors have correlation r.
    double log_likelihood_ratio(const std::vector<double>& count, double r, const Cumulants& x,
                                const Cumulants& y) const;

  private:
    using Table = std::vector<double>;
    struct Axis;
    /// x = a h + e at the points of the grid; the other error has the inverse of the ratio.
    static const Axis& axis(int h, int e, int ratio, int correlation);
    const Table& table(int h, int e, int f, int ratio, int correlation) const;

    mutable std::mutex mutex_;  // of the owners
    mutable std::vector<std::unique_ptr<const Table>> owned_tables_;
    mutable std::vector<std::atomic<const Table*>> tables_;
};

}  // namespace bowfree
