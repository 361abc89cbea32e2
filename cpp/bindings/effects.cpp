// Effects over the members of a class; `bowfree.effects.bounds` drives them.
#include "effects/effects.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <numeric>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "uncertainty/class_average.hpp"
#include "equivalence/classes.hpp"

namespace bowfree::bindings {

namespace {

using Stack = nb::ndarray<const Word, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
/// Arrays and numbers by name.
using Named = nb::typed<nb::dict, nb::str, nb::any>;
/// Members of each component of a class, and whether these are all.
using Size = std::pair<std::vector<std::uint64_t>, bool>;
using AverageAndSizes = std::pair<Named, std::vector<Size>>;
using Marks = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// Calls `visit` with every graph of a stack, the GIL being released.
template <class Visit>
void for_each_graph(int nodes, const Stack& parents, const Stack& spouses, Visit&& visit) {
    Graph graph(nodes);
    const auto d = static_cast<std::size_t>(nodes);
    const auto words = static_cast<std::size_t>(graph.words());
    for (const Stack* stack : {&parents, &spouses})
        if (stack->shape(0) != parents.shape(0) || stack->shape(1) != d || stack->shape(2) != words)
            throw std::invalid_argument("graphs must come as (members, d, words), twice");
    const nb::gil_scoped_release release;
    for (std::size_t g = 0; g < parents.shape(0); ++g) {
        for (std::size_t v = 0; v < d; ++v) {
            std::copy_n(parents.data() + (g * d + v) * words, words, graph.parents(int(v)));
            std::copy_n(spouses.data() + (g * d + v) * words, words, graph.spouses(int(v)));
        }
        visit(graph);
    }
}

void add_stack(EffectCounter& self, const Stack& parents, const Stack& spouses) {
    std::vector<int> nodes(self.d());
    std::iota(nodes.begin(), nodes.end(), 0);
    for_each_graph(self.d(), parents, spouses, [&](const Graph& graph) { self.add(graph, nodes); });
}

auto objectives(EffectCounter& self, const Stack& parents, const Stack& spouses) {
    std::vector<double> values;
    for_each_graph(self.d(), parents, spouses,
                   [&](const Graph& graph) { values.push_back(self.objective(graph)); });
    const std::size_t size = values.size();
    return to_numpy(std::move(values), {size});
}

void add_marks(EffectCounter& self, const std::vector<std::pair<int, int>>& edges,
               const Marks& marks) {
    if (marks.shape(1) != edges.size())
        throw std::invalid_argument("marks must have one column per edge");
    std::vector<int> nodes;
    for (const auto& [i, j] : edges) {
        if (i < 0 || i >= j || j >= self.d())
            throw std::invalid_argument("edges must be pairs i < j of nodes");
        nodes.insert(nodes.end(), {i, j});
    }
    const nb::gil_scoped_release release;
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    for (std::size_t g = 0; g < marks.shape(0); ++g)
        self.add(marked_graph(self.d(), edges, marks.data() + g * edges.size()), nodes);
}

std::vector<Graph> to_graphs(const Stack& parents, const Stack& spouses) {
    std::vector<Graph> graphs;
    for_each_graph(static_cast<int>(parents.shape(1)), parents, spouses,
                   [&](const Graph& graph) { graphs.push_back(graph); });
    return graphs;
}

auto first_of_class(const Stack& parents, const Stack& spouses, std::uint64_t seed) {
    const auto graphs = to_graphs(parents, spouses);
    std::vector<int> first;
    {
        const nb::gil_scoped_release release;
        first = first_equivalents(graphs, seed);
    }
    const std::size_t size = first.size();
    return to_numpy(std::move(first), {size});
}

AverageAndSizes average_classes(EffectCounter& self, const Stack& parents, const Stack& spouses,
                                const std::vector<double>& weights, std::uint64_t limit,
                                double zero, const Marks& knowledge,
                                std::optional<double> seconds) {
    const auto graphs = to_graphs(parents, spouses);
    if (weights.size() != graphs.size())
        throw std::invalid_argument("one weight per graph is needed");
    const std::vector<std::uint8_t> masks(knowledge.data(), knowledge.data() + knowledge.size());
    const ClassOptions options{0, limit, deadline_in(seconds)};
    ClassAverage average(self.d());
    std::vector<ClassSize> sizes;
    {
        const nb::gil_scoped_release release;
        for (std::size_t c = 0; c < graphs.size(); ++c) {
            sizes.push_back(add_class(self, graphs[c], weights[c], options, masks, zero, average));
            const nb::gil_scoped_acquire held;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        }
    }
    const auto d = static_cast<std::size_t>(self.d());
    const auto matrix = [d](std::vector<double>& values) {
        return to_numpy(std::move(values), {d, d});
    };
    Named found;
    found["probability"] = matrix(average.probability);
    found["min_abs"] = matrix(average.min_abs);
    found["mean_abs"] = matrix(average.mean_abs);
    found["max_abs"] = matrix(average.max_abs);
    found["mean"] = matrix(average.mean);
    found["positive"] = matrix(average.positive);
    found["negative"] = matrix(average.negative);
    found["directed"] = matrix(average.directed);
    found["bidirected"] = matrix(average.bidirected);
    std::vector<Size> classes;
    for (const ClassSize& size : sizes) classes.emplace_back(size.components, size.complete);
    return {found, classes};
}

Named to_dict(const EffectCounter& self) {
    const EffectTally& tally = self.tally();
    const auto d = static_cast<std::size_t>(self.d());
    const auto matrix = [d](const std::vector<double>& values) {
        return to_numpy(std::vector<double>(values), {d, d});
    };
    Named found;
    found["n_members"] = tally.n_members;
    found["lower"] = matrix(tally.lower);
    found["upper"] = matrix(tally.upper);
    found["min_abs"] = matrix(tally.min_abs);
    found["max_abs"] = matrix(tally.max_abs);
    found["sum"] = matrix(tally.sum);
    found["sum_abs"] = matrix(tally.sum_abs);
    found["positive"] = matrix(tally.positive);
    found["negative"] = matrix(tally.negative);
    return found;
}

}  // namespace

void bind_effects(nb::module_& m) {
    nb::class_<EffectCounter>(m, "EffectCounter", "Bounds on total effects, member by member.")
        .def(
            "__init__",
            [](EffectCounter* self, const Matrix& S, double path_sign, double zero,
               std::size_t max_districts) {
                new (self)
                    EffectCounter({S.data(), S.data() + S.size()}, static_cast<int>(S.shape(0)),
                                  path_sign, zero, max_districts);
            },
            nb::arg("S"), nb::arg("path_sign"), nb::arg("zero"), nb::arg("max_districts"))
        .def("add_graphs", &add_stack, nb::arg("parents"), nb::arg("spouses"),
             "Adds BAPs, given as two arrays of shape (members, d, words).")
        .def("add_marks", &add_marks, nb::arg("edges"), nb::arg("marks"),
             "Adds BAPs with these edges, given as marks of shape (members, edges). Only effects "
             "among the ends of the edges are looked at.")
        .def("objectives", &objectives, nb::arg("parents"), nb::arg("spouses"),
             "Sum of F over the districts of each of these BAPs, see cpp/model/likelihood.hpp.")
        .def("average_classes", &average_classes, nb::arg("parents"), nb::arg("spouses"),
             nb::arg("weights"), nb::arg("limit"), nb::arg("zero"), nb::arg("knowledge"),
             nb::arg("seconds").none(),
             "Weighted sums over the exact classes of these BAPs, and (members of each component, "
             "complete) of each class.")
        .def("reset", &EffectCounter::reset, "Forgets the members, not the fits.")
        .def("tally", &to_dict, "Bounds, sums and counts over the members, each (d, d).")
        .def_prop_ro("n_fits", &EffectCounter::n_fits, "Districts fitted.")
        .def_prop_ro("n_uncertified", &EffectCounter::n_uncertified,
                     "Of these, fits that are not certified to be a maximum.");
    m.def("first_of_class", &first_of_class, nb::arg("parents"), nb::arg("spouses"),
          nb::arg("seed"), "For each BAP the index of the first one that is equivalent to it.");
}

}  // namespace bowfree::bindings
