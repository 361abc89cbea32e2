// Chains over graphs, mixtures of effects, and averages.
#include <map>

#include "search/enumeration.hpp"
#include "tests/check.hpp"
#include "tests/examples.hpp"
#include "uncertainty/averaging.hpp"
#include "uncertainty/effect_mixture.hpp"
#include "uncertainty/structure_mcmc.hpp"

using namespace bowfree;
using namespace bowfree::tests;

namespace {

constexpr double n_rows = 40.0;

/// The sum of absolute differences between frequencies of edges in the samples and probabilities.
double distance_to_posterior(const StructureChains& chains, Scorer& scorer,
                             const GraphPosterior& posterior) {
    const int d = scorer.d();
    const Stop stop;
    Workspace workspace(scorer, stop);
    std::vector<double> exact(4 * n_pairs(d)), sampled(exact.size());
    double total = 0.0, n_samples = 0.0;
    for_each_bow_free_graph(d, [&](const Graph& graph) {
        if (!Rules().permits(graph)) return;
        const double weight =
            std::exp(posterior(scorer.score(graph, workspace), count_edges(graph)));
        total += weight;
        for (int j = 1; j < d; ++j)
            for (int i = 0; i < j; ++i)
                exact[4 * pair_index(i, j) + static_cast<int>(get_edge(graph, i, j))] += weight;
    });
    for (const Chain& chain : chains.chains())
        for (std::size_t k = 0; k < chain.record.states.size(); ++k) {
            sampled[4 * (k % n_pairs(d)) + chain.record.states[k]] += 1.0;
            n_samples += 1.0 / static_cast<double>(n_pairs(d));
        }
    double distance = 0.0;
    for (std::size_t k = 0; k < exact.size(); ++k)
        distance = std::max(distance, std::abs(exact[k] / total - sampled[k] / n_samples));
    return distance;
}

}  // namespace

TEST(chains_sample_from_the_posterior) {
    // Changes, jumps and splices together: all three steps leave the posterior invariant.
    const Matrix S = sample_of(graph_of(3, "0->1 1<->2"), 40, 3);
    Scorer scorer(JointData(S, 3), n_rows, 0.5, std::size_t{1} << 20);
    const GraphPosterior posterior{n_rows, {0.0, -0.2, -0.5, -0.9}};
    StructureChains chains(scorer, Rules(), {Graph(3), Graph(3)}, posterior, 20, 5.0, 1);
    const Stop stop;
    chains.run(500, 5, 2, stop);
    chains.begin_segment(stop);
    chains.run(1000, 5, 2, stop);
    chains.begin_segment(stop);
    CHECK(!chains.list().empty());
    CHECK(chains.memory().size() > 0);
    chains.run(60000, 4, 2, stop);
    CHECK(distance_to_posterior(chains, scorer, posterior) < 0.02);
}

TEST(chains_can_be_cut_anywhere) {
    const Matrix S = sample_of(sparse_graph(6, 1, 7), 40, 1);
    Scorer scorer(JointData(S, 6), n_rows, 0.5, std::size_t{1} << 20);
    const GraphPosterior posterior{n_rows, {}};
    const Stop stop;
    StructureChains whole(scorer, Rules(), {Graph(6)}, posterior, 20, 5.0, 1);
    StructureChains cut(scorer, Rules(), {Graph(6)}, posterior, 20, 5.0, 1);
    whole.run(1000, 3, 1, stop);
    for (const int steps : {1, 99, 900}) cut.run(steps, 3, 1, stop);
    CHECK(whole.chains()[0].record.states == cut.chains()[0].record.states);
    CHECK(whole.chains()[0].record.scores == cut.chains()[0].record.scores);
    CHECK(whole.chains()[0].state.graph == cut.chains()[0].state.graph);
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

TEST(the_interval_of_one_normal) {
    EffectMixture mixture;
    mixture.add({1.0, 2.0, 0.5});
    const auto [lower, upper] = mixture.interval(0.95, 1.0);
    CHECK_CLOSE(lower, 2.0 - 1.959964 * 0.5, 1e-3);
    CHECK_CLOSE(upper, 2.0 + 1.959964 * 0.5, 1e-3);
    EffectMixture none;
    CHECK_EQUAL(none.interval(0.95, 1.0).upper, 0.0);
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

TEST(equivalent_graphs_are_found) {
    const std::vector<Graph> graphs{graph_of(3, "0->1 1->2"), graph_of(3, "0->1 2->1"),
                                    graph_of(3, "1->0 1->2"), graph_of(3, "0<->1 2->1")};
    CHECK(first_equivalents(graphs, {}, 1, Stop()) == (std::vector<int>{0, 1, 0, 1}));
}

TEST(an_average_over_a_class_counts_members) {
    // 0 - 1: three members, an effect of 0 on 1 in one of them.
    const Graph graph = graph_of(2, "0->1");
    Rng rng(5);
    const Matrix Sigma = implied_covariance(graph, random_model(graph, rng));
    EffectCounter counter(JointData(Sigma, 2), 1.0, 1e-8, 100, true);
    GraphSums sums(2);
    ClassSums class_sums(2);
    const AverageOptions options{100.0, {}, {}};
    const Stop stop;
    const ClassPart part =
        add_class(counter, {{graph}, {1.0}}, options, sums, class_sums, stop, stop);
    CHECK(part.complete);
    CHECK_EQUAL(part.components.at(0), 3u);
    CHECK_CLOSE(sums.directed[1 * 2 + 0], 1.0 / 3.0, 1e-12);
    CHECK_CLOSE(sums.bidirected[1 * 2 + 0], 1.0 / 3.0, 1e-12);
    CHECK_CLOSE(sums.positive[2] + sums.negative[2], 1.0 / 3.0, 1e-12);
}
