// Maximum likelihood for one district.
//
// For a district C write A = (I - B)_C (k x m), E = A S A^T and Omega = Omega_C. The contribution
// of the district to the log-likelihood is -n/2 (k log 2 pi + F) with
//
//     F(B, Omega) = log |Omega| + tr(Omega^-1 E).
//
// Fits minimize F. They depend on S (divisor n, see `bowfree.data.moments`), not on n or the
// penalty. With several conditions F is the sum in conditions.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/conditions.hpp"
#include "graph/district.hpp"
#include "model/group_sweeps.hpp"
#include "model/newton.hpp"
#include "model/ricf.hpp"
#include "model/standardized.hpp"
#include "rng.hpp"
#include "stop.hpp"

namespace bowfree {

/// B and Omega of a district in a condition that has specific parameters there.
struct ConditionFit {
    int condition = 0;  ///< its index in the user's list
    std::vector<double> B, Omega;
};

/// Whether a fit was repeated from further starts, because it is far from the data.
enum class MoreStarts : std::uint8_t { not_needed, done, too_large };

/// A fit of one district, with certificates of its quality.
struct DistrictFit {
    double objective = 0.0;            ///< F at the end
    double canonical = 0.0;            ///< F at the end of the canonical starts: that of the score
    std::vector<double> B;             ///< k x m, row-major, local numbers
    std::vector<double> Omega;         ///< k x k, row-major
    bool converged = false;            ///< certified: `decrement` within 1e-10, Hessian definite
    bool rounded = false;              ///< certified with rounded correlations, not as given
    double decrement = 0.0;            ///< possible gain of the score (-F/2) in Newton's model
    double gradient_norm = 0.0;        ///< largest gradient entry in the scaled parameters
    double smallest_eigenvalue = 1.0;  ///< of the error correlation matrix
    bool diverging = false;            ///< not converged, errors nearly collinear, and a
                                       ///< huge coefficient: F may have no minimum
    int n_iter = 0;                    ///< RICF sweeps plus Newton steps, over all starts
    int n_optima = 1;                  ///< distinct ends: certified minima, and lower values
    MoreStarts more_starts = MoreStarts::not_needed;
    std::vector<ConditionFit> condition_fits;  ///< where parameters are specific
};

struct FitOptions {
    int n_starts = 1;          ///< best of that many starts; the first is the canonical one
    std::uint64_t seed = 0;    ///< of the random starts
    bool more_starts = false;  ///< after a gross misfit, try further starts and keep the best end
    /// Compute `gradient_norm`, `smallest_eigenvalue` and `diverging`: a third of the time of a
    /// search with 30 variables, which needs estimates only.
    bool diagnostics = true;
};

/// Estimates without diagnostics.
inline constexpr FitOptions estimates_only{1, 0, false, false};

/// Fits districts to one covariance matrix, or to those of several conditions. Holds buffers: use
/// one object per thread.
///
/// A fit is a pure function of (data, district) and, up to rounding, does not depend on the order
/// of the columns of S or on their units. Members that can be fitted separately are peeled off
/// (peeling.hpp); the rest is standardized and brought into canonical order (standardized.hpp) and
/// optimized from one start, ordinary least squares. If that end is not certified, a few other
/// fixed starts follow and the best end is kept. If none is certified, the likelihood usually has
/// no maximum nearby, and how far the iterations get toward infinity depends on the last bits of
/// the correlations; the optimization is then repeated, with more steps, on rounded correlations.
/// For any S all numbers of the result are finite (except `decrement`), and the time is bounded.
///
/// A maximum that the first start misses occurs for graphs that fit badly: on 14,712 districts of
/// greedy climbs twenty starts found none (docs/reliability.md). So scores use the canonical
/// starts; `FitOptions::more_starts` is for the fit of a single graph, and `canonical` is still the
/// value of the score.
class DistrictFitter {
  public:
    /// `S` is the d x d row-major covariance matrix (divisor n) of all variables, positive
    /// definite. `S` and `stop` must outlive this object; a fit throws `Stopped` when `stop` is
    /// raised.
    DistrictFitter(const double* S, int d, const Stop* stop = nullptr) : data_(S, d), stop_(stop) {}

    /// `conditions` must outlive this object. No variable may be a target in all of them.
    explicit DistrictFitter(const JointData& conditions, const Stop* stop = nullptr)
        : data_(conditions), stop_(stop) {}

    DistrictFit fit(const District& district, const FitOptions& options = {});

    /// The minimum of F, for scoring, of a district from which nothing can be peeled: equal to
    /// `fit(district).objective`.
    double objective(const District& district);

    /// A lower bound of F for one sample without targets, or minus infinity: at a small part of the
    /// cost of a fit.
    double lower_bound(const District& district);

    /// The work of the last call, in multiplications of Newton's method: a pure function of (data,
    /// district). Closed forms count as zero.
    double work() const { return work_; }

  private:
    DistrictFit fit_parts(const District& district, const FitOptions& options);
    DistrictFit fit_peeled(const District& district, int v, const FitOptions& options);
    DistrictFit fit_single_node(const District& district);
    double residual_variance(const District& district, bool& singular);
    double solve(const District& given, const FitOptions& options, DistrictFit* details);
    void prepare();
    bool optimize_from(int start, const FitOptions& options, Rng& random);
    std::optional<bool> refine_on_rounded(const District& given, const FitOptions& options,
                                          bool& on_rounded);
    void set_start(int start, const District& district, Rng& random);
    bool optimize(int max_steps);
    double misfit(const District& district, double value);
    void describe(bool certified, bool diagnostics, DistrictFit& fit);

    StandardizedDistrict data_;
    const Stop* stop_;
    std::vector<double> start_;        // B of a start
    std::vector<double> gram_, coef_;  // of a regression
    std::vector<int> blanket_;         // of a member, and the member
    Ricf ricf_;
    GroupSweeps group_sweeps_;
    Sweeps* sweeps_ = nullptr;  // one of these two
    Newton newton_;
    int n_iter_ = 0;
    double negligible_ = 0.0;  // see `Newton::run`
    double work_ = 0.0;
};

/// RICF as in the paper: start B = 0 and Omega = diag S, members in index order, end after
/// `max_iter` sweeps or when the summed absolute change of B and Omega falls below `tol`. If
/// rounding errors have made the likelihood meaningless, the result is the start, not converged.
DistrictFit ricf(const double* S, int d, const District& district, int max_iter, double tol,
                 const Stop* stop = nullptr);

/// The `tol` of the authors' program.
inline constexpr double ricf_tolerance = 1e-6;

}  // namespace bowfree
