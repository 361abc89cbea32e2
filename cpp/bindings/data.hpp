// What Python gives for data: one covariance matrix, or those of several conditions.
#pragma once

#include <nanobind/stl/variant.h>

#include <utility>
#include <variant>
#include <vector>

#include "bindings/arrays.hpp"
#include "model/groups.hpp"

namespace bowfree::bindings {

using Data = std::variant<Matrix, JointData>;

/// The data of d variables; with d = -1, of any number.
inline JointData to_conditions(const Data& data, int d = -1) {
    if (const auto* S = std::get_if<Matrix>(&data)) {
        std::vector<double> square = to_square(*S, d);
        return {std::move(square), static_cast<int>(S->shape(0))};
    }
    const JointData& conditions = std::get<JointData>(data);
    if (d >= 0 && conditions.d != d)
        throw std::invalid_argument("S must have shape (d, d), d being the number of nodes");
    return conditions;
}

/// Throws where sweeps of RICF are asked for, which are for one covariance matrix.
inline void expect_plain(const JointData& conditions) {
    if (!conditions.plain())
        throw std::invalid_argument("RICF is for one covariance matrix, without targets");
}

}  // namespace bowfree::bindings
