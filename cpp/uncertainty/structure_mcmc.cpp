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

/// Every twentieth step is a jump. Jumps cost more than changes, and a chain has to explore the
/// neighborhood of its new graph before the next one is useful.
constexpr std::int64_t jump_every = 20;

/// Every fifth step is a splice. It costs as much as several changes, and leads out of regions that
/// changes alone hardly leave.
constexpr std::int64_t splice_every = 5;

/// Every fifth step is an exchange.
constexpr std::int64_t exchange_every = 5;

/// Largest number of states of pairs, in all graphs together, that are kept for splices.
constexpr std::size_t most_states = 10'000'000;

/// Largest number of sampled graphs in the list, relative to that of graphs with large weights.
constexpr std::size_t sampled_share = 4;

std::size_t memory_size(int d, std::size_t keep) {
    return std::min(sampled_share * keep, most_states / std::max<std::size_t>(1, n_pairs(d)));
}

}  // namespace

StructureChains::StructureChains(Scorer& scorer, Rules rules, const std::vector<Graph>& starts,
                                 GraphPosterior posterior, std::size_t keep, double window,
                                 std::uint64_t seed)
    : scorer_(scorer),
      rules_(std::move(rules)),
      posterior_(std::move(posterior)),
      keep_(keep),
      window_(window),
      known_(keep, window),
      sampled_(sampled_share * keep, std::numeric_limits<double>::infinity()),
      memory_(scorer.d(), memory_size(scorer.d(), keep)) {
    for (std::size_t c = 0; c < starts.size(); ++c)
        chains_.push_back({{starts[c], Rng(seed, c)}, {empty_pool(), {}, {}}});
}

void StructureChains::offer(const Graph& graph, const Stop& stop) {
    Workspace workspace(scorer_, stop);
    known_.offer(graph_key(graph), posterior_(scorer_.score(graph, workspace), count_edges(graph)),
                 graph);
}

void StructureChains::run(std::int64_t steps, std::int64_t thin, int n_threads, const Stop& stop) {
    run_jobs(static_cast<int>(chains_.size()), n_threads, stop,
             [&](int c, const Stop& its_stop) { run_one(chains_[c], steps, thin, its_stop); });
}

void StructureChains::run_one(Chain& chain, std::int64_t steps, std::int64_t thin,
                              const Stop& stop) const {
    Workspace workspace(scorer_, stop);
    MoveTable table(scorer_, chain.state.graph, workspace);
    const int d = table.d();
    double score = table.score();
    chain.record.pool.offer(table.key(), posterior_(score, table.n_edges()), table.graph());
    for (std::int64_t step = 0; step < steps; ++step) {
        stop.check();
        ++chain.state.steps;
        // The kind of a step must not depend on the graph: outside the list a jump does nothing.
        ++chain.state.clock;
        if (chain.state.clock % jump_every == 0 && !list_.empty())
            jump(chain, table, score);
        else if (chain.state.clock % splice_every == 1 && memory_.size() > 0 && d > 2)
            splice(chain, table, workspace, score);
        else if (chain.state.clock % exchange_every == 3 && d > 2)
            exchange(chain, table, workspace, score);
        else if (d > 1)
            change(chain, table, score);
        if (thin > 0 && chain.state.steps % thin == 0) {
            chain.record.scores.push_back(score);
            for (int j = 1; j < d; ++j)
                for (int i = 0; i < j; ++i)
                    chain.record.states.push_back(static_cast<std::uint8_t>(table.edge(i, j)));
        }
    }
    chain.state.graph = table.graph();
}

void StructureChains::change(Chain& chain, MoveTable& table, double& score) const {
    const int a = chain.state.rng.below(table.d());
    int b = chain.state.rng.below(table.d() - 1);
    b += b >= a;
    const int i = std::min(a, b), j = std::max(a, b);
    const Move move{i, j, other_edge(table.edge(i, j), chain.state.rng)};
    const double chance = chain.state.rng.uniform();
    if (!table.permits(rules_, move)) return;
    const int before = table.n_edges();
    const int after = before + (move.edge != Edge::none) - (table.edge(i, j) != Edge::none);
    const double more = posterior_.prior(after) - posterior_.prior(before);
    const double here = posterior_(score, before);
    const double least = std::min(std::log(chance), chain.record.pool.bar() - here);
    const double gain = posterior_.per_score * table.gain(move, scorer_.edge_cost(),
                                                          (least - more) / posterior_.per_score) +
                        posterior_.prior(after) - posterior_.prior(before);
    const double weight = here + gain;
    if (chain.record.pool.wants(weight)) {
        Graph seen = table.graph();
        set_edge(seen, i, j, move.edge);
        chain.record.pool.offer(table.key_after(move), weight, seen);
    }
    if (chance < std::exp(gain)) {
        table.apply(move);
        score = table.score();
        ++chain.state.accepted;
    }
}

void StructureChains::exchange(Chain& chain, MoveTable& table, Workspace& workspace,
                               double& score) const {
    Rng& rng = chain.state.rng;
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
    if (rules_.permits(next) && accepts(chain, table, workspace, score, next, chance))
        ++chain.state.accepted;
}

