// Rules and random graphs.
#include <map>

#include "graph/key.hpp"
#include "tests/check.hpp"
#include "tests/examples.hpp"

using namespace bowfree;
using namespace bowfree::tests;

TEST(classes_of_graphs) {
    const Graph almost = graph_of(3, "0->1 1->2 0<->2");
    CHECK(!is_ancestral(almost));
    CHECK(is_arid(almost));
    const Graph not_arid = graph_of(4, "0->1 1->3 0->2 2->3 0<->3 1<->3 2<->0");
    CHECK_EQUAL(is_arid(not_arid), false);
    CHECK(is_ancestral(graph_of(3, "0->2 1<->2")));
    Rules rules;
    CHECK(!rules.permits(graph_of(2, "0->1 0<->1")));      // a bow
    CHECK(!rules.permits(graph_of(3, "0->1 1->2 2->0")));  // a cycle
    rules.max_in_degree = 1;
    CHECK(!rules.permits(graph_of(3, "0->1 2<->1")));
    rules = {};
    rules.max_district = 2;
    CHECK(!rules.permits(graph_of(3, "0<->1 2<->1")));
}

TEST(the_symmetric_walk_is_uniform) {
    int n_baps = 0;
    for_each_bow_free_graph(3, [&](const Graph& graph) { n_baps += Rules().permits(graph); });
    CHECK_EQUAL(n_baps, 62);
    std::map<Key, int> visits;
    const Rules rules;
    RandomWalk walk(Graph(3), rules, WalkStep::symmetric, Rng(1));
    constexpr int n = 62000;
    for (int k = 0; k < n; ++k) {
        walk.advance(40, Stop());
        ++visits[graph_key(walk.graph())];
    }
    CHECK_EQUAL(visits.size(), 62u);
    double chi_square = 0.0;
    for (const auto& [key, count] : visits)
        chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
    CHECK(chi_square < 110.0);  // 61 degrees of freedom: the 0.9999 quantile
}

TEST(walks_stay_within_the_rules) {
    for (const GraphClass graph_class : {GraphClass::bap, GraphClass::dag, GraphClass::bidirected,
                                         GraphClass::ancestral, GraphClass::arid}) {
        Rules rules;
        rules.graph_class = graph_class;
        rules.max_in_degree = 2;
        rules.max_district = 3;
        rules.max_edges = 6;
        for (std::uint64_t seed = 0; seed < 10; ++seed)
            CHECK(rules.permits(random_graph(6, seed, rules)));
    }
}

TEST(walks_can_be_stopped) {
    Stop stop;
    stop.request();
    const Rules rules;
    RandomWalk walk(Graph(5), rules, WalkStep::symmetric, Rng(1));
    CHECK_THROWS(walk.advance(1, stop), Stopped);
}

TEST(random_numbers_are_those_of_all_platforms) {
    Rng rng(1, 2);
    const std::uint64_t first = rng.next();
    CHECK_EQUAL(Rng(1, 2).next(), first);
    CHECK(Rng(1, 3).next() != first);
    Rng copy(rng.state());
    CHECK_EQUAL(copy.next(), rng.next());
    for (int k = 0; k < 1000; ++k) {
        const int draw = rng.below(7);
        CHECK(0 <= draw && draw < 7);
        const double x = rng.uniform();
        CHECK(0.0 <= x && x < 1.0);
    }
}
