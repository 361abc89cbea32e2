// Graphs that chains have sampled, with multiplicity, for splices (structure_mcmc.hpp).
//
// A splice copies the edges among some nodes from such a graph, and needs the number of graphs with
// these edges. Therefore there is one bit for each graph, for every pair of nodes and every state
// of the pair: graphs with given edges are counted by "and" and popcount, 64 graphs at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/edge.hpp"
#include "stop.hpp"

namespace bowfree {

class GraphMemory {
  public:
    /// Stores at most `most` graphs on d nodes; if there are more, every second is dropped.
    GraphMemory(int d, std::size_t most);

    /// Adds graphs given by the states of their pairs, samples x pairs as in `ChainRecord`. After
    /// `Stopped` was thrown, the memory must not be used.
    void add(const std::vector<std::uint8_t>& states, const Stop& stop);

    std::size_t size() const { return n_pairs_ == 0 ? 0 : states_.size() / n_pairs_; }
    const std::vector<std::uint8_t>& states() const { return states_; }
    Edge edge(std::size_t graph, std::size_t pair) const {
        return static_cast<Edge>(states_[graph * n_pairs_ + pair]);
    }

    /// The number of graphs with `edges[k]` at `pairs[k]` for every k.
    std::size_t count(const std::vector<std::size_t>& pairs, const std::vector<Edge>& edges) const;

    /// A node and the (at most nine) others that are adjacent to it in most graphs.
    const std::vector<int>& near(int node) const { return near_[node]; }

  private:
    void slice(const Stop& stop);
    void find_near(const Stop& stop);

    int d_;
    std::size_t n_pairs_, most_;
    std::vector<std::uint8_t> states_;   // graphs x pairs
    std::size_t n_words_ = 0;            // of 64 graphs
    std::vector<std::uint64_t> slices_;  // pairs x states x words
    std::vector<std::vector<int>> near_;
};

}  // namespace bowfree
