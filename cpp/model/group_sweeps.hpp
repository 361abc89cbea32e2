// Sweeps for a district with several groups of conditions: EM around RICF.
//
// RICF fits one equation after the other, which needs the errors of all members in all
// observations. In the conditions that set a member its own error is not seen. So it is filled in,
// as EM does (Dempster, Laird and Rubin 1977): given the errors of the members that are left, its
// expectation is Omega_TR Omega_RR^-1 eps_R, and what this leaves of its variance is added to the
// second moments. On the completed moments one sweep of RICF follows. No sweep raises F.
//
// A set member has its error for a response and no regressors. A sweep of RICF knows nothing of
// conditions, so the regressor of an edge p -> v is a variable of its own, which is x_p where v is
// left alone and zero where it is set. Edges from p share it when the same groups leave their heads
// alone. The completed moments are those of the k responses and these regressors.
//
// Parameters that a condition has to itself are not known here: where there are some, these sweeps
// give a start, and no sweep is made.
#pragma once

#include <vector>

#include "data/conditions.hpp"
#include "graph/district.hpp"
#include "model/ricf.hpp"

namespace bowfree {

/// Sweeps over one district after another, in local numbers; buffers are kept between districts.
class GroupSweeps final : public Sweeps {
  public:
    /// Takes up a district. The groups have its order of variables; both must outlive the work on
    /// it, and so must `stop`, upon which a sweep throws `Stopped`.
    void reset(const District& district, const std::vector<Pooled>& groups, const Stop* stop);

    void start(const double* B) override;
    void correlate_errors() override;
    bool start(const double* A, const double* Omega) override;
    bool sweep() override { return update(-1); }
    bool step(int v) override { return update(v); }
    double objective() const override;

    const std::vector<double>& A() const override { return A_; }
    const std::vector<double>& Omega() const override { return Omega_; }

  private:
    bool update(int v);
    bool complete();
    std::vector<double> residual_moments() const;

    const District* district_ = nullptr;
    const std::vector<Pooled>* groups_ = nullptr;
    const Stop* stop_ = nullptr;
    int k_ = 0, m_ = 0;
    bool has_own_ = false;
    District regressed_;            // the members, and for each regressor an outside parent
    std::vector<int> tail_, head_;  // of a regressor: it is zero where the head is set
    std::vector<double> A_, Omega_, moments_, regressed_A_;
    Ricf ricf_;
};

}  // namespace bowfree
