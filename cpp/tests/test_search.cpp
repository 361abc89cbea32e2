// The move table, the screen, orders, and searches.
#include <numeric>

#include "search/enumeration.hpp"
#include "search/orders.hpp"
#include "search/search.hpp"
#include "tests/check.hpp"
#include "tests/examples.hpp"

using namespace bowfree;
using namespace bowfree::tests;

namespace {

constexpr double n_rows = 500.0;

Scorer scorer_of(const Matrix& S, int d) {
    return Scorer(JointData(S, d), n_rows, 1.0, std::size_t{1} << 24);
}

RunOptions usual_options() {
    RunOptions options;
    options.plateau = 5;
    options.order_kicks = 2;
    options.bap_kicks = 5;
    options.burn_in = 200;
    options.keep = 20;
    options.window = 0.1;
    return options;
}

std::vector<Run> runs_of(Search& search, const std::vector<Task>& tasks, int n_threads) {
    search.launch(tasks, n_threads);
    std::vector<std::pair<int, Run>> found;
    while (search.busy())
        for (auto& run : search.collect(1.0)) found.push_back(std::move(run));
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Run> runs;
    for (auto& [index, run] : found) runs.push_back(std::move(run));
    return runs;
}

Task task(RunKind kind, std::uint64_t stream, std::optional<Graph> start = std::nullopt) {
    return {kind, 1, stream, std::move(start)};
}

Search search_of(const Matrix& S, int d) {
    return Search(JointData(S, d), n_rows, 1.0, std::size_t{1} << 24, Rules(), usual_options(),
                  Graph(d));
}

/// One node's part of the score of a DAG.
double node_score(const Scorer& scorer, const Matrix& S, int d, int v, const std::vector<int>& P) {
    Graph graph(d);
    for (const int p : P) graph.add_directed(p, v);
    const District district = make_district(graph, {v});
    DistrictFitter fitter(S.data(), d);
    return -0.5 * (fitter.objective(district) - 1.0) -
           scorer.edge_cost() * static_cast<double>(P.size());
}

}  // namespace

TEST(gains_are_differences_of_scores) {
    const Matrix S = sample_of(sparse_graph(6, 1, 8), 500, 1);
    Scorer scorer = scorer_of(S, 6);
    const Stop stop;
    Workspace workspace(scorer, stop);
    const Rules rules;
    MoveTable table(scorer, random_graph(6, 2), workspace);
    for (int round = 0; round < 3; ++round) {
        CHECK_EQUAL(table.score(), scorer.score(table.graph(), workspace));
        CHECK(table.key() == graph_key(table.graph()));
        std::vector<Move> moves;
        table.for_each_move(rules, [&](const Move& move) { moves.push_back(move); });
        for (const Move& move : moves) {
            Graph after = table.graph();
            set_edge(after, move.i, move.j, move.edge);
            CHECK(rules.permits(after));
            CHECK(table.key_after(move) == graph_key(after));
            const double at_least = table.gain(move, scorer.edge_cost(), 0.01);
            const double gain = table.gain(move, scorer.edge_cost());
            CHECK(at_least == gain || (gain <= at_least && at_least < 0.01));
            CHECK_CLOSE(gain, scorer.score(after, workspace) - table.score(), 1e-10);
        }
        table.apply(moves[moves.size() / 2]);
    }
    const Graph target = random_graph(6, 9);
    table.set_graph(target);
    CHECK(table.graph() == target);
}

TEST(a_fit_of_one_row_gains_less_and_loses_more) {
    int n_gains = 0, n_losses = 0;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const Graph graph = sparse_graph(8, seed, 12);
        const Matrix S = sample_of(sparse_graph(8, 50 + seed, 12), 500, seed);
        Scorer scorer = scorer_of(S, 8);
        const Stop stop;
        Workspace workspace(scorer, stop);
        Screen screen(scorer, workspace);
        for (const auto& [move, gain] : edge_changes(scorer, graph, Rules(), stop)) {
            const auto [i, j, edge] = move;
            for (const auto& [from, to] : {std::pair(i, j), std::pair(j, i)}) {
                const bool alone = district_of(graph, to).size() == 1;
                if (is_directed(edge) && !graph.adjacent(i, j) &&
                    to == (edge == Edge::forward ? j : i)) {
                    const double most = screen.directed(graph, from, to);
                    CHECK(most / screen.inflation(to) <= gain + 1e-8);
                    if (alone) CHECK_CLOSE(most, gain, 1e-9);
                    ++n_gains;
                }
                if (edge == Edge::none && (graph.directed(from, to) || graph.bidirected(i, j))) {
                    const double least = screen.loss(graph, from, to);
                    CHECK(least * screen.inflation(to) >= -gain - 1e-8);
                    if (alone) CHECK_CLOSE(least, -gain, 1e-9);
                    ++n_losses;
                }
            }
            if (edge == Edge::bidirected && !graph.adjacent(i, j)) {
                const double most = screen.bidirected(graph, i, j);
                CHECK(most <= std::max(screen.inflation(i), screen.inflation(j)) * gain + 1e-8);
            }
        }
    }
    CHECK(n_gains > 50);
    CHECK(n_losses > 50);
}

