#include "uncertainty/graph_memory.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace bowfree {

/// Largest number of nodes of a splice. Regions that chains hardly cross between differ at a few
/// neighboring nodes, whatever the number of variables.
constexpr std::size_t neighborhood = 10;

GraphMemory::GraphMemory(int d, std::size_t most) : d_(d), n_pairs_(n_pairs(d)), most_(most) {}

void GraphMemory::add(const std::vector<std::uint8_t>& states, const Stop& stop) {
    states_.insert(states_.end(), states.begin(), states.end());
    while (size() > most_) {
        std::vector<std::uint8_t> kept;
        for (std::size_t graph = 1; graph < size(); graph += 2)
            kept.insert(kept.end(), states_.begin() + graph * n_pairs_,
                        states_.begin() + (graph + 1) * n_pairs_);
        states_ = std::move(kept);
    }
    slice(stop);
    find_near(stop);
}

void GraphMemory::slice(const Stop& stop) {
    n_words_ = (size() + 63) / 64;
    slices_.assign(4 * n_pairs_ * n_words_, 0);
    auto state = states_.begin();
    for (std::size_t graph = 0; graph < size(); ++graph) {
        stop.check();
        for (std::size_t pair = 0; pair < n_pairs_; ++pair)
            slices_[(4 * pair + *state++) * n_words_ + graph / 64] |= std::uint64_t{1}
                                                                      << (graph % 64);
    }
}

std::size_t GraphMemory::count(const std::vector<std::size_t>& pairs,
                               const std::vector<Edge>& edges) const {
    std::size_t total = 0;
    for (std::size_t word = 0; word < n_words_; ++word) {
        std::uint64_t graphs = ~std::uint64_t{0};
        for (std::size_t k = 0; k < pairs.size() && graphs != 0; ++k)
            graphs &=
                slices_[(4 * pairs[k] + static_cast<std::size_t>(edges[k])) * n_words_ + word];
        total += static_cast<std::size_t>(std::popcount(graphs));
    }
    return total;
}

void GraphMemory::find_near(const Stop& stop) {
    std::vector<std::size_t> joined(static_cast<std::size_t>(d_) * d_);
    for (std::size_t graph = 0; graph < size(); ++graph) {
        stop.check();
        std::size_t pair = 0;
        for (int j = 1; j < d_; ++j)
            for (int i = 0; i < j; ++i, ++pair)
                if (edge(graph, pair) != Edge::none) ++joined[i * d_ + j], ++joined[j * d_ + i];
    }
    near_.assign(d_, std::vector<int>(d_));
    for (int node = 0; node < d_; ++node) {
        stop.check();
        std::vector<int>& others = near_[node];
        std::iota(others.begin(), others.end(), 0);
        std::swap(others[0], others[node]);
        std::sort(others.begin() + 1, others.end(), [&](int a, int b) {
            const std::size_t of_a = joined[node * d_ + a], of_b = joined[node * d_ + b];
            return of_a != of_b ? of_a > of_b : a < b;
        });
        others.resize(std::min<std::size_t>(others.size(), neighborhood));
    }
}

}  // namespace bowfree
