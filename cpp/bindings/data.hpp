// Data and conditions as Python passes them: one covariance matrix, or those of several conditions;
// the kind and the targets of interventions.
#pragma once

#include <nanobind/stl/variant.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/arrays.hpp"
#include "data/conditions.hpp"
#include "equivalence/decision.hpp"

namespace bowfree::bindings {

using Data = std::variant<Matrix, JointData>;

/// Converts data of d variables; with d = -1, of any number.
inline JointData to_conditions(const Data& data, int d = -1) {
    if (const auto* S = std::get_if<Matrix>(&data)) {
        std::vector<double> square = to_square(*S, d);
        return {std::move(square), static_cast<int>(S->shape(0))};
    }
    const auto& conditions = std::get<JointData>(data);
    if (d >= 0 && conditions.d != d)
        throw std::invalid_argument("S must have shape (d, d), d being the number of nodes");
    return conditions;
}

/// Throws unless the data are observational, as sweeps of RICF require.
inline void expect_observational(const JointData& conditions) {
    if (!conditions.is_observational())
        throw std::invalid_argument("RICF requires one covariance matrix without targets");
}

/// Throws unless there are no sizes of blocks, or those of all columns of one covariance matrix.
inline void expect_sizes(const std::vector<int>& sizes, const JointData& conditions,
                         int nodes = -1) {
    if (sizes.empty()) return;
    if (!conditions.is_observational() || std::ranges::min(sizes) < 1 ||
        std::accumulate(sizes.begin(), sizes.end(), 0) != conditions.d ||
        (nodes >= 0 && static_cast<int>(sizes.size()) != nodes))
        throw std::invalid_argument("sizes: the number of columns of each node, of one sample");
}

/// Kinds are numbered as in data/intervention_kinds.hpp.
inline InterventionKind to_kind(int number) {
    if (number < 0 || number > static_cast<int>(InterventionKind::noise))
        throw std::invalid_argument("unknown kind of intervention");
    return static_cast<InterventionKind>(number);
}

/// Conditions come as (kind, targets).
using GivenConditions = std::vector<std::pair<int, std::vector<int>>>;

inline Conditions to_conditions(int d, const GivenConditions& given) {
    Conditions conditions;
    for (const auto& [kind, targets] : given) {
        conditions.push_back({to_kind(kind), std::vector<Word>(words_for(d))});
        for (int v : targets) {
            if (v < 0 || v >= d) throw std::invalid_argument("targets must be nodes");
            insert(conditions.back().targets.data(), v);
        }
    }
    return conditions;
}

}  // namespace bowfree::bindings
