// How arrays cross the border between Python and the core. Used by the bindings only.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <stdexcept>
#include <vector>

#include "graph/graph.hpp"

namespace bowfree::bindings {

namespace nb = nanobind;

/// Graphs come in and go out as bitsets: uint64, shape (d, words), see graph.hpp.
using Bits = nb::ndarray<const Word, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
/// Matrices are row-major doubles.
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// The graph held by a pair of bit arrays. Python has validated the graph; only shapes are checked.
inline Graph to_graph(const Bits& parents, const Bits& spouses) {
    const int d = static_cast<int>(parents.shape(0));
    Graph graph(d);
    const auto words = static_cast<std::size_t>(graph.words());
    if (parents.shape(1) != words || spouses.shape(1) != words ||
        spouses.shape(0) != parents.shape(0))
        throw std::invalid_argument("graph bitsets must both have shape (d, (d + 63) / 64)");
    for (int i = 0; i < d; ++i)
        for (std::size_t w = 0; w < words; ++w) {
            graph.parents(i)[w] = parents(i, w);
            graph.spouses(i)[w] = spouses(i, w);
        }
    return graph;
}

/// Hands a vector to NumPy without copying it: the array owns the vector.
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T>&& values,
                                   std::initializer_list<std::size_t> shape) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(owned->data(), shape, owner);
}

}  // namespace bowfree::bindings
