// Conversion of arrays between Python and the core, with checks of their shapes. Values have been
// validated in Python. Used by the bindings only.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/edge.hpp"
#include "graph/graph.hpp"
#include "search/pool.hpp"
#include "space/rules.hpp"

namespace bowfree::bindings {

namespace nb = nanobind;

template <class T, int dimensions>
using Array = nb::ndarray<const T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

/// Graphs are passed as adjacency words, see graph.hpp: uint64, one graph of shape (d, words), many
/// of shape (graphs, d, words).
using Bits = Array<Word, 2>;
using BitStack = Array<Word, 3>;
using BitArrays = std::pair<nb::ndarray<nb::numpy, Word>, nb::ndarray<nb::numpy, Word>>;
/// Matrices are row-major doubles.
using Matrix = Array<double, 2>;
/// Pair states as in edge.hpp, or sets of them as bits: uint8.
using Bytes = Array<std::uint8_t, 2>;
/// Arrays and numbers by name.
using Named = nb::typed<nb::dict, nb::str, nb::any>;

/// Throws unless the array has this shape.
template <class AnyArray>
void expect_shape(const AnyArray& array, std::initializer_list<std::size_t> shape,
                  const char* what) {
    std::size_t axis = 0;
    for (const std::size_t size : shape)
        if (array.shape(axis++) != size) throw std::invalid_argument(what);
}

/// The entries of a d x d matrix; with d = -1, of any square one.
inline std::vector<double> to_square(const Matrix& S, int d = -1) {
    const std::size_t size = d < 0 ? S.shape(0) : static_cast<std::size_t>(d);
    expect_shape(S, {size, size}, "S must have shape (d, d), d being the number of nodes");
    return {S.data(), S.data() + S.size()};
}

/// Copies adjacency words into a graph of the same size.
inline void copy_rows(const Word* parents, const Word* spouses, Graph& graph) {
    if (graph.d() == 0) return;
    const auto size = static_cast<std::size_t>(graph.d()) * graph.words();
    std::copy_n(parents, size, graph.parents(0));
    std::copy_n(spouses, size, graph.spouses(0));
}

inline Graph to_graph(const Bits& parents, const Bits& spouses) {
    Graph graph(static_cast<int>(parents.shape(0)));
    const auto words = static_cast<std::size_t>(graph.words());
    for (const Bits* bits : {&parents, &spouses})
        expect_shape(*bits, {parents.shape(0), words},
                     "graph bitsets must both have shape (d, (d + 63) / 64)");
    copy_rows(parents.data(), spouses.data(), graph);
    return graph;
}

/// A graph from the words of all its rows, in lists: for a small graph this takes less time than
/// creating an array.
inline Graph to_graph(int d, const std::vector<Word>& parents, const std::vector<Word>& spouses) {
    Graph graph(d);
    const auto size = static_cast<std::size_t>(d) * graph.words();
    if (parents.size() != size || spouses.size() != size)
        throw std::invalid_argument("graph masks must have d * ((d + 63) / 64) words");
    copy_rows(parents.data(), spouses.data(), graph);
    return graph;
}

/// Throws unless the graph has d nodes.
inline void expect_nodes(const Graph& graph, int d) {
    if (graph.d() != d) throw std::invalid_argument("all graphs must have as many nodes as S");
}

/// Throws unless the rules are for d nodes.
inline void expect_nodes(const Rules& rules, int d) {
    if (!rules.knowledge.empty() && rules.knowledge.size() != static_cast<std::size_t>(d) * d)
        throw std::invalid_argument("knowledge must have shape (d, d) or (0, 0)");
}

/// Calls `visit` with every graph of a stack; does not need the GIL.
template <class Visit>
void for_each_graph(int d, const BitStack& parents, const BitStack& spouses, Visit&& visit) {
    Graph graph(d);
    const auto nodes = static_cast<std::size_t>(d), words = static_cast<std::size_t>(graph.words());
    for (const BitStack* stack : {&parents, &spouses})
        expect_shape(*stack, {parents.shape(0), nodes, words},
                     "graphs must come as (graphs, d, (d + 63) / 64), twice");
    for (std::size_t g = 0; g < parents.shape(0); ++g) {
        copy_rows(parents.data() + g * nodes * words, spouses.data() + g * nodes * words, graph);
        visit(graph);
    }
}

inline std::vector<Graph> to_graphs(const BitStack& parents, const BitStack& spouses) {
    std::vector<Graph> graphs;
    for_each_graph(static_cast<int>(parents.shape(1)), parents, spouses,
                   [&](const Graph& graph) { graphs.push_back(graph); });
    return graphs;
}

/// An array that owns the vector, without a copy.
template <class T>
auto to_numpy(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    // Pair states are uint8 in Python.
    using Entry = std::conditional_t<std::is_same_v<T, Edge>, std::uint8_t, T>;
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, Entry>(reinterpret_cast<Entry*>(owned->data()), shape, owner);
}

/// One axis.
template <class T>
auto to_numpy(std::vector<T>&& values) {
    const std::size_t size = values.size();
    return to_numpy(std::move(values), {size});
}

/// Collects graphs on d nodes into two arrays for Python.
class GraphStack {
  public:
    explicit GraphStack(int d) : d_(d), words_(words_for(d)) {}

    void push(const Graph& graph) {
        const std::size_t size = d_ * words_;
        ++n_graphs_;
        if (size == 0) return;
        parents_.insert(parents_.end(), graph.parents(0), graph.parents(0) + size);
        spouses_.insert(spouses_.end(), graph.spouses(0), graph.spouses(0) + size);
    }

    /// Two arrays of shape (graphs, d, words).
    BitArrays to_python() && {
        return {to_numpy(std::move(parents_), {n_graphs_, d_, words_}),
                to_numpy(std::move(spouses_), {n_graphs_, d_, words_})};
    }
    /// For a single graph: two arrays of shape (d, words).
    BitArrays single_to_python() && {
        return {to_numpy(std::move(parents_), {d_, words_}),
                to_numpy(std::move(spouses_), {d_, words_})};
    }

  private:
    std::size_t d_, words_, n_graphs_ = 0;
    std::vector<Word> parents_, spouses_;
};

/// Parents and spouses, (graphs, d, words) each, and the scores.
using ScoredStack = std::tuple<nb::ndarray<nb::numpy, Word>, nb::ndarray<nb::numpy, Word>,
                               nb::ndarray<nb::numpy, double>>;

inline ScoredStack to_scored_stack(int d, const std::vector<Scored>& graphs) {
    GraphStack stack(d);
    std::vector<double> scores;
    for (const auto& [graph, score] : graphs) {
        stack.push(graph);
        scores.push_back(score);
    }
    auto [parents, spouses] = std::move(stack).to_python();
    return {std::move(parents), std::move(spouses), to_numpy(std::move(scores))};
}

inline BitArrays to_bits(const Graph& graph) {
    GraphStack one(graph.d());
    one.push(graph);
    return std::move(one).single_to_python();
}

}  // namespace bowfree::bindings
