// Mixed graphs as adjacency words: a bitset of parents and one of spouses for every node.
//
// `bowfree.MixedGraph` has the same bits as Python integers, and graphs are passed between Python
// and the core as two uint64 arrays of shape (d, words): bit j of row i of `parents` means j -> i,
// bit j of row i of `spouses` means i <-> j and is set in both rows. A word has 64 nodes; the
// number of words is not limited.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bowfree {

using Word = std::uint64_t;

/// The number of words of a set of d nodes.
inline int words_for(int d) { return (d + 63) / 64; }

/// Calls `visit(j)` for every node j of the set, in ascending order.
template <class Visit>
void for_each_node(const Word* set, int words, Visit&& visit) {
    for (int w = 0; w < words; ++w)
        for (Word rest = set[w]; rest != 0; rest &= rest - 1)
            visit(64 * w + std::countr_zero(rest));
}

/// Writes the nodes of the set in ascending order into `nodes`.
inline void list_nodes(const Word* set, int words, std::vector<int>& nodes) {
    nodes.clear();
    for (int w = 0; w < words; ++w)
        for (Word rest = set[w]; rest != 0; rest &= rest - 1)
            nodes.push_back(64 * w + std::countr_zero(rest));
}

inline bool contains(const Word* set, int j) { return (set[j >> 6] >> (j & 63)) & 1u; }
inline void insert(Word* set, int j) { set[j >> 6] |= Word{1} << (j & 63); }
inline void erase(Word* set, int j) { set[j >> 6] &= ~(Word{1} << (j & 63)); }

inline int count(const Word* set, int words) {
    int total = 0;
    for (int w = 0; w < words; ++w) total += std::popcount(set[w]);
    return total;
}

/// A mixed graph on nodes 0..d-1 without self-loops. Cycles and bows are allowed; functions that do
/// not accept them say so.
class Graph {
  public:
    explicit Graph(int d) : d_(d), words_(words_for(d)), parents_(size()), spouses_(size()) {}

    int d() const { return d_; }
    int words() const { return words_; }

    const Word* parents(int i) const { return parents_.data() + offset(i); }
    const Word* spouses(int i) const { return spouses_.data() + offset(i); }
    Word* parents(int i) { return parents_.data() + offset(i); }
    Word* spouses(int i) { return spouses_.data() + offset(i); }

    bool directed(int from, int to) const { return contains(parents(to), from); }
    bool bidirected(int i, int j) const { return contains(spouses(i), j); }
    bool adjacent(int i, int j) const {
        return directed(i, j) || directed(j, i) || bidirected(i, j);
    }

    void add_directed(int from, int to) { insert(parents(to), from); }
    void remove_directed(int from, int to) { erase(parents(to), from); }
    void add_bidirected(int i, int j) {
        insert(spouses(i), j);
        insert(spouses(j), i);
    }
    void remove_bidirected(int i, int j) {
        erase(spouses(i), j);
        erase(spouses(j), i);
    }

    bool operator==(const Graph&) const = default;

  private:
    std::size_t size() const { return static_cast<std::size_t>(d_) * words_; }
    std::size_t offset(int i) const { return static_cast<std::size_t>(i) * words_; }

    int d_;
    int words_;
    std::vector<Word> parents_;
    std::vector<Word> spouses_;
};

/// The number of edges, directed and bidirected.
int count_edges(const Graph& graph);

/// The nodes of the district (bidirected-connected component) that contains `start`, ascending.
std::vector<int> district_of(const Graph& graph, int start);

/// All districts, each ascending, ordered by their smallest node.
std::vector<std::vector<int>> districts(const Graph& graph);

/// The sum of `value(members)` over the districts, in the order of `districts`: it depends on the
/// graph only.
template <class Value>
double sum_over_districts(const Graph& graph, Value&& value) {
    double total = 0.0;
    for (const auto& members : districts(graph)) total += value(members);
    return total;
}

/// A topological order of the directed part (parents before children; among the possible next nodes
/// the smallest), or an empty vector when there is a directed cycle.
std::vector<int> topological_order(const Graph& graph);

}  // namespace bowfree
