// Prime-field arithmetic, exact decisions and classes.
#include "equivalence/atlas.hpp"
#include "equivalence/classes.hpp"
#include "equivalence/colliders.hpp"
#include "equivalence/decision.hpp"
#include "tests/check.hpp"
#include "tests/examples.hpp"

using namespace bowfree;
using namespace bowfree::tests;

namespace {

bool is_inside(const Graph& G, const Graph& H) {
    return InclusionOracle(G, {}, 1).inside(H, topological_order(H), Stop()).answer ==
           Inclusion::yes;
}

}  // namespace

TEST(both_kinds_of_wide_numbers_agree) {
    Rng rng(1);
    for (int round = 0; round < 1000; ++round) {
        field::Sum sum;
        field::SumOfProducts<TwoWords> twin;
        for (int k = rng.below(100); k > 0; --k) {
            const field::Element a = rng.next() % field::prime;
            const field::Element b = rng.coin() ? field::prime - 1 : rng.next() % field::prime;
            sum.add(a, b);
            twin.add(a, b);
        }
        CHECK_EQUAL(sum.value(), twin.value());
    }
}

TEST(inverses_in_the_field) {
    Rng rng(2);
    for (int round = 0; round < 1000; ++round) {
        const field::Element a = 1 + rng.next() % (field::prime - 1);
        CHECK_EQUAL(field::multiply(a, field::inverse(a)), 1u);
    }
}

TEST(markov_equivalent_paths) {
    const Graph chain = graph_of(3, "0->1 1->2"), reversed = graph_of(3, "2->1 1->0");
    const Graph fork = graph_of(3, "1->0 1->2"), collider = graph_of(3, "0->1 2->1");
    CHECK(is_inside(chain, reversed));
    CHECK(is_inside(chain, fork));
    CHECK(!is_inside(chain, collider));
    CHECK(!is_inside(collider, chain));
    CHECK(is_inside(Graph(3), collider));
    CHECK(is_inside(collider, graph_of(3, "0->1 2<->1")));
}

TEST(a_singular_system_is_no_answer) {
    // All variables are equal: a regression on two of them has no unique solution.
    const Covariances ones{std::vector<field::Element>(9, 1)};
    const Graph complete = graph_of(3, "0->1 0->2 1->2"), collider = graph_of(3, "0->2 1->2");
    const Conditions conditions = one_or_more({}, 3);
    const auto answer = [&](const Graph& H) {
        ConditionRows rows(3, conditions, ones);
        return produces(H, topological_order(H), rows, Stop()).answer;
    };
    CHECK(answer(complete) == Inclusion::singular);
    CHECK(answer(collider) == Inclusion::no);
}

TEST(decisions_are_an_equivalence_relation) {
    // All BAPs of each skeleton on four nodes with at most five edges, by the table of decisions.
    for (const char* skeleton : {"0->1 1->2 2->3", "0->1 1->2 2->3 0->3", "0->1 0->2 1->2 2->3",
                                 "0->1 0->2 1->2 1->3 2->3"}) {
        const auto edges = skeleton_edges(graph_of(4, skeleton));
        std::vector<Graph> graphs;
        EdgeKinds kinds(edges.size());
        int n_codes = 1;
        for (std::size_t e = 0; e < edges.size(); ++e) n_codes *= 3;
        for (int code = 0; code < n_codes; ++code) {
            for (int e = 0, rest = code; e < static_cast<int>(edges.size()); ++e, rest /= 3)
                kinds[e] = edge_kinds[rest % 3];
            const Graph graph = graph_of_kinds(4, edges, kinds.data());
            if (!topological_order(graph).empty()) graphs.push_back(graph);
        }
        std::vector<std::vector<bool>> rows;
        for (const Graph& graph : graphs) {
            InclusionOracle oracle(graph, {}, 7);
            std::vector<bool>& row = rows.emplace_back();
            for (const Graph& other : graphs)
                row.push_back(oracle.inside(other, topological_order(other), Stop()).answer ==
                              Inclusion::yes);
        }
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::size_t j = 0; j < rows.size(); ++j)
                if (rows[i][j]) CHECK(rows[i] == rows[j]);
    }
}

TEST(conditions_split_classes) {
    // 0 -> 1 and 0 <- 1 agree without interventions, and differ when 0 is set.
    const Graph G = graph_of(2, "0->1"), H = graph_of(2, "1->0");
    const Condition none{InterventionKind::perfect, {0}}, set_0{InterventionKind::perfect, {1}};
    const auto equal = [&](const Conditions& conditions) {
        return InclusionOracle(G, conditions, 1).equal(H, topological_order(H), Stop()).answer ==
               Inclusion::yes;
    };
    CHECK(equal({none}));
    CHECK(!equal({none, set_0}));
}

TEST(decisions_can_be_stopped) {
    Graph path(100);
    for (int v = 0; v + 1 < 100; ++v) path.add_directed(v, v + 1);
    Stop stop;
    stop.request();
    CHECK_THROWS(InclusionOracle(path, {}, 1).inside(path, topological_order(path), stop), Stopped);
    CHECK(!exact_class(path, {}, stop).complete);
}
