#include "search/pool.hpp"

#include <algorithm>
#include <stdexcept>

namespace bowfree {

PackedGraph::PackedGraph(const Graph& graph) : d_(graph.d()) {
    for (int v = 0; v < d_; ++v) {
        for_each_node(graph.parents(v), graph.words(), [&](int p) {
            edges_.push_back(p < v ? code(p, v, Edge::forward) : code(v, p, Edge::backward));
        });
        for_each_node(graph.spouses(v), graph.words(), [&](int s) {
            if (s < v) edges_.push_back(code(s, v, Edge::bidirected));
        });
    }
}

PackedGraph::PackedGraph(int d, std::vector<std::uint32_t> edges)
    : d_(d), edges_(std::move(edges)) {
    std::ranges::sort(edges_);
    for (std::size_t e = 0; e < edges_.size(); ++e)
        if (edges_[e] >> 2 >= n_pairs(d) || (edges_[e] & 3) == 0 ||
            (e > 0 && edges_[e] >> 2 == edges_[e - 1] >> 2))
            throw std::invalid_argument("a packed graph has an invalid edge");
}

PackedGraph PackedGraph::with(int i, int j, Edge edge) const {
    PackedGraph other;
    other.d_ = d_;
    other.edges_.reserve(edges_.size() + 1);
    const std::uint32_t pair = code(i, j, Edge::none) >> 2;
    for (const std::uint32_t entry : edges_)
        if (entry >> 2 != pair) other.edges_.push_back(entry);
    if (edge != Edge::none) other.edges_.push_back(code(i, j, edge));
    return other;
}

Graph PackedGraph::unpack() const {
    // In the order of the pairs, so that j only grows.
    std::vector<std::uint32_t> entries = edges_;
    std::ranges::sort(entries);
    Graph graph(d_);
    int j = 1;
    std::uint32_t first = 0;  // the pair (0, j)
    for (const std::uint32_t entry : entries) {
        const std::uint32_t pair = entry >> 2;
        while (pair >= first + static_cast<std::uint32_t>(j))
            first += static_cast<std::uint32_t>(j++);
        add_edge(graph, static_cast<int>(pair - first), j, static_cast<Edge>(entry & 3));
    }
    return graph;
}

bool Pool::comes_before(const Ranked& a, const Ranked& b) {
    return a.second->score != b.second->score ? a.second->score > b.second->score
                                              : a.first < b.first;
}

std::vector<Pool::Ranked> Pool::ranked() const {
    std::vector<Ranked> entries;
    for (const auto& [key, entry] : graphs_) entries.emplace_back(key, &entry);
    std::ranges::sort(entries, comes_before);
    return entries;
}

std::optional<Scored> Pool::best() const {
    std::optional<Ranked> first;
    for (const auto& [key, entry] : graphs_)
        if (const Ranked next(key, &entry); !first || comes_before(next, *first)) first = next;
    if (!first) return std::nullopt;
    return Scored{first->second->graph.unpack(), first->second->score};
}

void Pool::offer(const Key& key, double score, PackedGraph graph) {
    if (!wants(score)) return;
    const auto [entry, is_new] = graphs_.try_emplace(key, Entry{std::move(graph), score});
    // A graph may be offered with two scores that differ by rounding, one of them computed as that
    // of a neighbor: keep the larger one, so that the order of the offers does not matter.
    if (!is_new) entry->second.score = std::max(entry->second.score, score);
    if (score > best_) {
        best_ = score;
        bar_ = std::max(bar_, best_ - window_);
    }
    if (graphs_.size() >= keep_ + keep_ / 8 + 16) trim();
}

void Pool::merge(const Pool& other) {
    for (const auto& [key, entry] : other.graphs_) offer(key, entry.score, entry.graph);
}

void Pool::trim() {
    std::vector<Ranked> entries;
    for (const auto& [key, entry] : graphs_) entries.emplace_back(key, &entry);
    const auto last = entries.begin() + static_cast<std::ptrdiff_t>(keep_ - 1);
    std::ranges::nth_element(entries, last, comes_before);
    bar_ = std::max(bar_, last->second->score);
    std::vector<Key> gone;
    for (auto entry = entries.begin(); entry != entries.end(); ++entry)
        if (entry > last || entry->second->score < bar_) gone.push_back(entry->first);
    for (const Key& key : gone) graphs_.erase(key);
}

std::vector<Pool::Ranked> Pool::kept() const {
    std::vector<Ranked> entries = ranked();
    if (entries.size() > keep_) entries.resize(keep_);
    while (!entries.empty() && entries.back().second->score < best_ - window_) entries.pop_back();
    return entries;
}

double Pool::least() const {
    const std::vector<Ranked> entries = kept();
    return entries.size() == keep_ ? entries.back().second->score : best_ - window_;
}

std::vector<Scored> Pool::sorted() const {
    std::vector<Scored> result;
    for (const auto& [key, entry] : kept()) result.push_back({entry->graph.unpack(), entry->score});
    return result;
}

std::vector<std::pair<PackedGraph, double>> Pool::sorted_packed() const {
    std::vector<std::pair<PackedGraph, double>> result;
    for (const auto& [key, entry] : kept()) result.emplace_back(entry->graph, entry->score);
    return result;
}

}  // namespace bowfree
