// Sweeps for a district with several groups of conditions: EM around RICF.
//
// RICF fits one equation after the other, which needs the errors of all members in all
// observations. In the conditions that set a member its error is not observed. So it is imputed as
// in EM (Dempster, Laird and Rubin 1977): given the errors of the members R that are not set, its
// expectation is Omega_TR Omega_RR^-1 eps_R, and its conditional variance is added to the second
// moments. One sweep of RICF on the completed moments follows. No sweep raises F.
//
// The response of a set member is its error, without regressors. Since a sweep of RICF does not
// distinguish conditions, the regressor of an edge p -> v is a separate variable, which is x_p
// where v is not set and zero where it is. Edges from p share it when the same groups set their
// heads. The completed moments are those of the k responses and these regressors.
//
// Specific parameters are not supported: with them, the object provides starts, and `sweep` returns
// false.
#pragma once

#include <vector>

#include "data/conditions.hpp"
#include "graph/district.hpp"
#include "model/ricf.hpp"

namespace bowfree {

/// EM sweeps in local numbers. Buffers are kept from district to district.
class GroupSweeps final : public Sweeps {
  public:
    /// Loads a district and its groups, with variables in the same order. All arguments must
    /// outlive the work on the district; a sweep throws `Stopped` when `stop` is raised.
    void reset(const District& district, const std::vector<ConditionGroup>& groups,
               const Stop* stop);

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
    const std::vector<ConditionGroup>* groups_ = nullptr;
    const Stop* stop_ = nullptr;
    int k_ = 0, m_ = 0;
    bool has_specific_ = false;
    District regressed_;            // the members, and for each regressor an outside parent
    std::vector<int> tail_, head_;  // of each regressor, which is zero where the head is set
    std::vector<double> A_, Omega_, moments_, regressed_A_;
    Ricf ricf_;
};

}  // namespace bowfree
