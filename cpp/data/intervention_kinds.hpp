// What an intervention does to the parameters at its targets.
//
//     perfect     a target loses every edge with a head at it, and has a variance of its own there
//     mechanism   the coefficients, variance and error covariances of a target are its own there
//     activity    the coefficients of the edges out of a target are their own there
//     noise       the error variance of a target is its own there
//
// So in every condition each parameter is absent (zero), shared with the others, or the condition's
// own.
#pragma once

#include <cstdint>

namespace bowfree {

enum class Kind : std::uint8_t { perfect, mechanism, activity, noise };

/// What a parameter is in a condition.
enum class Use : std::uint8_t { absent, shared, own };

/// The coefficient of an edge, given whether its tail and its head are targets.
inline Use use_of_coefficient(Kind kind, bool tail, bool head) {
    switch (kind) {
        case Kind::perfect:
            return head ? Use::absent : Use::shared;
        case Kind::mechanism:
            return head ? Use::own : Use::shared;
        case Kind::activity:
            return tail ? Use::own : Use::shared;
        case Kind::noise:
            break;
    }
    return Use::shared;
}

/// The error covariance of two nodes, given whether one of them is a target.
inline Use use_of_covariance(Kind kind, bool touched) {
    if (!touched) return Use::shared;
    if (kind == Kind::perfect) return Use::absent;
    return kind == Kind::mechanism ? Use::own : Use::shared;
}

/// The error variance of a node, given whether it is a target.
inline Use use_of_variance(Kind kind, bool target) {
    return target && kind != Kind::activity ? Use::own : Use::shared;
}

}  // namespace bowfree
