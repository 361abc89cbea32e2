#include "uncertainty/structure_mcmc.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/key.hpp"
#include "threads.hpp"

namespace bowfree {

namespace {

/// One step in so many is a jump. Jumps cost more than changes, and a chain has to spread around
/// its new place before the next one tells anything.
constexpr std::int64_t jump_every = 20;

int n_edges(const Graph& graph) {
    int count = 0;
    for (int j = 1; j < graph.d(); ++j)
        for (int i = 0; i < j; ++i) count += graph.adjacent(i, j);
    return count;
}

}  // namespace

StructureChains::StructureChains(Scorer& scorer, Rules rules, const std::vector<Graph>& starts,
                                 GraphLaw law, std::size_t keep, double window, std::uint64_t seed)
    : scorer_(scorer),
      rules_(std::move(rules)),
      law_(std::move(law)),
      keep_(keep),
      window_(window),
      known_(keep, window) {
    for (std::size_t c = 0; c < starts.size(); ++c)
        chains_.push_back({starts[c], Rng(seed, c), Pool(keep, window)});
}

void StructureChains::offer(const Graph& graph, const Stop& stop) {
    Workspace workspace(scorer_, stop);
    known_.offer(graph_key(graph), law_(scorer_.score(graph, workspace), n_edges(graph)), graph);
}

void StructureChains::walk(std::int64_t steps, std::int64_t thin, int n_threads, const Stop& stop) {
    run_jobs(static_cast<int>(chains_.size()), n_threads, stop,
             [&](int c, const Stop& its_stop) { walk_one(chains_[c], steps, thin, its_stop); });
}

void StructureChains::walk_one(Chain& chain, std::int64_t steps, std::int64_t thin,
                               const Stop& stop) const {
    Workspace workspace(scorer_, stop);
    MoveTable table(scorer_, chain.graph, workspace);
    const int d = table.d();
    double score = table.score();
    chain.pool.offer(table.key(), law_(score, table.n_edges()), table.graph());
    for (std::int64_t step = 0; step < steps; ++step) {
        stop.check();
        if (thin > 0) ++chain.steps;
        // Which kind of step it is must not depend on the graph: outside the list a jump stays.
        if (++chain.clock % jump_every == 0 && !list_.empty())
            jump(chain, table, score);
        else if (d > 1)
            change(chain, table, score);
        if (thin > 0 && chain.steps % thin == 0) {
            chain.scores.push_back(score);
            for (int j = 1; j < d; ++j)
                for (int i = 0; i < j; ++i)
                    chain.states.push_back(static_cast<std::uint8_t>(table.edge(i, j)));
        }
    }
    if (thin == 0) chain.accepted = 0;
    chain.graph = table.graph();
}

void StructureChains::change(Chain& chain, MoveTable& table, double& score) const {
    const int a = chain.rng.below(table.d());
    int b = chain.rng.below(table.d() - 1);
    b += b >= a;
    const int i = std::min(a, b), j = std::max(a, b);
    const Move move{i, j, other_edge(table.edge(i, j), chain.rng)};
    const double chance = chain.rng.uniform();
    if (!table.permits(rules_, move)) return;
    const int before = table.n_edges();
    const int after = before + (move.edge != Edge::none) - (table.edge(i, j) != Edge::none);
    const double gain = law_.per_score * table.gain(move, scorer_.edge_cost()) + law_.prior(after) -
                        law_.prior(before);
    const double weight = law_(score, before) + gain;
    if (chain.pool.wants(weight)) {
        Graph seen = table.graph();
        set_edge(seen, i, j, move.edge);
        chain.pool.offer(table.key_after(move), weight, seen);
    }
    if (chance < std::exp(gain)) {
        table.apply(move);
        score = table.score();
        ++chain.accepted;
    }
}

void StructureChains::jump(Chain& chain, MoveTable& table, double& score) const {
    const double drawn = chain.rng.uniform() * cumulated_.back();
    if (!in_list_.contains(table.key())) return;
    const auto place = std::upper_bound(cumulated_.begin(), cumulated_.end(), drawn);
    table.morph(list_[std::min<std::size_t>(place - cumulated_.begin(), list_.size() - 1)]);
    score = table.score();
}

void StructureChains::renew_list(const Stop& stop) {
    const auto best = pool(stop);
    list_.clear();
    cumulated_.clear();
    in_list_.clear();
    double total = 0.0;
    const auto weight = [&](const Scored& scored) {
        return law_(scored.score, n_edges(scored.graph));
    };
    for (const Scored& scored : best) {
        list_.push_back(scored.graph);
        in_list_.insert(graph_key(scored.graph));
        cumulated_.push_back(total += std::exp(weight(scored) - weight(best.front())));
    }
}

std::vector<Scored> StructureChains::pool(const Stop& stop) const {
    Pool all = known_;
    for (const Chain& chain : chains_) all.merge(chain.pool);
    std::vector<Scored> best = all.sorted();
    Workspace workspace(scorer_, stop);
    for (Scored& scored : best) scored.score = scorer_.score(scored.graph, workspace);
    return best;
}

}  // namespace bowfree
