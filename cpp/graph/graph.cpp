#include "graph/graph.hpp"

#include <algorithm>
#include <functional>

namespace bowfree {

int count_edges(const Graph& graph) {
    int directed = 0, ends = 0;
    for (int v = 0; v < graph.d(); ++v) {
        directed += count(graph.parents(v), graph.words());
        ends += count(graph.spouses(v), graph.words());
    }
    return directed + ends / 2;
}

std::vector<int> district_of(const Graph& graph, int start) {
    std::vector<int> nodes;
    if (graph.words() == 1) {
        Word found = Word{1} << start;
        for (Word fresh = found; fresh != 0;) {
            Word next = 0;
            for_each_node(&fresh, 1, [&](int j) { next |= *graph.spouses(j); });
            fresh = next & ~found;
            found |= fresh;
        }
        list_nodes(&found, 1, nodes);
        return nodes;
    }
    std::vector<Word> seen(graph.words());
    insert(seen.data(), start);
    nodes.push_back(start);
    for (std::size_t next = 0; next < nodes.size(); ++next) {
        for_each_node(graph.spouses(nodes[next]), graph.words(), [&](int j) {
            if (contains(seen.data(), j)) return;
            insert(seen.data(), j);
            nodes.push_back(j);
        });
    }
    std::ranges::sort(nodes);
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

std::vector<int> topological_order(const Graph& graph) {
    const int d = graph.d();
    std::vector<int> order;
    order.reserve(d);
    if (graph.words() == 1) {
        for (Word left = d == 0 ? 0 : ~Word{0} >> (64 - d); left != 0;) {
            Word next = left;  // the smallest node whose parents are placed
            while (next != 0 && (*graph.parents(std::countr_zero(next)) & left) != 0)
                next &= next - 1;
            if (next == 0) return {};
            order.push_back(std::countr_zero(next));
            left &= ~(next & -next);
        }
        return order;
    }
    std::vector<int> waiting(d);
    std::vector<std::vector<int>> children(d);
    for (int i = 0; i < d; ++i) {
        waiting[i] = count(graph.parents(i), graph.words());
        for_each_node(graph.parents(i), graph.words(), [&](int j) { children[j].push_back(i); });
    }
    std::vector<int> free;  // nodes whose parents are placed: a min-heap
    const auto later = std::greater<>{};
    for (int i = 0; i < d; ++i)
        if (waiting[i] == 0) free.push_back(i);
    std::ranges::make_heap(free, later);
    while (!free.empty()) {
        std::ranges::pop_heap(free, later);
        const int i = free.back();
        free.pop_back();
        order.push_back(i);
        for (int child : children[i]) {
            if (--waiting[child] > 0) continue;
            free.push_back(child);
            std::ranges::push_heap(free, later);
        }
    }
    if (static_cast<int>(order.size()) < d) order.clear();
    return order;
}

}  // namespace bowfree
