// What an intervention does to the parameters at its targets, by kind:
//
//     perfect     all arrowheads at a target are removed, and its variance is specific
//     mechanism   the coefficients, variance and error covariances of a target are specific
//     activity    the coefficients of the edges out of a target are specific
//     noise       the error variance of a target is specific
//
// Hence in a condition each parameter is absent (zero), shared with the other conditions, or
// specific to the condition.
#pragma once

#include <cstdint>

namespace bowfree {

enum class InterventionKind : std::uint8_t { perfect, mechanism, activity, noise };

/// The status of a parameter in a condition.
enum class ParameterUse : std::uint8_t { absent, shared, specific };

/// The status of the coefficient of an edge; `tail` and `head`: whether these ends are targets.
inline ParameterUse use_of_coefficient(InterventionKind kind, bool tail, bool head) {
    switch (kind) {
        case InterventionKind::perfect: return head ? ParameterUse::absent : ParameterUse::shared;
        case InterventionKind::mechanism:
            return head ? ParameterUse::specific : ParameterUse::shared;
        case InterventionKind::activity:
            return tail ? ParameterUse::specific : ParameterUse::shared;
        case InterventionKind::noise: break;
    }
    return ParameterUse::shared;
}

/// The status of the error covariance of two nodes, or of the error variance of one; `touched`:
/// whether one of them is a target.
inline ParameterUse use_of_error(InterventionKind kind, bool variance, bool touched) {
    if (!touched || kind == InterventionKind::activity) return ParameterUse::shared;
    if (variance || kind == InterventionKind::mechanism) return ParameterUse::specific;
    return kind == InterventionKind::perfect ? ParameterUse::absent : ParameterUse::shared;
}

}  // namespace bowfree
