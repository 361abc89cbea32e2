// What Python gives for interventions: the kind and the targets of each condition.
#pragma once

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "equivalence/interventions.hpp"

namespace bowfree::bindings {

/// Kinds are numbered as in model/kinds.hpp.
inline Kind to_kind(int number) {
    if (number < 0 || number > static_cast<int>(Kind::noise))
        throw std::invalid_argument("unknown kind of intervention");
    return static_cast<Kind>(number);
}

/// Conditions come as (kind, targets).
using GivenConditions = std::vector<std::pair<int, std::vector<int>>>;

inline Conditions to_conditions(int d, const GivenConditions& given) {
    Conditions conditions;
    for (const auto& [kind, targets] : given) {
        conditions.push_back({to_kind(kind), std::vector<Word>(words_for(d))});
        for (int v : targets) {
            if (v < 0 || v >= d) throw std::invalid_argument("a target is no node");
            insert(conditions.back().targets.data(), v);
        }
    }
    return conditions;
}

}  // namespace bowfree::bindings
