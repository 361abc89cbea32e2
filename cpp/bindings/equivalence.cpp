// Equivalence for Python: the exact test, classes as factors, the atlas.
#include "equivalence/equivalence.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "equivalence/atlas.hpp"
#include "bindings/bindings.hpp"
#include "equivalence/classes.hpp"
#include "equivalence/colliders.hpp"
#include "equivalence/empirical.hpp"

namespace bowfree::bindings {

namespace {

using Stack = nb::ndarray<const Word, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Marks = nb::ndarray<nb::numpy, std::uint8_t>;
using Answer = std::tuple<bool, int, int>;  // inside?, and if not the pair that fails

Answer to_answer(const InclusionTest& test) {
    return {test.answer == Inclusion::yes, test.a, test.b};
}

/// Edges, orbit, n_baps, n_classes, largest_class, n_split, marks of an example of a split class.
using AtlasRow = std::tuple<std::vector<std::pair<int, int>>, std::uint64_t, std::uint64_t,
                            std::uint64_t, std::uint64_t, std::uint64_t, std::vector<int>>;
using Factor = std::tuple<std::vector<int>, Marks, bool>;  // edges, marks, complete

std::vector<Factor> to_factors(std::vector<ClassFactor>&& factors) {
    std::vector<Factor> out;
    for (ClassFactor& factor : factors)
        out.emplace_back(factor.edges,
                         to_numpy(std::move(factor.members.marks),
                                  {factor.members.n_members, factor.edges.size()}),
                         factor.members.complete);
    return out;
}

/// A graph from the words of all its rows. For up to 64 nodes these are the masks that a Python
/// graph holds, which makes a decision on a small graph cheaper than creating one array.
Graph from_words(int d, const std::vector<Word>& parents, const std::vector<Word>& spouses) {
    Graph graph(d);
    const auto size = static_cast<std::size_t>(d) * graph.words();
    if (parents.size() != size || spouses.size() != size)
        throw std::invalid_argument("graph masks must have d * ((d + 63) / 64) words");
    if (d > 0) {
        std::copy(parents.begin(), parents.end(), graph.parents(0));
        std::copy(spouses.begin(), spouses.end(), graph.spouses(0));
    }
    return graph;
}

bool bow_free(const Graph& graph) {
    for (int v = 0; v < graph.d(); ++v)
        for (int w = 0; w < graph.words(); ++w)
            if (graph.parents(v)[w] & graph.spouses(v)[w]) return false;
    return true;
}

bool same_skeleton(const Graph& G, const Graph& H) {
    for (int i = 0; i < G.d(); ++i)
        for (int j = 0; j < i; ++j)
            if (G.adjacent(i, j) != H.adjacent(i, j)) return false;
    return true;
}

std::tuple<int, int, int> decide(int d, const std::vector<Word>& parents_g,
                                 const std::vector<Word>& spouses_g,
                                 const std::vector<Word>& parents_h,
                                 const std::vector<Word>& spouses_h, std::uint64_t seed,
                                 bool equivalence) {
    const Graph G = from_words(d, parents_g, spouses_g), H = from_words(d, parents_h, spouses_h);
    const std::vector<int> order_G = topological_order(G), order_H = topological_order(H);
    const auto acyclic = [d](const auto& order) { return static_cast<int>(order.size()) == d; };
    if (!acyclic(order_G) || (equivalence && !bow_free(G))) return {-1, -1, -1};
    if (!acyclic(order_H) || !bow_free(H)) return {-2, -1, -1};
    // Equivalent BAPs share the skeleton, and a skeleton has one dimension: one inclusion decides.
    if (equivalence && !same_skeleton(G, H)) return {0, -1, -1};
    const nb::gil_scoped_release release;
    const InclusionTest test = inside(G, order_G, H, order_H, seed);
    return {test.answer == Inclusion::yes, test.a, test.b};
}

}  // namespace

void bind_equivalence(nb::module_& m) {
    m.def(
        "random_covariance",
        [](const Bits& parents, const Bits& spouses, std::uint64_t seed) {
            const Graph graph = to_graph(parents, spouses);
            const auto d = static_cast<std::size_t>(graph.d());
            return to_numpy(random_covariance(graph, topological_order(graph), seed), {d, d});
        },
        nb::arg("parents"), nb::arg("spouses"), nb::arg("seed"),
        "Sigma of the graph at random parameters modulo 2^61 - 1.");
    m.def(
        "produces",
        [](const Bits& parents, const Bits& spouses,
           const nb::ndarray<const Word, nb::ndim<2>, nb::c_contig, nb::device::cpu>& Sigma)
            -> std::optional<Answer> {
            const Graph H = to_graph(parents, spouses);
            const InclusionTest test = produces(H, topological_order(H), Sigma.data());
            if (test.answer == Inclusion::singular) return std::nullopt;
            return to_answer(test);
        },
        nb::arg("parents"), nb::arg("spouses"), nb::arg("Sigma"),
        "Can the BAP produce Sigma (modulo 2^61 - 1)? None when a system is singular.");
    m.def(
        "decide", &decide, nb::arg("d"), nb::arg("parents_g"), nb::arg("spouses_g"),
        nb::arg("parents_h"), nb::arg("spouses_h"), nb::arg("seed"), nb::arg("equivalence"),
        "Is the model of G inside that of H (`equivalence`: the same as that of H)?\n\n"
        "Graphs come as the words of all rows in one list. Returns (answer, a, b): answer is 1 or\n"
        "0, with the pair of H that fails if a constraint decided; -1 (G) or -2 (H) for a graph\n"
        "that has a cycle or a bow where none may be.");
    nb::class_<Witness>(m, "Witness", "Sigma of one graph at two random points.")
        .def(
            "__init__",
            [](Witness* self, const Bits& parents, const Bits& spouses, std::uint64_t seed) {
                new (self) Witness(to_graph(parents, spouses), seed);
            },
            nb::arg("parents"), nb::arg("spouses"), nb::arg("seed"))
        .def(
            "inside",
            [](const Witness& self, const Bits& parents, const Bits& spouses) {
                return to_answer(self.inside(to_graph(parents, spouses)));
            },
            nb::arg("parents"), nb::arg("spouses"), "Is the model inside that of the BAP?")
        .def(
            "inside_each",
            [](const Witness& self, const Stack& parents, const Stack& spouses) {
                std::vector<std::uint8_t> answers(parents.shape(0));
                {
                    const nb::gil_scoped_release release;
                    Graph H(self.d());
                    const auto row = static_cast<std::size_t>(H.words());
                    const std::size_t size = self.d() * row;
                    for (std::size_t i = 0; i < answers.size(); ++i) {
                        for (std::size_t v = 0; v < parents.shape(1); ++v)
                            for (std::size_t w = 0; w < row; ++w) {
                                H.parents(v)[w] = parents.data()[i * size + v * row + w];
                                H.spouses(v)[w] = spouses.data()[i * size + v * row + w];
                            }
                        answers[i] = self.inside(H).answer == Inclusion::yes;
                    }
                }
                const std::size_t n = answers.size();
                return to_numpy(std::move(answers), {n});
            },
            nb::arg("parents"), nb::arg("spouses"),
            "The same for many BAPs, stacked along the first axis: uint8, 1 means inside.");
    m.def(
        "class_factors",
        [](const Bits& parents, const Bits& spouses, bool exact, std::uint64_t seed,
           std::uint64_t limit, std::optional<double> seconds) {
            const Graph graph = to_graph(parents, spouses);
            std::vector<ClassFactor> factors;
            {
                const nb::gil_scoped_release release;
                factors =
                    class_factors(graph, exact ? ClassMethod::exact : ClassMethod::edge_changes,
                                  {seed, limit, deadline_in(seconds)});
            }
            return to_factors(std::move(factors));
        },
        nb::arg("parents"), nb::arg("spouses"), nb::arg("exact"), nb::arg("seed"), nb::arg("limit"),
        nb::arg("seconds").none(),
        "The class, one (edges, marks, complete) per connected component.");
    m.def(
        "collider_sizes",
        [](const Bits& parents, const Bits& spouses) {
            std::vector<std::uint64_t> sizes;
            for (const ColliderTree& tree : collider_trees(to_graph(parents, spouses)))
                sizes.push_back(tree.n_options());
            return sizes;
        },
        nb::arg("parents"), nb::arg("spouses"),
        "Number of options of each independent choice among the collider-invariant graphs.");
    m.def(
        "collider_factors",
        [](const Bits& parents, const Bits& spouses) {
            return to_factors(collider_factors(to_graph(parents, spouses)));
        },
        nb::arg("parents"), nb::arg("spouses"),
        "The collider-invariant graphs, one (edges, marks, complete) per independent choice.");
    m.def(
        "empirical_class",
        [](const Matrix& S, const Bits& parents, const Bits& spouses, double epsilon, int max_depth,
           std::uint64_t limit, std::optional<double> seconds, int sweeps) {
            const Graph graph = to_graph(parents, spouses);
            EmpiricalMembers found;
            {
                const nb::gil_scoped_release release;
                found =
                    empirical_class(graph, S.data(),
                                    {epsilon, max_depth, sweeps, {0, limit, deadline_in(seconds)}});
            }
            const auto n = static_cast<std::size_t>(found.members.n_members);
            const std::size_t m = n == 0 ? 0 : found.members.marks.size() / n;
            return std::make_tuple(to_numpy(std::move(found.members.marks), {n, m}),
                                   to_numpy(std::move(found.objective), {n}), found.own,
                                   found.members.complete);
        },
        nb::arg("S"), nb::arg("parents"), nb::arg("spouses"), nb::arg("epsilon"),
        nb::arg("max_depth"), nb::arg("limit"), nb::arg("seconds").none(), nb::arg("sweeps") = 0,
        "Section 3.3: (marks, objective of each, objective of the graph, complete).");
    m.def(
        "atlas",
        [](int d, std::uint64_t seed, int n_threads) {
            std::vector<SkeletonCounts> entries;
            {
                const nb::gil_scoped_release release;
                entries = atlas(d, seed, n_threads);
            }
            std::vector<AtlasRow> out;
            for (const SkeletonCounts& entry : entries)
                out.emplace_back(
                    entry.edges, entry.orbit, entry.n_baps, entry.n_classes, entry.largest_class,
                    entry.n_split,
                    std::vector<int>(entry.split_example.begin(), entry.split_example.end()));
            return out;
        },
        nb::arg("d"), nb::arg("seed"), nb::arg("n_threads"),
        "Per unlabelled skeleton: edges, orbit, n_baps, n_classes, largest_class, n_split, "
        "example.");
}

}  // namespace bowfree::bindings
