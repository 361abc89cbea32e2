#include "search/pool.hpp"

#include <algorithm>
#include <utility>

namespace bowfree {

namespace {

using Entry = std::pair<Key, const Scored*>;

bool better(const Entry& a, const Entry& b) {
    return a.second->score != b.second->score ? a.second->score > b.second->score
                                              : a.first < b.first;
}

std::vector<Entry> ranked(const std::unordered_map<Key, Scored, KeyHash>& graphs) {
    std::vector<Entry> entries;
    for (const auto& [key, scored] : graphs) entries.emplace_back(key, &scored);
    std::sort(entries.begin(), entries.end(), better);
    return entries;
}

}  // namespace

void Pool::offer(const Key& key, double score, const Graph& graph) {
    if (!wants(score)) return;
    const auto [place, is_new] = graphs_.try_emplace(key, Scored{graph, score});
    // The same graph can come with two scores that differ by rounding, when it was scored as a
    // neighbour: the larger one stays, so that the order of the offers does not matter.
    if (!is_new) place->second.score = std::max(place->second.score, score);
    if (score > best_) {
        best_ = score;
        bar_ = std::max(bar_, best_ - window_);
    }
    if (graphs_.size() >= 2 * keep_ + 16) trim();
}

void Pool::merge(const Pool& other) {
    for (const auto& [key, scored] : other.graphs_) offer(key, scored.score, scored.graph);
}

void Pool::trim() {
    const auto entries = ranked(graphs_);
    std::vector<Key> gone;
    for (std::size_t e = 0; e < entries.size(); ++e)
        if (e >= keep_ || entries[e].second->score < bar_) gone.push_back(entries[e].first);
    if (entries.size() > keep_) bar_ = std::max(bar_, entries[keep_ - 1].second->score);
    for (const Key& key : gone) graphs_.erase(key);
}

std::vector<Scored> Pool::sorted() const {
    std::vector<Scored> result;
    for (const auto& [key, scored] : ranked(graphs_)) {
        if (result.size() == keep_ || scored->score < best_ - window_) break;
        result.push_back(*scored);
    }
    return result;
}

}  // namespace bowfree
