// Maximum likelihood for one district: the contract of the fitting kernels.
//
// For a district C write A = (I - B)_C (k x m), E = A S A^T and Omega = Omega_C. The district's
// share of the log-likelihood is -n/2 (k log 2 pi + F) with
//
//     F(B, Omega) = log |Omega| + tr(Omega^-1 E).
//
// Kernels minimize F. They see S only (divisor n, see `bowfree.data.moments`), never n or the
// penalty. With several conditions F is the sum that groups.hpp has.
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

/// B and Omega of a district in a condition that has parameters of its own there.
struct OwnFit {
    int condition = 0;  ///< its number, as given
    std::vector<double> B, Omega;
};

/// Whether a fit was repeated from further starts, because it is far from the data.
enum class MoreStarts : std::uint8_t { not_needed, done, too_large };

/// A fit of one district and its own proof of quality.
struct DistrictFit {
    double objective = 0.0;      ///< F at the end
    double canonical = 0.0;      ///< F at the end of the canonical starts: that of the score
    std::vector<double> B;       ///< k x m, row-major, local numbers
    std::vector<double> Omega;   ///< k x k, row-major
    bool converged = false;      ///< certified: `decrement` within 1e-10, Hessian definite
    double decrement = 0.0;      ///< what the score (-F/2) could still gain, by Newton's model
    double gradient_norm = 0.0;  ///< largest gradient entry in the scaled parameters
    double smallest_eigenvalue = 1.0;  ///< of the error correlation matrix
    bool diverging = false;            ///< not converged, errors nearly collinear, and
                                       ///< a huge coefficient: it may run to infinity
    int n_iter = 0;                    ///< RICF sweeps plus Newton steps, over all starts
    int n_optima = 1;                  ///< distinct ends: certified minima, and lower values
    MoreStarts more_starts = MoreStarts::not_needed;
    std::vector<OwnFit> own;  ///< B and Omega are what the other conditions share
};

struct FitOptions {
    int n_starts = 1;        ///< best of that many starts; the first is the canonical one
    std::uint64_t seed = 0;  ///< of the random starts
    bool look = false;       ///< where the misfit is gross, try further starts, keep the best end
    /// Compute `gradient_norm`, `smallest_eigenvalue` and `diverging`: a third of the time of a
    /// search with 30 variables, which needs estimates only.
    bool diagnostics = true;
};

/// Estimates without diagnostics.
inline constexpr FitOptions estimates_only{1, 0, false, false};

/// Fits districts to one covariance matrix, or to those of several conditions; holds the buffers,
/// so use one per thread.
///
/// A fit is a pure function of (data, district), and but for rounding it does not depend on the
/// order of the columns of S or on their units: members that can be fitted on their own are peeled
/// off (peeling.hpp); the rest is standardized and brought into canonical order
/// (standardized.hpp) and has one start (ordinary least squares), run to convergence; only a fit
/// that cannot be certified from there tries a few fixed other starts and keeps the best end point.
/// Where none of them can be certified, the likelihood has no maximum nearby, as a rule, and how
/// far one gets on the way to infinity is a matter of the last bit of a correlation. That way is
/// therefore gone once more, and further, on correlations from which the last bits are taken.
/// Whatever S is, the least bad start is described: all numbers are finite (but for `decrement`),
/// and its time is bounded.
///
/// A maximum that the first start misses is a matter of graphs that do not fit at all: on 14,712
/// districts of greedy climbs twenty starts found none (docs/reliability.md). So scores have the
/// one start, and `FitOptions::look` is for the fit of a single graph: it goes on from further
/// starts where the misfit is gross and returns the best end; `canonical` is still that of the
/// score.
class DistrictFitter {
  public:
    /// `S` is the d x d row-major covariance matrix (divisor n) of all variables, positive
    /// definite. It must outlive this object, and so must `stop`, upon which a fit throws
    /// `Stopped`.
    DistrictFitter(const double* S, int d, const Stop* stop = nullptr) : data_(S, d), stop_(stop) {}

    /// `conditions` must outlive this object. Every variable must be left alone by one of them.
    DistrictFitter(const JointData& conditions, const Stop* stop = nullptr)
        : data_(conditions), stop_(stop) {}

    DistrictFit fit(const District& district, const FitOptions& options = {});

    /// Only the minimum of F, for scoring, of a district from which nothing can be peeled: equal
    /// to `fit(district).objective`.
    double objective(const District& district);

    /// The work of the last call, in multiplications by Newton's method: a pure function of (data,
    /// district), as the fit is. What can be done in closed form counts as none.
    double work() const { return work_; }

  private:
    DistrictFit fit_parts(const District& district, const FitOptions& options);
    DistrictFit fit_peeled(const District& district, int v, const FitOptions& options);
    DistrictFit fit_alone(const District& district);
    double residual_variance(const District& district, bool& singular);
    double solve(const District& given, const FitOptions& options, DistrictFit* details);
    void take_up();
    bool climb_from(int start, const FitOptions& options, Rng& random);
    std::optional<bool> walk_on_rounded(const District& given, const FitOptions& options);
    void set_start(int start, const District& district, Rng& random);
    bool climb(int max_steps);
    double misfit(const District& district, double value);
    void describe(bool certified, bool diagnostics, DistrictFit& fit);

    StandardizedDistrict data_;
    const Stop* stop_;
    std::vector<double> start_;        // B of a start
    std::vector<double> gram_, coef_;  // of a regression
    Ricf ricf_;
    GroupSweeps group_sweeps_;
    Sweeps* sweeps_ = nullptr;  // one of these two
    Newton newton_;
    int n_iter_ = 0;
    double work_ = 0.0;
};

/// RICF as the paper runs it: start B = 0 and Omega = diag S, members in index order, stop after
/// `max_iter` sweeps or when the summed absolute change of B and Omega falls below `tol`. Where
/// rounding leaves no likelihood to speak of, it is back at its start, and not converged.
DistrictFit ricf(const double* S, int d, const District& district, int max_iter, double tol,
                 const Stop* stop = nullptr);

/// The `tol` of the authors' scores.
inline constexpr double ricf_tolerance = 1e-6;

}  // namespace bowfree
