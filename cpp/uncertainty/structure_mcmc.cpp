#include "uncertainty/structure_mcmc.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "graph/key.hpp"
#include "threads.hpp"

namespace bowfree {

namespace {

/// One step in so many is a jump. Jumps cost more than changes, and a chain has to spread around
/// its new place before the next one tells anything.
constexpr std::int64_t jump_every = 20;

/// One step in so many is a splice. It costs as much as the change of several pairs, and leads out
/// of what changes alone would hardly leave.
constexpr std::int64_t splice_every = 5;

/// One step in so many is an exchange.
constexpr std::int64_t exchange_every = 5;

/// States of pairs, in all graphs together, that are kept to splice from.
constexpr std::size_t most_states = 10'000'000;

/// Of the graphs that were sampled, the list has up to so many times as many as of the heaviest
/// ones.
constexpr std::size_t sampled_share = 4;

std::size_t memory_size(int d, std::size_t keep) {
    return std::min(sampled_share * keep, most_states / std::max<std::size_t>(1, n_pairs(d)));
}

}  // namespace

StructureChains::StructureChains(Scorer& scorer, Rules rules, const std::vector<Graph>& starts,
                                 GraphLaw law, std::size_t keep, double window, std::uint64_t seed)
    : scorer_(scorer),
      rules_(std::move(rules)),
      law_(std::move(law)),
      keep_(keep),
      window_(window),
      known_(keep, window),
      met_(sampled_share * keep, std::numeric_limits<double>::infinity()),
      memory_(scorer.d(), memory_size(scorer.d(), keep)) {
    for (std::size_t c = 0; c < starts.size(); ++c)
        chains_.push_back({{starts[c], Rng(seed, c)}, {empty_pool(), {}, {}}});
}

void StructureChains::offer(const Graph& graph, const Stop& stop) {
    Workspace workspace(scorer_, stop);
    known_.offer(graph_key(graph), law_(scorer_.score(graph, workspace), count_edges(graph)),
                 graph);
}

void StructureChains::walk(std::int64_t steps, std::int64_t thin, int n_threads, const Stop& stop) {
    run_jobs(static_cast<int>(chains_.size()), n_threads, stop,
             [&](int c, const Stop& its_stop) { walk_one(chains_[c], steps, thin, its_stop); });
}

void StructureChains::walk_one(Chain& chain, std::int64_t steps, std::int64_t thin,
                               const Stop& stop) const {
    Workspace workspace(scorer_, stop);
    MoveTable table(scorer_, chain.place.graph, workspace);
    const int d = table.d();
    double score = table.score();
    chain.notes.pool.offer(table.key(), law_(score, table.n_edges()), table.graph());
    for (std::int64_t step = 0; step < steps; ++step) {
        stop.check();
        ++chain.place.steps;
        // Which kind of step it is must not depend on the graph: outside the list a jump stays.
        ++chain.place.clock;
        if (chain.place.clock % jump_every == 0 && !list_.empty())
            jump(chain, table, score);
        else if (chain.place.clock % splice_every == 1 && memory_.size() > 0 && d > 2)
            splice(chain, table, workspace, score);
        else if (chain.place.clock % exchange_every == 3 && d > 2)
            exchange(chain, table, workspace, score);
        else if (d > 1)
            change(chain, table, score);
        if (thin > 0 && chain.place.steps % thin == 0) {
            chain.notes.scores.push_back(score);
            for (int j = 1; j < d; ++j)
                for (int i = 0; i < j; ++i)
                    chain.notes.states.push_back(static_cast<std::uint8_t>(table.edge(i, j)));
        }
    }
    chain.place.graph = table.graph();
}

void StructureChains::change(Chain& chain, MoveTable& table, double& score) const {
    const int a = chain.place.rng.below(table.d());
    int b = chain.place.rng.below(table.d() - 1);
    b += b >= a;
    const int i = std::min(a, b), j = std::max(a, b);
    const Move move{i, j, other_edge(table.edge(i, j), chain.place.rng)};
    const double chance = chain.place.rng.uniform();
    if (!table.permits(rules_, move)) return;
    const int before = table.n_edges();
    const int after = before + (move.edge != Edge::none) - (table.edge(i, j) != Edge::none);
    const double gain = law_.per_score * table.gain(move, scorer_.edge_cost()) + law_.prior(after) -
                        law_.prior(before);
    const double weight = law_(score, before) + gain;
    if (chain.notes.pool.wants(weight)) {
        Graph seen = table.graph();
        set_edge(seen, i, j, move.edge);
        chain.notes.pool.offer(table.key_after(move), weight, seen);
    }
    if (chance < std::exp(gain)) {
        table.apply(move);
        score = table.score();
        ++chain.place.accepted;
    }
}

void StructureChains::exchange(Chain& chain, MoveTable& table, Workspace& workspace,
                               double& score) const {
    Rng& rng = chain.place.rng;
    const int d = table.d(), edges = table.n_edges();
    if (edges == 0 || static_cast<std::size_t>(edges) == n_pairs(d)) return;
    const auto draw = [&](bool joined) {
        for (;;) {
            const int a = rng.below(d);
            int b = rng.below(d - 1);
            b += b >= a;
            const std::pair<int, int> pair = std::minmax(a, b);
            if ((table.edge(pair.first, pair.second) != Edge::none) == joined) return pair;
        }
    };
    const auto removed = draw(true), added = draw(false);
    const Edge edge = other_edge(Edge::none, rng);
    const double chance = rng.uniform();
    Graph next = table.graph();
    set_edge(next, removed.first, removed.second, Edge::none);
    set_edge(next, added.first, added.second, edge);
    if (!rules_.permits(next)) return;
    const double its_score = scorer_.score(next, workspace);
    const double weight = law_(its_score, edges);
    if (chain.notes.pool.wants(weight)) chain.notes.pool.offer(graph_key(next), weight, next);
    if (chance < std::exp(weight - law_(score, edges))) {
        table.morph(next);
        score = table.score();
        ++chain.place.accepted;
    }
}

void StructureChains::jump(Chain& chain, MoveTable& table, double& score) const {
    const double drawn = chain.place.rng.uniform() * cumulated_.back();
    if (!in_list_.contains(table.key())) return;
    const auto place = std::upper_bound(cumulated_.begin(), cumulated_.end(), drawn);
    table.morph(list_[std::min<std::size_t>(place - cumulated_.begin(), list_.size() - 1)].graph);
    score = table.score();
}

void StructureChains::splice(Chain& chain, MoveTable& table, Workspace& workspace,
                             double& score) const {
    Rng& rng = chain.place.rng;
    // Three nodes or more: two are a matter of a change.
    std::vector<int> nodes = memory_.near(rng.below(table.d()));
    const int size = 3 + rng.below(static_cast<int>(nodes.size()) - 2);
    for (int k = 1; k < size; ++k)
        std::swap(nodes[k], nodes[k + rng.below(static_cast<int>(nodes.size()) - k)]);
    nodes.resize(size);
    std::sort(nodes.begin(), nodes.end());
    const auto donor = static_cast<std::size_t>(rng.below(static_cast<int>(memory_.size())));
    const double chance = rng.uniform();

    std::vector<std::size_t> pairs;
    std::vector<Edge> before, after;
    for (int b = 1; b < size; ++b)
        for (int a = 0; a < b; ++a) {
            pairs.push_back(pair_index(nodes[a], nodes[b]));
            before.push_back(table.edge(nodes[a], nodes[b]));
            after.push_back(memory_.edge(donor, pairs.back()));
        }
    if (after == before) return;
    Graph next = table.graph();
    std::size_t k = 0;
    for (int b = 1; b < size; ++b)
        for (int a = 0; a < b; ++a, ++k)
            if (after[k] != before[k]) set_edge(next, nodes[a], nodes[b], after[k]);
    if (!rules_.permits(next)) return;
    const auto share_before = static_cast<double>(memory_.count(pairs, before));
    if (share_before == 0.0) return;
    const auto share_after = static_cast<double>(memory_.count(pairs, after));
    const double its_score = scorer_.score(next, workspace);
    const double weight = law_(its_score, count_edges(next));
    const double gain = weight - law_(score, table.n_edges());
    if (chain.notes.pool.wants(weight)) chain.notes.pool.offer(graph_key(next), weight, next);
    if (chance < std::exp(gain) * share_before / share_after) {
        table.morph(next);
        score = table.score();
    }
}

/// Offers what a chain has sampled.
void StructureChains::offer_samples(const ChainNotes& notes, Pool& pool, const Stop& stop) const {
    const int d = scorer_.d();
    auto state = notes.states.begin();
    for (const double score : notes.scores) {
        stop.check();
        Graph graph(d);
        for (int j = 1; j < d; ++j)
            for (int i = 0; i < j; ++i) add_edge(graph, i, j, static_cast<Edge>(*state++));
        pool.offer(graph_key(graph), law_(score, count_edges(graph)), graph);
    }
}

void StructureChains::begin_leg(const Stop& stop) {
    // All that may be stopped comes first.
    std::vector<Scored> list = pool(stop);
    std::unordered_set<Key, KeyHash> listed;
    for (const Scored& scored : list) listed.insert(graph_key(scored.graph));
    Pool met = met_;
    std::vector<std::uint8_t> sampled;  // by all chains, so that of each as many are remembered
    for (const Chain& chain : chains_) {
        offer_samples(chain.notes, met, stop);
        sampled.insert(sampled.end(), chain.notes.states.begin(), chain.notes.states.end());
    }
    GraphMemory memory = memory_;
    memory.add(sampled, stop);
    Workspace workspace(scorer_, stop);
    for (Scored& scored : met.sorted())
        if (!listed.contains(graph_key(scored.graph)))
            list.push_back({scored.graph, scorer_.score(scored.graph, workspace)});

    met_ = std::move(met);
    memory_ = std::move(memory);
    for (auto& [place, notes] : chains_) {
        notes.scores.clear();
        notes.states.clear();
        place.steps = place.accepted = 0;
    }
    set_list(std::move(list));
}

void StructureChains::set_list(std::vector<Scored> list) {
    list_ = std::move(list);
    cumulated_.clear();
    in_list_.clear();
    double total = 0.0, first = 0.0;  // weights are relative to the first one's
    for (const Scored& scored : list_) {
        const double weight = law_(scored.score, count_edges(scored.graph));
        if (in_list_.empty()) first = weight;
        in_list_.insert(graph_key(scored.graph));
        cumulated_.push_back(total += std::exp(weight - first));
    }
}

void StructureChains::go_on(std::size_t c, ChainPlace place) {
    if (!rules_.permits(place.graph))
        throw std::invalid_argument("the rules forbid the graph that a chain is at");
    chains_.at(c).place = std::move(place);
}

void StructureChains::add_notes(std::size_t c, const ChainNotes& notes) {
    ChainNotes& own = chains_.at(c).notes;
    own.pool.merge(notes.pool);
    own.scores.insert(own.scores.end(), notes.scores.begin(), notes.scores.end());
    own.states.insert(own.states.end(), notes.states.begin(), notes.states.end());
}

std::vector<Scored> StructureChains::pool(const Stop& stop) const {
    Pool all = known_;
    for (const Chain& chain : chains_) all.merge(chain.notes.pool);
    std::vector<Scored> best = all.sorted();
    Workspace workspace(scorer_, stop);
    for (Scored& scored : best) scored.score = scorer_.score(scored.graph, workspace);
    return best;
}

}  // namespace bowfree
