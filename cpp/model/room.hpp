// Memory for large matrices.
#pragma once

#include <cstddef>
#include <vector>

#include "stop.hpp"

namespace bowfree {

/// Gives a matrix so many entries; new ones are zero. The system hands out memory as it is written
/// to, which for hundreds of megabytes takes longer than many a fit: 8 MB at a time, and a look in
/// between.
inline void make_room(std::vector<double>& matrix, std::size_t size, const Stop* stop) {
    constexpr std::size_t some = std::size_t{1} << 20;
    matrix.reserve(size);
    while (matrix.size() + some < size) {
        if (stop) stop->check();
        matrix.resize(matrix.size() + some);
    }
    matrix.resize(size);
}

}  // namespace bowfree
