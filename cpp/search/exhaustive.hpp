// The scores of all graphs that the rules permit, for few nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "model/scorer.hpp"
#include "space/rules.hpp"

namespace bowfree {

struct AllScores {
    /// The pairs (0,1), (0,2), (1,2), (0,3), ... as digits in base 4, values as in edge.hpp.
    std::vector<std::uint32_t> codes;
    std::vector<double> scores;
};

/// Scores all graphs on `scorer.d()` <= 5 nodes, in ascending order of their codes.
AllScores score_all(Scorer& scorer, const Rules& rules, const Stop& stop);

}  // namespace bowfree
