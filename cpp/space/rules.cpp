#include "space/rules.hpp"

namespace bowfree {

namespace {

/// The nodes of `inside` that are reached from v by steps from a node to those in its `row`.
template <class Row>
std::vector<Word> closure_within(const std::vector<Word>& inside, int v, int words, Row row) {
    std::vector<Word> seen(words);
    insert(seen.data(), v);
    std::vector<int> stack{v};
    while (!stack.empty()) {
        const Word* next = row(stack.back());
        stack.pop_back();
        for (int w = 0; w < words; ++w)
            for (Word fresh = next[w] & inside[w] & ~seen[w]; fresh != 0; fresh &= fresh - 1) {
                const int j = 64 * w + std::countr_zero(fresh);
                insert(seen.data(), j);
                stack.push_back(j);
            }
    }
    return seen;
}

std::vector<Word> everything(const Graph& graph) {
    std::vector<Word> all(graph.words());
    for (int i = 0; i < graph.d(); ++i) insert(all.data(), i);
    return all;
}

}  // namespace

bool is_ancestral(const Graph& graph) {
    const auto all = everything(graph);
    for (int v = 0; v < graph.d(); ++v) {
        const auto ancestors =
            closure_within(all, v, graph.words(), [&](int i) { return graph.parents(i); });
        for (int w = 0; w < graph.words(); ++w)
            if (ancestors[w] & graph.spouses(v)[w]) return false;
    }
    return true;
}

bool is_arid(const Graph& graph) {
    const int words = graph.words();
    for (int v = 0; v < graph.d(); ++v) {
        auto inside = everything(graph);
        for (int size = graph.d(), before = size + 1; size < before;) {
            before = size;
            inside = closure_within(inside, v, words, [&](int i) { return graph.spouses(i); });
            inside = closure_within(inside, v, words, [&](int i) { return graph.parents(i); });
            size = count(inside.data(), words);
        }
        if (count(inside.data(), words) > 1) return false;
    }
    return true;
}

bool Rules::permits_whole(const Graph& graph) const {
    if (max_district != unlimited)
        for (const auto& district : districts(graph))
            if (static_cast<int>(district.size()) > max_district) return false;
    return permits_class(graph);
}

bool Rules::permits_class(const Graph& graph) const {
    if (graph_class == GraphClass::ancestral) return is_ancestral(graph);
    if (graph_class == GraphClass::arid) return is_arid(graph);
    return true;
}

bool Rules::permits(const Graph& graph) const {
    const int d = graph.d();
    int n_edges = 0;
    for (int j = 0; j < d; ++j) {
        if (max_in_degree != unlimited && in_degree(graph, j) > max_in_degree) return false;
        for (int i = 0; i < j; ++i) {
            const int kinds = graph.directed(i, j) + graph.directed(j, i) + graph.bidirected(i, j);
            if (!permits_edge(d, i, j, get_edge(graph, i, j))) return false;
            const int known = knowledge.empty() ? 0 : knowledge[i * d + j];
            const bool forward = known & forward_bow, backward = known & backward_bow;
            if (forward || backward
                    ? graph.directed(i, j) != forward || graph.directed(j, i) != backward
                    : kinds > 1)
                return false;
            n_edges += kinds;
        }
    }
    if (max_edges != unlimited && n_edges > max_edges) return false;
    return static_cast<int>(topological_order(graph).size()) == d && permits_whole(graph);
}

}  // namespace bowfree
