// Graphs, pair states and keys.
#include "graph/district.hpp"
#include "graph/key.hpp"
#include "search/pool.hpp"
#include "tests/check.hpp"
#include "tests/examples.hpp"

using namespace bowfree;
using namespace bowfree::tests;

TEST(districts_are_sorted_by_their_smallest_node) {
    const Graph graph = graph_of(6, "0->1 1<->4 4<->3 2->5");
    const std::vector<std::vector<int>> expected{{0}, {1, 3, 4}, {2}, {5}};
    CHECK(districts(graph) == expected);
    CHECK(district_of(graph, 4) == expected[1]);
    CHECK_EQUAL(count_edges(graph), 4);
}

TEST(bows_are_identified_by_instruments) {
    const auto free_in = [](const Graph& graph, int node) {
        return count_unidentified(make_district(graph, district_of(graph, node)));
    };
    CHECK_EQUAL(free_in(graph_of(2, "0<->1"), 0), 0);
    CHECK_EQUAL(free_in(graph_of(2, "0->1 0<->1"), 0), 1);
    CHECK_EQUAL(free_in(graph_of(3, "2->0 0->1 0<->1"), 0), 0);
    CHECK_EQUAL(free_in(graph_of(3, "2->0 2->1 0->1 0<->1"), 0), 1);
    CHECK_EQUAL(free_in(graph_of(4, "2->0 3->0 2->1 0->1 0<->1"), 0), 0);
    CHECK_EQUAL(free_in(graph_of(3, "0->1 0<->1 1->2 1<->2"), 0), 1);
}

TEST(topological_order_prefers_small_nodes) {
    CHECK(topological_order(graph_of(4, "3->0 2->0 0->1")) == (std::vector<int>{2, 3, 0, 1}));
    CHECK(topological_order(graph_of(3, "0->1 1->2 2->0")).empty());
}

TEST(graphs_beyond_one_word) {
    Graph path(130);
    for (int v = 0; v + 1 < 130; ++v)
        v % 2 == 0 ? path.add_bidirected(v, v + 1) : path.add_directed(v, v + 1);
    CHECK_EQUAL(count_edges(path), 129);
    CHECK_EQUAL(districts(path).size(), 65u);
    CHECK_EQUAL(topological_order(path).size(), 130u);
    CHECK(PackedGraph(path).unpack() == path);
}

TEST(pairs_are_numbered_column_by_column) {
    std::size_t next = 0;
    for (int j = 1; j < 9; ++j)
        for (int i = 0; i < j; ++i) CHECK_EQUAL(pair_index(i, j), next++);
    CHECK_EQUAL(n_pairs(9), next);
}

TEST(a_pair_has_one_state) {
    Graph graph(3);
    for (const Edge before : all_edges)
        for (const Edge after : all_edges) {
            set_edge(graph, 0, 2, before);
            set_edge(graph, 0, 2, after);
            CHECK(get_edge(graph, 0, 2) == after);
            CHECK_EQUAL(in_degree(graph, 0), head_at_first(after) ? 1 : 0);
            CHECK_EQUAL(in_degree(graph, 2), head_at_second(after) ? 1 : 0);
        }
}

TEST(packed_graphs_round_trip) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Graph graph = random_graph(9, seed);
        const PackedGraph packed(graph);
        CHECK(packed.unpack() == graph);
        CHECK(PackedGraph(9, packed.edges()).unpack() == graph);
        Graph changed = graph;
        set_edge(changed, 2, 5, Edge::bidirected);
        CHECK(packed.with(2, 5, Edge::bidirected).unpack() == changed);
    }
    CHECK_THROWS(PackedGraph(3, {std::uint32_t{3} << 2 | 1}),
                 std::invalid_argument);                          // no such pair
    CHECK_THROWS(PackedGraph(3, {0}), std::invalid_argument);     // no edge
    CHECK_THROWS(PackedGraph(3, {1, 2}), std::invalid_argument);  // one pair twice
}

TEST(keys_tell_all_graphs_on_four_nodes_apart) {
    std::vector<Key> keys;
    for_each_bow_free_graph(4, [&](const Graph& graph) { keys.push_back(graph_key(graph)); });
    std::sort(keys.begin(), keys.end());
    CHECK(std::adjacent_find(keys.begin(), keys.end()) == keys.end());
}

TEST(the_key_of_a_graph_is_made_of_its_districts) {
    const Graph graph = random_graph(8, 3);
    Key key;
    for (const auto& members : districts(graph)) key ^= rows_key(graph, members);
    CHECK(key == graph_key(graph));
}
