// The last stage of an exact search (exact.hpp): A* search over orders of single nodes and of the
// districts that remain.
#pragma once

#include <array>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rng.hpp"
#include "search/exact_relaxation.hpp"

namespace bowfree::exact {

class StateSearch {
  public:
    StateSearch(Space& space, std::vector<Kept> kept);

    /// Finds the best graph that consists of the districts and of single nodes, if it is better than
    /// the known one.
    void run();

  private:
    /// A prefix of an order: the nodes placed, and the other members of the districts begun, which
    /// wait for their parents. The values of these districts are counted in full.
    struct State {
        Set placed = 0, pending = 0;
        std::array<Set, exact_limit> missing{};  // by pending node: its parents not placed
        double value = 0.0, bound = 0.0;
        int before = -1, node = -1, candidate = -1;  // the previous state, and what was added

        bool same_as(const State& other) const {
            return placed == other.placed && pending == other.pending && missing == other.missing;
        }
        std::size_t hash() const {
            std::uint64_t code = scatter(static_cast<std::uint64_t>(placed) << 32 | pending);
            each(pending, [&](int v) { code = scatter(code ^ missing[v]); });
            return code;
        }
    };

    void add_state(State state, const Candidate* begun);
    double completion(const State& state);
    Graph graph_of(int index) const;

    Space& space_;
    Set all_;
    std::vector<Kept> kept_;
    std::vector<Candidate> candidates_;  // without those that contain the edges of a better one
    std::vector<State> states_;
    std::unordered_multimap<std::size_t, int> known_;  // states by hash
    std::priority_queue<std::pair<double, int>> queue_;
    std::vector<Set> prefixes_;  // scratch of `completion`
    std::vector<std::vector<double>> values_;
    std::vector<double> completions_;
};

}  // namespace bowfree::exact