TEST(the_screen_is_one_step_of_ricf) {
    // From the fit without the change, one update of a row that gets or loses an arrowhead. It does
    // not depend on what was in the row.
    const Graph graph = graph_of(5, "0->1 1<->2 3->2 2<->4 1<->4");
    const Matrix S = sample_of(random_graph(5, 3), 500, 3);
    Scorer scorer = scorer_of(S, 5);
    const Stop stop;
    Workspace workspace(scorer, stop);
    Screen screen(scorer, workspace);
    DistrictFitter fitter(S.data(), 5);
    const auto step_gain = [&](int i, int j, Edge edge, int row) {
        Graph after = graph;
        set_edge(after, i, j, edge);
        const District district = make_district(after, district_of(after, row));
        const int k = district.k, m = district.m();
        Matrix A(k * m), Omega(k * k), local;
        double before = 0.0;
        for (const int a : district.nodes)
            for (const int b : district.nodes) local.push_back(S[a * 5 + b]);
        for (int v = 0; v < k; ++v) {  // the fits of the districts before, put together
            const int node = district.nodes[v];
            const District old = make_district(graph, district_of(graph, node));
            const DistrictFit fit = fitter.fit(old);
            const auto place = [&](int other) {
                return static_cast<int>(std::find(old.nodes.begin(), old.nodes.end(), other) -
                                        old.nodes.begin());
            };
            const int here = place(node);
            if (here == 0) before += fit.objective;
            for (int w = 0; w < m; ++w) {
                const int other = district.nodes[w], there = place(other);
                A[v * m + w] = v == w ? 1.0 : 0.0;
                if (after.directed(other, node) && graph.directed(other, node))
                    A[v * m + w] -= fit.B[here * old.m() + there];
                if (w < k && there < old.k && (v == w || (node != row && other != row)))
                    Omega[v * k + w] = fit.Omega[here * old.k + there];
            }
        }
        Ricf ricf;
        ricf.reset(district, local.data());
        CHECK(ricf.start(A.data(), Omega.data()));
        const auto& nodes = district.nodes;
        CHECK(ricf.step(
            static_cast<int>(std::find(nodes.begin(), nodes.end(), row) - nodes.begin())));
        return 0.5 * (before - ricf.objective());
    };
    for (int j = 1; j < 5; ++j)
        for (int i = 0; i < j; ++i) {
            // Fits end within 1e-10 of the optimum, their parameters within about 1e-5.
            if (!graph.adjacent(i, j)) {
                const double forward = screen.directed(graph, i, j);
                CHECK_CLOSE(forward, screen.inflation(j) * step_gain(i, j, Edge::forward, j), 1e-7);
                const double both = screen.bidirected(graph, i, j);
                CHECK_CLOSE(both,
                            std::max(screen.inflation(i) * step_gain(i, j, Edge::bidirected, i),
                                     screen.inflation(j) * step_gain(i, j, Edge::bidirected, j)),
                            1e-7);
                continue;
            }
            const bool is_spouse = graph.bidirected(i, j);
            const int to = graph.directed(j, i) ? i : j;
            const auto [gain, loss] = screen.exchange(graph, i + j - to, to);
            const double V = std::max(screen.inflation(i), screen.inflation(j));
            const double by_row = step_gain(i, j, is_spouse ? Edge::forward : Edge::bidirected, to);
            // The gain of a new spouse includes that of the other row.
            if (is_spouse) {
                CHECK_CLOSE(gain / V - V * loss, by_row, 1e-7);
            } else {
                CHECK(gain / V - V * loss >= by_row - 1e-7);
            }
        }
}

