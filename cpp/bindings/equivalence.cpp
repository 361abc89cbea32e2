// Equivalence for Python: the exact test, classes as factors, the atlas.
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/calls.hpp"
#include "bindings/data.hpp"
#include "equivalence/atlas.hpp"
#include "equivalence/classes.hpp"
#include "equivalence/colliders.hpp"
#include "equivalence/empirical.hpp"
#include "equivalence/splitting.hpp"

namespace bowfree::bindings {

namespace {

using namespace nb::literals;

/// Edges, orbit, n_baps, n_classes, largest_class, n_split, edge kinds of an example of a split class.
using AtlasRow = std::tuple<std::vector<std::pair<int, int>>, std::uint64_t, std::uint64_t,
                            std::uint64_t, std::uint64_t, std::uint64_t, std::vector<int>>;
/// Edges, their states in each member, complete.
using Factor = std::tuple<std::vector<int>, nb::ndarray<nb::numpy, std::uint8_t>, bool>;

std::vector<Factor> to_factors(std::vector<ClassFactor> factors) {
    std::vector<Factor> out;
    for (ClassFactor& factor : factors)
        out.emplace_back(factor.edges,
                         to_numpy(std::move(factor.members.kinds),
                                  {factor.members.n_members, factor.edges.size()}),
                         factor.members.complete);
    return out;
}

bool bow_free(const Graph& graph) {
    for (int v = 0; v < graph.d(); ++v)
        for (int w = 0; w < graph.words(); ++w)
            if (graph.parents(v)[w] & graph.spouses(v)[w]) return false;
    return true;
}

/// The answer, then conflict, condition, the other condition, and the pair; see `InclusionTest`.
std::tuple<int, int, int, int, int, int> decide(int d, const std::vector<Word>& parents_g,
                                                const std::vector<Word>& spouses_g,
                                                const std::vector<Word>& parents_h,
                                                const std::vector<Word>& spouses_h,
                                                const GivenConditions& given, std::uint64_t seed,
                                                bool equivalence) {
    const Graph G = to_graph(d, parents_g, spouses_g), H = to_graph(d, parents_h, spouses_h);
    InclusionOracle oracle(G, to_conditions(d, given), seed);
    const std::vector<int> order = topological_order(H);
    const auto answer = [](int code) { return std::tuple(code, 0, -1, -1, -1, -1); };
    if ((d > 0 && oracle.order().empty()) || (equivalence && !bow_free(G))) return answer(-1);
    if ((d > 0 && order.empty()) || !bow_free(H)) return answer(-2);
    // Equivalent BAPs share the skeleton, unless an edge is absent in all conditions. Without
    // interventions a skeleton has one dimension: one inclusion decides.
    if (equivalence && given.empty() && !same_skeleton(G, H)) return answer(0);
    const InclusionTest test = interruptibly([&](const Stop& stop) {
        return equivalence && !given.empty() ? oracle.equal(H, order, stop)
                                             : oracle.inside(H, order, stop);
    });
    return {test.answer == Inclusion::yes,
            static_cast<int>(test.conflict),
            test.condition,
            test.other,
            test.a,
            test.b};
}

}  // namespace

void bind_equivalence(nb::module_& m) {
    m.def("decide", &decide, "d"_a, "parents_g"_a, "spouses_g"_a, "parents_h"_a, "spouses_h"_a,
          "conditions"_a, "seed"_a, "equivalence"_a,
          "Whether the model of G is inside that of H (`equivalence`: equal to that of H), under "
          "conditions (kind, targets).\n\n"
          "Graphs are lists of the words of all rows. Returns (answer, conflict, condition, other, "
          "a, b), see cpp/equivalence/decision.hpp; answer is 1 or 0, or -1 (G) or -2 (H) if that "
          "graph has a cycle or a bow.");
    m.def(
        "split_members",
        [](const Bits& parents, const Bits& spouses, const Bytes& kinds,
           const GivenConditions& known, const GivenConditions& additions, std::uint64_t seed,
           int n_threads,
           std::optional<double> seconds) -> std::optional<nb::ndarray<nb::numpy, std::int32_t>> {
            const Graph graph = to_graph(parents, spouses);
            const auto edges = skeleton_edges(graph);
            expect_shape(kinds, {kinds.shape(0), edges.size()},
                         "kinds must have a column for each edge of the skeleton");
            const Conditions before = to_conditions(graph.d(), known);
            const Conditions more = to_conditions(graph.d(), additions);
            const auto* data = reinterpret_cast<const Edge*>(kinds.data());
            try {
                return to_numpy(interruptibly(seconds,
                                              [&](const Stop& stop) {
                                                  return split_members(graph, edges, data,
                                                                       kinds.shape(0), before, more,
                                                                       seed, n_threads, stop);
                                              }),
                                {kinds.shape(0), more.size()});
            } catch (const Stopped&) {
                return std::nullopt;
            }
        },
        "parents"_a, "spouses"_a, "kinds"_a, "known"_a, "additions"_a, "seed"_a, "n_threads"_a,
        "seconds"_a.none(),
        "The classes of the members of a class after adding each condition: int32, (members, "
        "additions). `kinds`: pair states of the edges of the skeleton. None if time was up.");
    m.def(
        "class_factors",
        [](const Bits& parents, const Bits& spouses, bool exact, std::uint64_t seed,
           std::uint64_t limit, std::optional<double> seconds, const GivenConditions& conditions,
           const nb::object& progress) {
            const Graph graph = to_graph(parents, spouses);
            const ClassOptions options{seed, limit, to_conditions(graph.d(), conditions)};
            auto factors = interruptibly(seconds, progress, [&](const Stop& stop) {
                return class_factors(graph, exact ? ClassMethod::exact : ClassMethod::edge_changes,
                                     options, stop);
            });
            return to_factors(std::move(factors));
        },
        "parents"_a, "spouses"_a, "exact"_a, "seed"_a, "limit"_a, "seconds"_a.none(),
        "conditions"_a = GivenConditions{}, "progress"_a.none() = nb::none(),
        "The class, one (edges, kinds, complete) per connected component; kinds are pair states.");
    m.def(
        "collider_sizes",
        [](const Bits& parents, const Bits& spouses) {
            std::vector<std::uint64_t> sizes;
            for (const ColliderTree& tree : collider_trees(to_graph(parents, spouses)))
                sizes.push_back(tree.n_options());
            return sizes;
        },
        "parents"_a, "spouses"_a,
        "Number of options of each independent choice among the collider-invariant graphs.");
    m.def(
        "collider_factors",
        [](const Bits& parents, const Bits& spouses) {
            return to_factors(collider_factors(to_graph(parents, spouses)));
        },
        "parents"_a, "spouses"_a,
        "The collider-invariant graphs, one (edges, kinds, complete) per independent choice.");
    m.def(
        "empirical_class",
        [](const Matrix& S, const Bits& parents, const Bits& spouses, double epsilon, int max_depth,
           std::uint64_t limit, std::optional<double> seconds, int sweeps,
           const nb::object& progress) {
            const Graph graph = to_graph(parents, spouses);
            const std::vector<double> cov = to_square(S, graph.d());
            EmpiricalMembers found = interruptibly(seconds, progress, [&](const Stop& stop) {
                return empirical_class(graph, cov.data(), {epsilon, max_depth, sweeps, {0, limit}},
                                       stop);
            });
            const auto n = static_cast<std::size_t>(found.members.n_members);
            const std::size_t m = n == 0 ? 0 : found.members.kinds.size() / n;
            return std::make_tuple(to_numpy(std::move(found.members.kinds), {n, m}),
                                   to_numpy(std::move(found.objective)), found.own,
                                   found.members.complete);
        },
        "S"_a, "parents"_a, "spouses"_a, "epsilon"_a, "max_depth"_a, "limit"_a, "seconds"_a.none(),
        "sweeps"_a = 0, "progress"_a.none() = nb::none(),
        "Section 3.3: (kinds, objective of each, objective of the graph, complete).");
    m.def(
        "atlas",
        [](int d, std::uint64_t seed, int n_threads, const GivenConditions& given) {
            const Conditions conditions = to_conditions(d, given);
            const auto entries = interruptibly(
                [&](const Stop& stop) { return atlas(d, conditions, seed, n_threads, stop); });
            std::vector<AtlasRow> out;
            for (const SkeletonCounts& entry : entries) {
                std::vector<int> example;
                for (const Edge edge : entry.split_example)
                    example.push_back(static_cast<int>(edge));
                out.emplace_back(entry.edges, entry.orbit, entry.n_baps, entry.n_classes,
                                 entry.largest_class, entry.n_split, std::move(example));
            }
            return out;
        },
        "d"_a, "seed"_a, "n_threads"_a, "conditions"_a = GivenConditions{},
        "Per unlabeled skeleton: edges, orbit, n_baps, n_classes, largest_class, n_split, "
        "example.");
}

}  // namespace bowfree::bindings
