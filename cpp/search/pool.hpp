// The best distinct graphs that were visited, bounded in number and in distance from the best.
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

/// A graph as a list of edges: with a thousand nodes a few kilobytes instead of 250.
class PackedGraph {
  public:
    PackedGraph() = default;
    explicit PackedGraph(const Graph& graph);
    /// From the `edges()` of a graph on d nodes; throws if they are invalid.
    PackedGraph(int d, std::vector<std::uint32_t> edges);

    /// The graph with pair (i, j), i < j, set to `edge`.
    PackedGraph with(int i, int j, Edge edge) const;
    Graph unpack() const;

    /// A code for each edge: 4 * pair index + state, in any order.
    const std::vector<std::uint32_t>& edges() const { return edges_; }

  private:
    static std::uint32_t code(int i, int j, Edge edge) {
        return static_cast<std::uint32_t>(pair_index(i, j)) << 2 | static_cast<std::uint32_t>(edge);
    }
    int d_ = 0;
    std::vector<std::uint32_t> edges_;
};

class Pool {
  public:
    static constexpr double lowest = std::numeric_limits<double>::lowest();

    /// Keeps the `keep` best graphs with a score of at least the best one's minus `window`.
    Pool(std::size_t keep, double window) : keep_(keep), window_(window) {}

    /// Whether a graph of this score would be kept, before it is copied. False for NaN.
    bool wants(double score) const { return keep_ > 0 && score >= bar_; }
    void offer(const Key& key, double score, const Graph& graph) {
        // A graph that is there already is not packed again.
        if (wants(score))
            offer(key, score, graphs_.contains(key) ? PackedGraph() : PackedGraph(graph));
    }
    void offer(const Key& key, double score, PackedGraph graph);
    void merge(const Pool& other);

    std::size_t keep() const { return keep_; }
    double bar() const { return bar_; }
    /// The score below which no graph can be among the kept ones any more.
    double least() const;

    /// The best graph, if there is one.
    std::optional<Scored> best() const;
    /// The graphs, best first; those of equal score in the order of their keys. The result does not
    /// depend on the order of the offers, or on which of several merged pools got them.
    std::vector<Scored> sorted() const;
    /// The same as lists of edges.
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

    std::size_t keep_;
    double window_;
    double best_ = lowest, bar_ = lowest;
    std::unordered_map<Key, Entry, KeyHash> graphs_;
};

}  // namespace bowfree