TEST(the_best_dag_over_all_orders_of_four_nodes) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        Rules dags;
        dags.graph_class = GraphClass::dag;
        const Matrix S = sample_of(random_graph(4, seed, dags), 500, seed);
        const Scorer scorer = scorer_of(S, 4);
        std::vector<int> order{0, 1, 2, 3};
        double best = -1e300;
        do {
            double total = 0.0;
            for (int place = 0; place < 4; ++place) {
                double most = -1e300;
                for (int subset = 0; subset < 1 << place; ++subset) {
                    std::vector<int> parents;
                    for (int k = 0; k < place; ++k)
                        if (subset >> k & 1) parents.push_back(order[k]);
                    most = std::max(most, node_score(scorer, S, 4, order[place], parents));
                }
                total += most;
            }
            best = std::max(best, total);
        } while (std::next_permutation(order.begin(), order.end()));
        Rng rng(seed);
        const Rules rules;
        const Stop stop;
        ParentTrees trees;
        OrderSearch search(scorer, rules, trees, rng, stop);
        search.improve(1e-9);
        search.kick(20, 1e-9);
        CHECK_CLOSE(search.score(), best, 1e-10);
    }
}

TEST(parent_trees_that_forget_find_the_same) {
    const Matrix S = sample_of(sparse_graph(10, 3, 15), 500, 3);
    const Scorer scorer = scorer_of(S, 10);
    const Rules rules;
    std::vector<Graph> found;
    ParentTrees trees;
    // The second search uses the trees of the first, the third one clears them again and again.
    for (const std::size_t bytes :
         {OrderSearch::default_bytes, OrderSearch::default_bytes, std::size_t{0}}) {
        Rng rng(1);
        const Stop stop;
        OrderSearch search(scorer, rules, trees, rng, stop, bytes);
        search.improve(1e-9);
        search.kick(3, 1e-9);
        found.push_back(search.graph());
    }
    CHECK(found[0] == found[1]);
    CHECK(found[0] == found[2]);
}

TEST(threads_do_not_change_runs) {
    constexpr int d = 14;  // with a screen, whose memory runs of one thread share
    const Matrix S = sample_of(sparse_graph(d, 5, 18), 500, 5);
    std::vector<Task> tasks;
    for (std::uint64_t stream = 0; stream < 6; ++stream)
        tasks.push_back(task(stream % 2 == 0 ? RunKind::dag_first : RunKind::kicks, stream));
    Search one = search_of(S, d), two = search_of(S, d);
    const auto alone = runs_of(one, tasks, 1), together = runs_of(two, tasks, 3);
    CHECK_EQUAL(alone.size(), together.size());
    for (std::size_t k = 0; k < alone.size(); ++k) {
        CHECK(alone[k].end == together[k].end);
        CHECK_EQUAL(alone[k].score, together[k].score);
        CHECK_EQUAL(alone[k].effort.work, together[k].effort.work);
    }
}

TEST(a_stopped_search_returns_a_run) {
    const Matrix S = sample_of(sparse_graph(9, 5, 12), 500, 5);
    Search search = search_of(S, 9);
    search.stop();
    const auto runs = runs_of(search, {task(RunKind::kicks, 0), task(RunKind::kicks, 1)}, 1);
    CHECK_EQUAL(runs.size(), 1u);
    CHECK(!runs[0].complete);
    CHECK(std::isfinite(runs[0].score));
}

TEST(pools_do_not_depend_on_the_order_of_offers) {
    std::vector<Graph> graphs;
    for (std::uint64_t seed = 0; seed < 60; ++seed) graphs.push_back(random_graph(5, seed));
    const auto score = [](const Graph& graph) { return -0.01 * count_edges(graph); };
    Pool forward(10, 0.05), backward(10, 0.05);
    for (const Graph& graph : graphs) forward.offer(graph_key(graph), score(graph), graph);
    std::reverse(graphs.begin(), graphs.end());
    for (const Graph& graph : graphs) backward.offer(graph_key(graph), score(graph), graph);
    const auto one = forward.sorted(), other = backward.sorted();
    CHECK_EQUAL(one.size(), other.size());
    for (std::size_t k = 0; k < one.size(); ++k) CHECK(one[k].graph == other[k].graph);
}
