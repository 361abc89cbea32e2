// Chains over graphs, mixtures of effects, and averages.
#include "equivalence/classes.hpp"
#include "tests/check.hpp"
#include "tests/examples.hpp"
#include "uncertainty/averaging.hpp"
#include "uncertainty/effect_mixture.hpp"
#include "uncertainty/structure_mcmc.hpp"

using namespace bowfree;
using namespace bowfree::tests;

namespace {

constexpr double n_rows = 40.0;

}  // namespace

TEST(chains_can_be_cut_anywhere_on_any_number_of_threads) {
    const Matrix S = sample_of(sparse_graph(6, 1, 7), 40, 1);
    Scorer scorer(JointData(S, 6), n_rows, 0.5, std::size_t{1} << 20);
    const GraphPosterior posterior{n_rows, {}};
    const Stop stop;
    StructureChains whole(scorer, Rules(), {Graph(6), Graph(6)}, posterior, 20, 5.0, 1);
    StructureChains cut(scorer, Rules(), {Graph(6), Graph(6)}, posterior, 20, 5.0, 1);
    whole.run(1000, 3, 1, stop);
    for (const int steps : {1, 99, 900}) cut.run(steps, 3, 2, stop);
    for (const int c : {0, 1}) {
        CHECK(whole.chains()[c].record.states == cut.chains()[c].record.states);
        CHECK(whole.chains()[c].record.scores == cut.chains()[c].record.scores);
        CHECK(whole.chains()[c].state.graph == cut.chains()[c].state.graph);
    }
}

TEST(memory_counts_parts_of_graphs) {
    GraphMemory memory(3, 100);
    // Pairs (0,1), (0,2), (1,2).
    memory.add({1, 0, 3, 1, 2, 3, 1, 0, 0}, Stop());
    CHECK_EQUAL(memory.size(), 3u);
    CHECK_EQUAL(memory.count({0, 2}, {Edge::forward, Edge::bidirected}), 2u);
    CHECK_EQUAL(memory.count({1}, {Edge::backward}), 1u);
    CHECK_EQUAL(memory.count({0}, {Edge::none}), 0u);
    CHECK_EQUAL(memory.near(1).front(), 1);
}

TEST(equivalent_graphs_share_a_fit) {
    const Stop stop;
    for (const int seed : {1, 2, 3, 4}) {
        const Graph graph = sparse_graph(5, 1 + seed % 2, seed);
        const Matrix S = sample_of(graph, 40, seed);
        // The covariance matrix of the entries of S, of normal data, and twice that.
        std::vector<double> gamma;
        for (int i = 0; i < 5; ++i)
            for (int j = 0; j <= i; ++j)
                for (int k = 0; k < 5; ++k)
                    for (int l = 0; l <= k; ++l)
                        gamma.push_back(
                            2.0 * (S[i * 5 + k] * S[j * 5 + l] + S[i * 5 + l] * S[j * 5 + k]));
        const ClassMembers members = exact_class(graph, {}, stop);
        const auto edges = skeleton_edges(graph);
        for (const auto& each : {std::vector<double>(), gamma}) {
            EffectCounter own(JointData(S, 5), 1.0, 1e-8, 1000, true, each);
            EffectCounter shared(JointData(S, 5), 1.0, 1e-8, 1000, true, each);
            shared.share_fit(&graph);
            for (std::uint64_t m = 0; m < members.n_members; ++m) {
                const Graph member =
                    graph_of_kinds(5, edges, members.kinds.data() + m * edges.size());
                own.add(member, {0, 1, 2, 3, 4});
                shared.add(member, {0, 1, 2, 3, 4});
                for (int i = 0; i < 5; ++i)
                    for (int j = 0; j < 5; ++j) {
                        CHECK_CLOSE(shared.effects()[i * 5 + j], own.effects()[i * 5 + j], 1e-6);
                        CHECK_CLOSE(shared.variance(i, j), own.variance(i, j),
                                    1e-5 * (1.0 + own.variance(i, j)));
                    }
            }
            CHECK_EQUAL(shared.n_fits(), 0u);
            CHECK(own.n_fits() > 0);
        }
    }
}

TEST(effects_along_a_path) {
    const Graph graph = graph_of(3, "0->1 1->2");
    Rng rng(4);
    const Model model = random_model(graph, rng);
    const Matrix Sigma = implied_covariance(graph, model);
    EffectCounter counter(JointData(Sigma, 3), 1.0, 1e-8, 100, true);
    counter.add(graph, {0, 1, 2});
    CHECK_CLOSE(counter.effects()[2 * 3 + 0], model.B[1 * 3 + 0] * model.B[2 * 3 + 1], 1e-8);
    CHECK_EQUAL(counter.effects()[0 * 3 + 2], 0.0);
    // The delta method: b21^2 V(b10) + b10^2 V(b21).
    const double b10 = model.B[3], b21 = model.B[7];
    const double V10 = model.Omega[4] / Sigma[0], V21 = model.Omega[8] / Sigma[4];
    CHECK_CLOSE(counter.variance(2, 0), b21 * b21 * V10 + b10 * b10 * V21, 1e-6);
}
