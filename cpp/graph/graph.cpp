#include "graph/graph.hpp"

#include <algorithm>

namespace bowfree {

std::vector<int> district_of(const Graph& graph, int start) {
    std::vector<Word> seen(graph.words());
    insert(seen.data(), start);
    std::vector<int> nodes{start};
    for (std::size_t next = 0; next < nodes.size(); ++next) {
        for_each_node(graph.spouses(nodes[next]), graph.words(), [&](int j) {
            if (contains(seen.data(), j)) return;
            insert(seen.data(), j);
            nodes.push_back(j);
        });
    }
    std::sort(nodes.begin(), nodes.end());
    return nodes;
}

std::vector<std::vector<int>> districts(const Graph& graph) {
    std::vector<std::vector<int>> found;
    std::vector<Word> seen(graph.words());
    for (int i = 0; i < graph.d(); ++i) {
        if (contains(seen.data(), i)) continue;
        found.push_back(district_of(graph, i));
        for (int j : found.back()) insert(seen.data(), j);
    }
    return found;
}

bool reaches(const Graph& graph, int from, int to) {
    if (from == to) return true;
    // Walk against the arrows from `to`: parents are what a node stores.
    std::vector<Word> seen(graph.words());
    insert(seen.data(), to);
    std::vector<int> stack{to};
    while (!stack.empty()) {
        const int i = stack.back();
        stack.pop_back();
        if (contains(graph.parents(i), from)) return true;
        for_each_node(graph.parents(i), graph.words(), [&](int j) {
            if (contains(seen.data(), j)) return;
            insert(seen.data(), j);
            stack.push_back(j);
        });
    }
    return false;
}

std::vector<int> topological_order(const Graph& graph) {
    const int d = graph.d();
    std::vector<int> waiting(d);
    std::vector<std::vector<int>> children(d);
    for (int i = 0; i < d; ++i) {
        waiting[i] = count(graph.parents(i), graph.words());
        for_each_node(graph.parents(i), graph.words(), [&](int j) { children[j].push_back(i); });
    }
    std::vector<int> order;
    std::vector<int> free;  // a min-heap: the smallest free node goes first
    const auto later = std::greater<int>{};
    for (int i = 0; i < d; ++i)
        if (waiting[i] == 0) free.push_back(i);
    std::make_heap(free.begin(), free.end(), later);
    while (!free.empty()) {
        std::pop_heap(free.begin(), free.end(), later);
        const int i = free.back();
        free.pop_back();
        order.push_back(i);
        for (int child : children[i]) {
            if (--waiting[child] > 0) continue;
            free.push_back(child);
            std::push_heap(free.begin(), free.end(), later);
        }
    }
    if (static_cast<int>(order.size()) < d) order.clear();
    return order;
}

}  // namespace bowfree
