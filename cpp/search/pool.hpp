// The best distinct graphs met, bounded in number and in distance from the best.
#pragma once

#include <cstddef>
#include <limits>
#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"
#include "graph/key.hpp"

namespace bowfree {

struct Scored {
    Graph graph;
    double score;
};

class Pool {
  public:
    /// Keeps the `keep` best graphs with a score of at least the best one's minus `window`.
    Pool(std::size_t keep, double window) : keep_(keep), window_(window) {}

    /// True when a graph of this score would be kept as things stand: ask before making a copy. A
    /// score that is no number is not wanted.
    bool wants(double score) const { return keep_ > 0 && score >= bar_; }
    void offer(const Key& key, double score, const Graph& graph);
    void merge(const Pool& other);

    /// What is kept, best first; equal scores in the order of their keys.
    std::vector<Scored> sorted() const;

  private:
    void trim();

    static constexpr double lowest = std::numeric_limits<double>::lowest();
    std::size_t keep_;
    double window_;
    double best_ = lowest, bar_ = lowest;
    std::unordered_map<Key, Scored, KeyHash> graphs_;
};

}  // namespace bowfree
