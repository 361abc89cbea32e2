// The last stage of an exact search (exact.hpp): A* search over orders of the nodes, with the
// relaxation as heuristic.
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
    StateSearch(Space& space, Relaxation& relaxation)
        : space_(space), relaxation_(relaxation), kept_(relaxation.districts()) {
        space.found().kept = static_cast<std::int64_t>(kept_.size());
    }

    /// Finds the best graph that consists of the districts that remain and of single nodes, if it is
    /// better than the known one.
    void run();

  private:
    /// A prefix of an order, and the nodes in it that wait for the last member of their district.
    struct State {
        Set placed = 0, waiting = 0;
        std::array<Set, exact_limit> prefix{};  // by waiting node: the nodes placed before it
        double value = 0.0;
        int before = -1, node = -1, district = -1;  // the previous state, and what was added
        bool alone = false;                         // whether the node is a district by itself

        bool same_as(const State& other) const {
            return placed == other.placed && waiting == other.waiting && prefix == other.prefix;
        }
        std::size_t hash() const {
            std::uint64_t code = scatter(static_cast<std::uint64_t>(placed) << 32 | waiting);
            each(waiting, [&](int v) { code = scatter(code ^ prefix[v]); });
            return code;
        }
    };

    void add_state(const State& state);
    void expand(int index);
    Graph graph_of(int index) const;

    Space& space_;
    Relaxation& relaxation_;
    std::vector<Kept> kept_;
    std::vector<State> states_;
    std::unordered_multimap<std::size_t, int> known_;  // states by hash
    std::priority_queue<std::pair<double, int>> queue_;
};

}  // namespace bowfree::exact
