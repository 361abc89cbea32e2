#include "space/random_graphs.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace bowfree {

RandomWalk::RandomWalk(Graph start, const Rules& rules, WalkStep step, Rng rng)
    : graph_(std::move(start)),
      rules_(rules),
      step_(step),
      rng_(rng),
      seen_(graph_.words()),
      frontier_(graph_.words()) {
    assert(rules.permits(graph_));
    n_edges_ = count_edges(graph_);
}

void RandomWalk::advance(std::int64_t steps, const Stop& stop) {
    if (graph_.d() < 2) return;
    // A step takes some 50 ns; with rules about the whole graph, up to milliseconds.
    const std::int64_t between_checks = rules_.has_global_rules() ? 1 : 64;
    for (std::int64_t done = 0; done < steps; done += between_checks) {
        stop.check();
        const std::int64_t some = std::min(between_checks, steps - done);
        for (std::int64_t k = 0; k < some; ++k) step();
    }
}

void RandomWalk::step() {
    // The ordered pair (from, to), uniform over all with from != to.
    const int from = rng_.below(graph_.d());
    int to = rng_.below(graph_.d() - 1);
    to += to >= from;
    const bool heads = rng_.coin();

    const int i = std::min(from, to), j = std::max(from, to);
    const Edge arrow = from < to ? Edge::forward : Edge::backward;
    const Edge present = get_edge(graph_, i, j);
    if (present == Edge::none) {
        const Edge wanted = heads ? arrow : Edge::bidirected;
        if (!may_become(i, j, wanted)) return;
        if (wanted == arrow && reaches(to, from)) return;
        set_edge(graph_, i, j, wanted);
        if (rules_.has_global_rules() && !rules_.permits_whole(graph_)) {
            set_edge(graph_, i, j, Edge::none);
            return;
        }
        ++n_edges_;
    } else if (heads) {
        const bool exact = present == arrow || present == Edge::bidirected;
        if (step_ == WalkStep::symmetric && !exact) return;
        if (!rules_.permits_edge(graph_.d(), i, j, Edge::none)) return;
        set_edge(graph_, i, j, Edge::none);
        --n_edges_;
    }
}

bool RandomWalk::may_become(int i, int j, Edge edge) {
    if (rules_.max_edges != Rules::unlimited && n_edges_ >= rules_.max_edges) return false;
    return rules_.permits_edge(graph_.d(), i, j, edge) &&
           rules_.permits_heads(graph_, i, j, Edge::none, edge);
}

bool RandomWalk::reaches(int from, int to) {
    // Breadth-first over the ancestors of `to`, without allocation: this runs in every other step.
    const int words = graph_.words();
    if (words == 1) {  // in registers
        Word seen = *graph_.parents(to);
        for (Word frontier = seen; frontier != 0 && !contains(&seen, from);) {
            const Word fresh = *graph_.parents(std::countr_zero(frontier)) & ~seen;
            frontier = (frontier & (frontier - 1)) | fresh;
            seen |= fresh;
        }
        return contains(&seen, from);
    }
    std::copy_n(graph_.parents(to), words, frontier_.begin());
    std::copy_n(frontier_.begin(), words, seen_.begin());
    for (bool any = true; any && !contains(seen_.data(), from);) {
        any = false;
        for (int w = 0; w < words; ++w) {
            while (frontier_[w] != 0) {
                const int i = 64 * w + std::countr_zero(frontier_[w]);
                frontier_[w] &= frontier_[w] - 1;
                for (int u = 0; u < words; ++u) {
                    const Word fresh = graph_.parents(i)[u] & ~seen_[u];
                    frontier_[u] |= fresh;
                    seen_[u] |= fresh;
                    any |= fresh != 0;
                }
            }
        }
    }
    return contains(seen_.data(), from);
}

Graph sample_naive(int d, GraphClass graph_class, Rng& rng) {
    std::vector<int> place(d);
    std::iota(place.begin(), place.end(), 0);
    for (int i = d - 1; i > 0; --i) std::swap(place[i], place[rng.below(i + 1)]);
    const bool both_kinds = graph_class == GraphClass::bap;
    Graph graph(d);
    for (int j = 0; j < d; ++j)
        for (int i = 0; i < j; ++i) {
            const int kind = rng.below(both_kinds ? 3 : 2);
            if (kind == 0) continue;
            if (kind == 2 || graph_class == GraphClass::bidirected)
                graph.add_bidirected(place[i], place[j]);
            else
                graph.add_directed(place[i], place[j]);
        }
    return graph;
}

}  // namespace bowfree
