#include "equivalence/colliders.hpp"

#include <algorithm>
#include <map>

namespace bowfree {

std::vector<ColliderTree> collider_trees(const Graph& graph) {
    const int d = graph.d();
    std::vector<std::vector<int>> neighbors(d);
    for (int v = 0; v < d; ++v) {
        for_each_node(graph.parents(v), graph.words(), [&](int u) {
            neighbors[v].push_back(u);
            neighbors[u].push_back(v);
        });
        for_each_node(graph.spouses(v), graph.words(), [&](int u) { neighbors[v].push_back(u); });
    }
    std::vector<char> free(d), seen(d);
    for (int v = 0; v < d; ++v) free[v] = in_degree(graph, v) < 2;
    std::vector<ColliderTree> trees;
    for (int start = 0; start < d; ++start) {
        if (!free[start] || seen[start]) continue;
        ColliderTree tree;
        bool determined = false;
        tree.nodes.push_back(start);
        seen[start] = 1;
        for (std::size_t next = 0; next < tree.nodes.size(); ++next) {
            const int v = tree.nodes[next];
            for (int u : neighbors[v]) {
                if (!free[u]) {
                    if (graph.directed(u, v))
                        determined = true;
                    else
                        tree.outer.emplace_back(v, u);
                } else if (!seen[u]) {
                    seen[u] = 1;
                    tree.nodes.push_back(u);
                    tree.inner.emplace_back(v, u);
                }
            }
        }
        if (!determined && tree.n_options() > 1) trees.push_back(std::move(tree));
    }
    return trees;
}

std::vector<ClassFactor> collider_factors(const Graph& graph) {
    std::map<std::pair<int, int>, int> number;
    const auto edges = skeleton_edges(graph);
    for (std::size_t e = 0; e < edges.size(); ++e) number[edges[e]] = static_cast<int>(e);
    std::vector<ClassFactor> factors;
    for (const ColliderTree& tree : collider_trees(graph)) {
        ClassFactor factor;
        std::map<int, std::vector<std::pair<int, int>>> at;  // node -> (neighbor, column)
        const auto column = [&](int a, int b) {
            factor.edges.push_back(number.at(std::minmax(a, b)));
            return static_cast<int>(factor.edges.size()) - 1;
        };
        for (const auto& [a, b] : tree.inner) {
            const int c = column(a, b);
            at[a].emplace_back(b, c);
            at[b].emplace_back(a, c);
        }
        const int n_inner = static_cast<int>(factor.edges.size());
        for (const auto& [a, b] : tree.outer) column(a, b);
        EdgeKinds kinds(factor.edges.size());
        const auto list = [&] {
            factor.members.kinds.insert(factor.members.kinds.end(), kinds.begin(), kinds.end());
            ++factor.members.n_members;
        };
        for (int root : tree.nodes) {
            for (std::size_t o = 0; o < tree.outer.size(); ++o)
                kinds[n_inner + o] =
                    tree.outer[o].first < tree.outer[o].second ? Edge::forward : Edge::backward;
            std::vector<std::pair<int, int>> walk{{root, -1}};  // (node, its predecessor)
            for (std::size_t next = 0; next < walk.size(); ++next) {
                const auto [v, from] = walk[next];
                for (const auto& [u, c] : at[v]) {
                    if (u == from) continue;
                    kinds[c] = v < u ? Edge::forward : Edge::backward;
                    walk.emplace_back(u, v);
                }
            }
            list();
            const auto list_bidirected = [&](int c) {
                const Edge before = std::exchange(kinds[c], Edge::bidirected);
                list();
                kinds[c] = before;
            };
            for (const auto& [u, c] : at[root])
                if (root < u) list_bidirected(c);  // else listed with root u
            for (std::size_t o = 0; o < tree.outer.size(); ++o)
                if (tree.outer[o].first == root) list_bidirected(n_inner + static_cast<int>(o));
        }
        factor.members.complete = true;
        factors.push_back(std::move(factor));
    }
    return factors;
}

}  // namespace bowfree
