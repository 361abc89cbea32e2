// Keys: 128-bit hashes of graphs, districts and skeletons.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/graph.hpp"
#include "rng.hpp"

namespace bowfree {

/// The hash of a set of edges and nodes: the XOR of the keys of its elements. Adding and removing
/// an element are the same operation, so the key of a district after a move follows from that
/// before. Two of 10^12 sets collide with probability below 10^-14.
struct Key {
    std::uint64_t high = 0, low = 0;

    Key& operator^=(const Key& other) {
        high ^= other.high;
        low ^= other.low;
        return *this;
    }
    friend Key operator^(Key a, const Key& b) { return a ^= b; }
    auto operator<=>(const Key&) const = default;
};

struct KeyHash {
    std::size_t operator()(const Key& key) const { return key.low; }
};

/// Keys of elements: member i is (i, i), edge i -> j is (i, j), and edge i <-> j has two, (i, j)
/// and (j, i), one for each arrowhead.
inline Key element_key(int from, int to, bool bidirected) {
    const std::uint64_t id = (static_cast<std::uint64_t>(from) << 32 | static_cast<unsigned>(to))
                                 << 1 |
                             static_cast<std::uint64_t>(bidirected);
    return {scatter(id + 0x9e3779b97f4a7c15u), scatter(scatter(id ^ 0xd1b54a32d192ed03u) + id)};
}
inline Key member_key(int i) { return element_key(i, i, false); }

/// The key of a node and all arrowheads at it. The key of a district is the XOR over its members,
/// that of a graph over all nodes.
inline Key row_key(const Graph& graph, int v) {
    Key key = member_key(v);
    for_each_node(graph.parents(v), graph.words(), [&](int p) { key ^= element_key(p, v, false); });
    for_each_node(graph.spouses(v), graph.words(), [&](int s) { key ^= element_key(s, v, true); });
    return key;
}

inline Key rows_key(const Graph& graph, const std::vector<int>& nodes) {
    Key key;
    for (const int v : nodes) key ^= row_key(graph, v);
    return key;
}

inline Key graph_key(const Graph& graph) {
    Key key;
    for (int v = 0; v < graph.d(); ++v) key ^= row_key(graph, v);
    return key;
}

/// The key of the set of pairs (i, j), i < j, that have an edge.
inline Key skeleton_key(const Graph& graph) {
    Key key;
    for (int j = 1; j < graph.d(); ++j)
        for (int i = 0; i < j; ++i)
            if (graph.adjacent(i, j)) key ^= element_key(i, j, false);
    return key;
}

}  // namespace bowfree
