// Rules and the random graphs of section 3.2.
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/calls.hpp"
#include "space/random_graphs.hpp"

namespace bowfree::bindings {

namespace {

using namespace nb::literals;

BitArrays sample_mcmc(const Bits& parents, const Bits& spouses, const Rules& rules,
                      std::size_t size, std::int64_t burn_in, std::int64_t thin, bool printed_step,
                      std::uint64_t seed) {
    const Graph start = to_graph(parents, spouses);
    expect_nodes(rules, start.d());
    const WalkStep step = printed_step ? WalkStep::printed : WalkStep::symmetric;
    GraphStack found(start.d());
    interruptibly([&](const Stop& stop) {
        if (thin > 0) {
            RandomWalk walk(start, rules, step, Rng(seed));
            for (std::size_t s = 0; s < size; ++s) {
                walk.advance(s == 0 ? burn_in : thin, stop);
                found.push(walk.graph());
            }
        } else {
            for (std::size_t s = 0; s < size; ++s) {
                RandomWalk walk(start, rules, step, Rng(seed, s));
                walk.advance(burn_in, stop);
                found.push(walk.graph());
            }
        }
    });
    return std::move(found).to_python();
}

BitArrays sample_triangular(int d, const Rules& rules, std::size_t size, std::uint64_t seed) {
    GraphStack found(d);
    Rng rng(seed);
    interruptibly([&](const Stop& stop) {
        for (std::size_t s = 0; s < size; ++s) {
            stop.check();
            found.push(sample_naive(d, rules.graph_class, rng));
        }
    });
    return std::move(found).to_python();
}

}  // namespace

void bind_space(nb::module_& m) {
    nb::class_<Rules>(m, "Rules", "Constraints on graphs: class, limits (-1: none) and knowledge.")
        .def(
            "__init__",
            [](Rules* self, int graph_class, int max_in_degree, int max_edges, int max_district,
               const Bytes& knowledge) {
                if (knowledge.shape(0) != knowledge.shape(1))
                    throw std::invalid_argument("knowledge must have shape (d, d) or (0, 0)");
                new (self) Rules{static_cast<GraphClass>(graph_class), max_in_degree, max_edges,
                                 max_district,
                                 std::vector<std::uint8_t>(knowledge.data(),
                                                           knowledge.data() + knowledge.size())};
            },
            "graph_class"_a, "max_in_degree"_a, "max_edges"_a, "max_district"_a, "knowledge"_a,
            "graph_class: 0 bap, 1 dag, 2 bidirected, 3 ancestral, 4 arid. knowledge: uint8 "
            "(d, d), or (0, 0) for none; bit e of [i, j], i < j, permits edge e (0 none, 1 i -> j, "
            "2 j -> i, 3 i <-> j).")
        .def(
            "permits",
            [](const Rules& self, const Bits& parents, const Bits& spouses) {
                const Graph graph = to_graph(parents, spouses);
                expect_nodes(self, graph.d());
                return self.permits(graph);
            },
            "parents"_a, "spouses"_a, "True when the graph satisfies every rule.");
    m.def("sample_mcmc", &sample_mcmc, "parents"_a, "spouses"_a, "rules"_a, "size"_a, "burn_in"_a,
          "thin"_a, "printed_step"_a, "seed"_a,
          "Graphs of a random walk from the given one: one walk with `thin` steps between samples "
          "or, with thin = 0, independent walks. Returns (parents, spouses), each "
          "(size, d, words).");
    m.def("sample_triangular", &sample_triangular, "d"_a, "rules"_a, "size"_a, "seed"_a,
          "The naive sampler; returns as `sample_mcmc`.");
}

}  // namespace bowfree::bindings
