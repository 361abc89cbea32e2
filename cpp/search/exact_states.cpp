#include "search/exact_states.hpp"

#include <algorithm>

namespace bowfree::exact {

void StateSearch::run() {
    add_state({});
    while (!queue_.empty()) {
        const auto [value, index] = queue_.top();
        space_.lower_bound(value);
        if (!(value > space_.threshold())) break;
        queue_.pop();
        const State& state = states_[index];
        if (state.value + relaxation_.rest(state.placed, state.waiting) > value)
            continue;  // reached on a better way since
        if (state.placed == space_.all())
            space_.accept(graph_of(index));
        else
            expand(index);
    }
}

void StateSearch::expand(int index) {
    const State state = states_[index];
    each(space_.all() & ~state.placed, [&](int v) {
        State next = state;
        next.before = index;
        next.node = v;
        next.district = -1;
        next.placed |= bit(v);
        if (space_.may_be_alone(v)) {
            next.alone = true;
            next.value = state.value + space_.single(v, state.placed);
            add_state(next);
        }
        next.alone = false;
        next.value = state.value + relaxation_.share(v, state.placed);
        next.waiting |= bit(v);
        next.prefix[v] = state.placed;
        add_state(next);
    });
    for (int k = 0; k < static_cast<int>(kept_.size()); ++k) {
        const auto& [chain, best] = kept_[k];
        const int last = chain.size - 1, c = chain.members[last];
        if (has(state.placed, c) || (chain.prefix[last] & ~state.placed)) continue;
        State next = state;
        next.value += best.value;
        bool possible = true;
        for (int i = 0; i < last; ++i) {
            const int t = chain.members[i];
            possible &= has(state.waiting, t) && (chain.prefix[i] & ~state.prefix[t]) == 0;
            if (!possible) break;
            next.value -= relaxation_.share(t, state.prefix[t]);
            next.waiting ^= bit(t);
            next.prefix[t] = 0;
        }
        if (!possible) continue;
        next.before = index;
        next.node = c;
        next.district = k;
        next.alone = false;
        next.placed |= bit(c);
        add_state(next);
    }
}

void StateSearch::add_state(const State& state) {
    space_.check(1.0);
    const double value = state.value + relaxation_.rest(state.placed, state.waiting);
    if (!(value > space_.threshold())) return;
    const std::size_t hash = state.hash();
    auto [entry, end] = known_.equal_range(hash);
    for (; entry != end; ++entry) {
        State& known = states_[entry->second];
        if (!known.same_as(state)) continue;
        if (!(state.value > known.value)) return;
        known = state;
        queue_.emplace(value, entry->second);
        return;
    }
    known_.emplace(hash, static_cast<int>(states_.size()));
    queue_.emplace(value, static_cast<int>(states_.size()));
    states_.push_back(state);
    space_.found().states = static_cast<std::int64_t>(states_.size());
}

Graph StateSearch::graph_of(int index) const {
    Graph graph(space_.d());
    for (; index > 0; index = states_[index].before) {
        const State& state = states_[index];
        if (state.district >= 0) write(kept_[state.district].best, graph);
        if (state.alone)
            graph.parents(state.node)[0] =
                space_.best_parents(state.node, states_[state.before].placed);
    }
    return graph;
}

}  // namespace bowfree::exact
