#include "search/exact_states.hpp"

#include <algorithm>
#include <tuple>

namespace bowfree::exact {

StateSearch::StateSearch(Space& space, std::vector<Kept> kept)
    : space_(space), all_(space.all()), kept_(std::move(kept)) {
    std::vector<Candidate> candidates;
    for (const Kept& entry : kept_) candidates.push_back(entry.candidate);
    std::ranges::sort(candidates, [&](const auto& a, const auto& b) {
        return std::tie(a.members, b.value, a.parents, a.spouses) <
               std::tie(b.members, a.value, b.parents, b.spouses);
    });
    std::size_t group = 0;
    for (const Candidate& candidate : candidates) {
        while (group < candidates_.size() && candidates_[group].members != candidate.members)
            ++group;
        const bool dominated = std::any_of(
            candidates_.begin() + group, candidates_.end(), [&](const Candidate& better) {
                for (int k = 0; k < candidate.size(); ++k)
                    if ((better.parents[k] & ~candidate.parents[k]) ||
                        (better.spouses[k] & ~candidate.spouses[k]))
                        return false;
                return true;
            });
        if (!dominated) candidates_.push_back(candidate);
    }
    space.found().kept = static_cast<std::int64_t>(candidates_.size());
}

void StateSearch::run() {
    add_state({}, nullptr);
    while (!queue_.empty()) {
        const auto [value, index] = queue_.top();
        space_.lower_bound(value);
        if (!(value > space_.threshold())) break;
        queue_.pop();
        const State state = states_[index];
        if (state.value + state.bound > value) continue;  // reached on a better way since
        if (state.placed == all_) {
            space_.accept(graph_of(index));
            continue;
        }
        State next = state;
        next.before = index;
        next.candidate = -1;
        each(all_ & ~state.placed & ~state.pending, [&](int v) {
            if (!space_.may_be_alone(v) || space_.single(v, state.placed) == -infinity) return;
            next.node = v;
            next.value = state.value + space_.single(v, state.placed);
            next.placed = state.placed | bit(v);
            add_state(next, nullptr);
        });
        next.node = -1;
        next.placed = state.placed;
        for (int k = 0; k < static_cast<int>(candidates_.size()); ++k) {
            const Candidate& candidate = candidates_[k];
            if (candidate.members & (state.placed | state.pending)) continue;
            next.candidate = k;
            next.value = state.value + candidate.value;
            add_state(next, &candidate);
        }
    }
}

/// Adds a state, at the beginning of a district if one is given, after placing all pending
/// nodes whose parents are placed: their parents are chosen, so there is nothing to wait for.
void StateSearch::add_state(State state, const Candidate* begun) {
    const Set before = state.placed;
    if (begun != nullptr) {
        state.pending |= begun->members;
        int k = 0;
        each(begun->members, [&](int v) { state.missing[v] = begun->parents[k++]; });
    }
    for (Set ready = all_; ready != 0;) {
        ready = 0;
        each(state.pending, [&](int v) {
            state.missing[v] &= ~state.placed;
            if (state.missing[v] == 0) ready |= bit(v);
        });
        state.placed |= ready;
        state.pending &= ~ready;
    }
    if (begun != nullptr && (state.placed & ~before & begun->members) == 0) return;
    const std::size_t hash = state.hash();
    auto [entry, end] = known_.equal_range(hash);
    for (; entry != end; ++entry) {
        State& known = states_[entry->second];
        if (!known.same_as(state)) continue;
        if (!(state.value > known.value)) return;
        state.bound = known.bound;
        known = state;
        if (state.value + state.bound > space_.threshold())
            queue_.emplace(state.value + state.bound, entry->second);
        return;
    }
    state.bound = completion(state);
    known_.emplace(hash, static_cast<int>(states_.size()));
    states_.push_back(state);
    space_.found().states = static_cast<std::int64_t>(states_.size());
    if (state.value + state.bound > space_.threshold())
        queue_.emplace(state.value + state.bound, static_cast<int>(states_.size()) - 1);
}

/// An upper bound of the value of the nodes that are neither placed nor pending: the relaxation
/// with the districts that can still begin.
double StateSearch::completion(const State& state) {
    const Set open = all_ & ~state.placed, busy = state.placed | state.pending;
    const int m = std::popcount(open);
    const std::size_t size = std::size_t{1} << m;
    space_.check(static_cast<double>(size) * m * m);
    std::array<int, exact_limit> nodes{}, local{};
    int k = 0;
    each(open, [&](int v) {
        local[v] = k;
        nodes[k++] = v;
    });
    prefixes_.resize(size);
    prefixes_[0] = state.placed;
    for (std::size_t x = 1; x < size; ++x)
        prefixes_[x] = prefixes_[x & (x - 1)] | bit(nodes[std::countr_zero(x)]);
    // values_[k - 1]: what node i counts at prefix x if it closes a district of k nodes.
    values_.resize(space_.largest());
    for (auto& values : values_) values.assign(size * m, -infinity);
    for (int i = 0; i < m; ++i)
        if (!has(state.pending, nodes[i]))
            for (std::size_t x = 0; x < size; ++x)
                if (!(x >> i & 1)) values_[0][i * size + x] = space_.share(nodes[i], prefixes_[x]);
    std::array<Set, exact_district_limit> spread{};
    for (const Kept& entry : kept_) {
        if (entry.candidate.members & busy) continue;
        std::size_t x = 0;
        each(entry.prefix & open, [&](int v) { x |= std::size_t{1} << local[v]; });
        const int k = entry.candidate.size() - 1;
        double& value = values_[k][local[entry.c] * size + x];
        value = std::max(value, entry.closing);
        spread[k] |= bit(local[entry.c]);
    }
    for (int k = 1; k < space_.largest(); ++k)
        each(spread[k], [&](int i) {
            double* values = &values_[k][i * size];
            for (int j = 0; j < m; ++j)
                if (j != i)
                    for (std::size_t x = 0; x < size; ++x)
                        if ((x >> j & 1) && !(x >> i & 1))
                            values[x] = std::max(values[x], values[x ^ (std::size_t{1} << j)]);
        });
    const std::size_t width = m + 1;  // as in `relax`
    completions_.assign(size * width, -infinity);
    std::fill_n(completions_.end() - static_cast<std::ptrdiff_t>(width), width, 0.0);
    for (std::size_t x = size - 1; x-- > 0;)
        for (int u = 0; u <= std::popcount(x); ++u) {
            double best = -infinity;
            for (int i = 0; i < m; ++i) {
                if (x >> i & 1) continue;
                const int v = nodes[i];
                const double* rest = &completions_[(x | std::size_t{1} << i) * width];
                if (has(state.pending, v)) {
                    if ((state.missing[v] & ~prefixes_[x]) == 0) best = std::max(best, rest[u]);
                    continue;
                }
                best = std::max(best, values_[0][i * size + x] + rest[u + 1]);
                for (int k = 1; k < space_.largest() && k <= u; ++k)
                    best = std::max(best, values_[k][i * size + x] + rest[u - k]);
            }
            completions_[x * width + u] = best;
        }
    return completions_[0];
}

Graph StateSearch::graph_of(int index) const {
    Graph graph(space_.d());
    for (; index > 0; index = states_[index].before) {
        const State& state = states_[index];
        if (state.candidate >= 0) write(candidates_[state.candidate], graph);
        if (state.node >= 0)
            graph.parents(state.node)[0] =
                space_.best_parents(state.node, states_[state.before].placed);
    }
    return graph;
}

}  // namespace bowfree::exact
