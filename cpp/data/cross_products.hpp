// Sums of products of columns, in an order that does not depend on the machine.
#pragma once

#include <cstddef>
#include <vector>

#include "stop.hpp"

namespace bowfree {

/// X^T Y for X of n x d and Y of n x e, row-major; d x e. The additions are made in one fixed order
/// and without fused multiply-add, so the result has the same bits on every processor and for any
/// number of threads, unlike that of a BLAS.
std::vector<double> cross_products(const double* X, const double* Y, std::size_t n, std::size_t d,
                                   std::size_t e, const Stop& stop);

}  // namespace bowfree
