// The best distinct graphs met, bounded in number and in distance from the best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/edge.hpp"
#include "graph/key.hpp"

namespace bowfree {

struct Scored {
    Graph graph;
    double score;
};

/// A graph by its edges: at a thousand nodes some kilobytes, where the rows of bits are 250.
class PackedGraph {
  public:
    PackedGraph() = default;
    explicit PackedGraph(const Graph& graph);
    /// From what `edges` of a graph on d nodes returned; throws when these cannot be its edges.
    PackedGraph(int d, std::vector<std::uint32_t> edges);

    /// The graph with pair (i, j), i < j, set to `edge`.
    PackedGraph with(int i, int j, Edge edge) const;
    Graph unpack() const;

    /// A number for each edge, by pair and state.
    const std::vector<std::uint32_t>& edges() const { return edges_; }

  private:
    static std::uint32_t code(int i, int j, Edge edge) {
        return static_cast<std::uint32_t>(pair_index(i, j)) << 2 | static_cast<std::uint32_t>(edge);
    }
    int d_ = 0;
    std::vector<std::uint32_t> edges_;  // pair and state, in no order
};

class Pool {
  public:
    /// Keeps the `keep` best graphs with a score of at least the best one's minus `window`.
    Pool(std::size_t keep, double window) : keep_(keep), window_(window) {}

    /// True when a graph of this score would be kept as things stand: ask before making a copy. A
    /// score that is no number is not wanted.
    bool wants(double score) const { return keep_ > 0 && score >= bar_; }
    void offer(const Key& key, double score, const Graph& graph) {
        if (wants(score)) offer(key, score, PackedGraph(graph));
    }
    void offer(const Key& key, double score, PackedGraph graph);
    void merge(const Pool& other);

    std::size_t keep() const { return keep_; }
    double bar() const { return bar_; }

    /// The first of those that are kept, if any are.
    std::optional<Scored> best() const;
    /// What is kept, best first; equal scores in the order of their keys. It depends on what was
    /// offered, and not on the order of the offers: what several pools saw of them may be merged.
    std::vector<Scored> sorted() const;
    /// The same without making graphs of them.
    std::vector<std::pair<PackedGraph, double>> sorted_packed() const;

  private:
    struct Entry {
        PackedGraph graph;
        double score;
    };
    using Ranked = std::pair<Key, const Entry*>;
    static bool comes_before(const Ranked& a, const Ranked& b);
    std::vector<Ranked> ranked() const;
    std::vector<Ranked> kept() const;
    void trim();

    static constexpr double lowest = std::numeric_limits<double>::lowest();
    std::size_t keep_;
    double window_;
    double best_ = lowest, bar_ = lowest;
    std::unordered_map<Key, Entry, KeyHash> graphs_;
};

}  // namespace bowfree
