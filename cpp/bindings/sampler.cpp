// Rules and the random graphs of section 3.2.
#include "space/sampler.hpp"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"

namespace bowfree::bindings {

namespace {

using Knowledge = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using BitArrays = std::pair<nb::ndarray<nb::numpy, Word>, nb::ndarray<nb::numpy, Word>>;

/// Graphs found one after the other, as two bit arrays of shape (size, d, words).
class GraphStack {
  public:
    explicit GraphStack(const Graph& like) : d_(like.d()), words_(like.words()) {}

    void push(const Graph& graph) {
        for (int i = 0; i < d_; ++i) {
            parents_.insert(parents_.end(), graph.parents(i), graph.parents(i) + words_);
            spouses_.insert(spouses_.end(), graph.spouses(i), graph.spouses(i) + words_);
        }
        ++size_;
    }

    BitArrays to_python() {
        const std::size_t d = d_, words = words_;
        return {to_numpy(std::move(parents_), {size_, d, words}),
                to_numpy(std::move(spouses_), {size_, d, words})};
    }

  private:
    int d_, words_;
    std::size_t size_ = 0;
    std::vector<Word> parents_, spouses_;
};

void raise_pending_signal() {
    nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Walks in pieces short enough that Ctrl-C is noticed within a fraction of a second.
void walk_interruptibly(Chain& chain, std::int64_t steps) {
    constexpr std::int64_t piece = 1'000'000;
    const std::atomic<bool> never{false};
    for (; steps > 0; steps -= piece) {
        chain.walk(std::min(piece, steps), never);
        raise_pending_signal();
    }
}

BitArrays sample_mcmc(const Bits& parents, const Bits& spouses, const Rules& rules,
                      std::size_t size, std::int64_t burn_in, std::int64_t thin, bool printed_step,
                      std::uint64_t seed) {
    const Graph start = to_graph(parents, spouses);
    const ChainStep step = printed_step ? ChainStep::printed : ChainStep::symmetric;
    GraphStack found(start);
    {
        nb::gil_scoped_release released;
        if (thin > 0) {
            Chain chain(start, rules, step, Rng(seed));
            walk_interruptibly(chain, burn_in);
            for (std::size_t s = 0; s < size; ++s) {
                if (s > 0) walk_interruptibly(chain, thin);
                found.push(chain.graph());
            }
        } else {
            for (std::size_t s = 0; s < size; ++s) {
                Chain chain(start, rules, step, Rng(seed, s));
                walk_interruptibly(chain, burn_in);
                found.push(chain.graph());
            }
        }
    }
    return found.to_python();
}

BitArrays sample_triangular(int d, const Rules& rules, std::size_t size, std::uint64_t seed) {
    GraphStack found{Graph(d)};
    Rng rng(seed);
    for (std::size_t s = 0; s < size; ++s) found.push(sample_naive(d, rules.graph_class, rng));
    return found.to_python();
}

}  // namespace

void bind_sampler(nb::module_& m) {
    nb::class_<Rules>(m, "Rules",
                      "Class, limits (-1: none) and knowledge that every graph satisfies.")
        .def(
            "__init__",
            [](Rules* self, int graph_class, int max_in_degree, int max_edges, int max_district,
               const Knowledge& knowledge) {
                new (self) Rules{static_cast<GraphClass>(graph_class), max_in_degree, max_edges,
                                 max_district,
                                 std::vector<std::uint8_t>(knowledge.data(),
                                                           knowledge.data() + knowledge.size())};
            },
            nb::arg("graph_class"), nb::arg("max_in_degree"), nb::arg("max_edges"),
            nb::arg("max_district"), nb::arg("knowledge"),
            "graph_class: 0 bap, 1 dag, 2 bidirected, 3 ancestral, 4 arid. knowledge: uint8 "
            "(d, d), or (0, 0) for none; bit e of [i, j], i < j, permits edge e (0 none, 1 i -> j, "
            "2 j -> i, 3 i <-> j).")
        .def(
            "permits",
            [](const Rules& self, const Bits& parents, const Bits& spouses) {
                const Graph graph = to_graph(parents, spouses);
                return self.permits(graph);
            },
            nb::arg("parents"), nb::arg("spouses"), "True when the graph satisfies every rule.");
    m.def("sample_mcmc", &sample_mcmc, nb::arg("parents"), nb::arg("spouses"), nb::arg("rules"),
          nb::arg("size"), nb::arg("burn_in"), nb::arg("thin"), nb::arg("printed_step"),
          nb::arg("seed"),
          "Graphs from the chain started at the given one: one chain with `thin` steps between "
          "samples, or, with thin = 0, independent chains. Returns (parents, spouses), each "
          "(size, d, words).");
    m.def("sample_triangular", &sample_triangular, nb::arg("d"), nb::arg("rules"), nb::arg("size"),
          nb::arg("seed"), "The naive sampler; returns as `sample_mcmc`.");
}

}  // namespace bowfree::bindings
