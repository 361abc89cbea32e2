// Graphs that chains have sampled, with multiplicity: what they know of the law they sample from.
//
// A chain takes over a part of such a graph, the edges among some nodes, and has to know how often
// the memory has each version of that part (structure_mcmc.hpp, *splice*). So the memory lies in
// slices: for every pair of nodes and every state of it one bit for each graph. How many graphs
// have a part is then a matter of "and" and of counting bits, 64 graphs at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/edge.hpp"
#include "stop.hpp"

namespace bowfree {

class GraphMemory {
  public:
    /// Of graphs on d nodes, at most so many: of more, every second is forgotten.
    GraphMemory(int d, std::size_t most);

    /// Takes in graphs by the states of their pairs, samples x pairs as in `ChainNotes`. A memory
    /// that throws `Stopped` is of no use any more.
    void add(const std::vector<std::uint8_t>& states, const Stop& stop);

    std::size_t size() const { return n_pairs_ == 0 ? 0 : states_.size() / n_pairs_; }
    const std::vector<std::uint8_t>& states() const { return states_; }
    Edge edge(std::size_t graph, std::size_t pair) const {
        return static_cast<Edge>(states_[graph * n_pairs_ + pair]);
    }

    /// How many of the graphs have `edges[k]` at `pairs[k]` for every k.
    std::size_t count(const std::vector<std::size_t>& pairs, const std::vector<Edge>& edges) const;

    /// A node and the others that are joined with it in most graphs, nine at the most.
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
