// Concordant and discordant pairs of rows, for Kendall's tau and its standard error.
#pragma once

#include <cstdint>
#include <vector>

#include "stop.hpp"

namespace bowfree {

/// For each row i the sum over all rows j of sign(x_i - x_j) sign(y_i - y_j): pairs in the same
/// order minus pairs in opposite order; ties count zero. `x` and `y` are dense ranks,
/// 0 <= rank < n. Time O(n log n).
std::vector<std::int64_t> concordance(const std::int32_t* x, const std::int32_t* y, int n,
                                      const Stop* stop = nullptr);

}  // namespace bowfree