bool StructureChains::accepts(Chain& chain, MoveTable& table, Workspace& workspace, double& score,
                              const Graph& next, double chance, double share_before,
                              double share_after) const {
    const double here = posterior_(score, table.n_edges());
    const int edges = count_edges(next);
    const double least =
        std::min(here + std::log(chance * share_after / share_before), chain.record.pool.bar());
    const double weight = posterior_(
        scorer_.score(next, workspace, (least - posterior_.prior(edges)) / posterior_.per_score),
        edges);
    const double gain = weight - here;
    if (chain.record.pool.wants(weight)) chain.record.pool.offer(graph_key(next), weight, next);
    if (!(chance < std::exp(gain) * share_before / share_after)) return false;
    table.set_graph(next);
    score = table.score();
    return true;
}

void StructureChains::jump(Chain& chain, MoveTable& table, double& score) const {
    const double drawn = chain.state.rng.uniform() * cumulated_.back();
    if (!in_list_.contains(table.key())) return;
    const auto place = std::ranges::upper_bound(cumulated_, drawn);
    table.set_graph(
        list_[std::min<std::size_t>(place - cumulated_.begin(), list_.size() - 1)].graph);
    score = table.score();
}

void StructureChains::splice(Chain& chain, MoveTable& table, Workspace& workspace,
                             double& score) const {
    Rng& rng = chain.state.rng;
    // At least three nodes: with two, a splice would be a change.
    std::vector<int> nodes = memory_.near(rng.below(table.d()));
    const int size = 3 + rng.below(static_cast<int>(nodes.size()) - 2);
    for (int k = 1; k < size; ++k)
        std::swap(nodes[k], nodes[k + rng.below(static_cast<int>(nodes.size()) - k)]);
    nodes.resize(size);
    std::ranges::sort(nodes);
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
    accepts(chain, table, workspace, score, next, chance, share_before, share_after);
}

/// Offers the samples of a chain to a pool.
void StructureChains::offer_samples(const ChainRecord& record, Pool& pool, const Stop& stop) const {
    const int d = scorer_.d();
    auto state = record.states.begin();
    for (const double score : record.scores) {
        stop.check();
        Graph graph(d);
        for (int j = 1; j < d; ++j)
            for (int i = 0; i < j; ++i) add_edge(graph, i, j, static_cast<Edge>(*state++));
        pool.offer(graph_key(graph), posterior_(score, count_edges(graph)), graph);
    }
}

void StructureChains::begin_segment(const Stop& stop) {
    // Everything that may be stopped comes first.
    std::vector<Scored> list = pool(stop);
    std::unordered_set<Key, KeyHash> listed;
    for (const Scored& scored : list) listed.insert(graph_key(scored.graph));
    Pool sampled = sampled_;
    std::vector<std::uint8_t> states;  // of all chains, so that equally many of each are kept
    for (const Chain& chain : chains_) {
        offer_samples(chain.record, sampled, stop);
        states.insert(states.end(), chain.record.states.begin(), chain.record.states.end());
    }
    GraphMemory memory = memory_;
    memory.add(states, stop);
    Workspace workspace(scorer_, stop);
    for (Scored& scored : sampled.sorted())
        if (!listed.contains(graph_key(scored.graph)))
            list.push_back({scored.graph, scorer_.score(scored.graph, workspace)});

    sampled_ = std::move(sampled);
    memory_ = std::move(memory);
    for (auto& [state, record] : chains_) {
        record.scores.clear();
        record.states.clear();
        state.steps = state.accepted = 0;
    }
    set_list(std::move(list));
}

void StructureChains::set_list(std::vector<Scored> list) {
    // Equivalent graphs have the same score up to rounding errors, which must not decide where a
    // jump leads: sort by key, not by weight.
    std::vector<std::pair<Key, Scored*>> by_key;
    for (Scored& scored : list) by_key.emplace_back(graph_key(scored.graph), &scored);
    std::ranges::sort(by_key, {}, [](const auto& entry) { return entry.first; });
    list_.clear();
    cumulated_.clear();
    in_list_.clear();
    std::vector<double> weights;
    for (const auto& [key, scored] : by_key) {
        weights.push_back(posterior_(scored->score, count_edges(scored->graph)));
        in_list_.insert(key);
        list_.push_back(std::move(*scored));
    }
    const double largest = weights.empty() ? 0.0 : std::ranges::max(weights);
    double total = 0.0;
    for (const double weight : weights) cumulated_.push_back(total += std::exp(weight - largest));
}

void StructureChains::set_state(std::size_t c, ChainState state) {
    if (!rules_.permits(state.graph))
        throw std::invalid_argument("the rules forbid the graph of a chain");
    chains_.at(c).state = std::move(state);
}

void StructureChains::add_record(std::size_t c, const ChainRecord& record) {
    ChainRecord& own = chains_.at(c).record;
    own.pool.merge(record.pool);
    own.scores.insert(own.scores.end(), record.scores.begin(), record.scores.end());
    own.states.insert(own.states.end(), record.states.begin(), record.states.end());
}

std::vector<Scored> StructureChains::pool(const Stop& stop) const {
    Pool all = known_;
    for (const Chain& chain : chains_) all.merge(chain.record.pool);
    std::vector<Scored> best = all.sorted();
    Workspace workspace(scorer_, stop);
    for (Scored& scored : best) scored.score = scorer_.score(scored.graph, workspace);
    return best;
}

}  // namespace bowfree
