#include "search/run.hpp"

#include <algorithm>

#include "search/orders.hpp"
#include "space/random_graphs.hpp"

namespace bowfree {

namespace {

// Chosen by hand; benchmarks/bench_strategies.py compares strategies as a whole.
constexpr int sparse_share = 3;    // a sparse start has about d / sparse_share edges...
constexpr int tries_per_edge = 4;  // ...or fewer, when the rules refuse most changes
constexpr int random_changes = 3;  // of a kick over DAGs, or if no edge can be reversed
constexpr double raised_costs[] = {8.0, 4.0, 2.0};  // of an edge, for `raise_penalty`
constexpr double slack_in_edges = 0.5;  // the loss by a kick that half of the runs accept

// --- kicks: changes larger than one edge, to leave a local optimum ---
//
// Changes that the rules forbid are skipped. Except for `raise_penalty`, kicks do not compute gains
// and cost next to nothing.

/// The move that sets the pair {a, b} to a -> b.
Move arrow(int a, int b) { return a < b ? Move{a, b, Edge::forward} : Move{b, a, Edge::backward}; }

Edge edge_between(const MoveTable& table, int a, int b) {
    return table.edge(std::min(a, b), std::max(a, b));
}

bool try_move(Climber& climber, const Move& move) {
    MoveTable& table = climber.table();
    if (table.edge(move.i, move.j) == move.edge) return true;
    if (!table.permits(climber.rules(), move)) return false;
    table.apply(move);
    return true;
}

/// Sets `n` random pairs to random other states.
void change_randomly(Climber& climber, Rng& rng, int n) {
    const int d = climber.table().d();
    if (d < 2) return;
    for (int k = 0; k < n; ++k) {
        const int a = rng.below(d);
        int b = rng.below(d - 1);
        b += b >= a;
        const int i = std::min(a, b), j = std::max(a, b);
        try_move(climber, {i, j, other_edge(climber.table().edge(i, j), rng)});
    }
}

/// Deletes all edges of a random node.
void isolate_node(Climber& climber, Rng& rng) {
    const int d = climber.table().d(), v = rng.below(d);
    for (int u = 0; u < d; ++u)
        if (u != v) try_move(climber, {std::min(u, v), std::max(u, v), Edge::none});
}

/// Moves a random node to one end of the order: all its edges become directed edges into it, or out
/// of it.
void move_in_order(Climber& climber, Rng& rng) {
    const MoveTable& table = climber.table();
    const int d = table.d(), v = rng.below(d);
    const bool to_the_end = rng.coin();
    for (int u = 0; u < d; ++u) {
        if (u == v || edge_between(table, u, v) == Edge::none) continue;
        const Move wanted = to_the_end ? arrow(u, v) : arrow(v, u);
        if (!try_move(climber, wanted)) try_move(climber, {wanted.i, wanted.j, Edge::none});
    }
}

/// Reverses a random directed edge and gives both ends the parents of both, so that the reversal
/// costs no likelihood and the climb can prune.
void reverse_with_parents(Climber& climber, Rng& rng) {
    const Graph& graph = climber.table().graph();
    std::vector<std::pair<int, int>> arrows;
    for (int to = 0; to < graph.d(); ++to)
        for_each_node(graph.parents(to), graph.words(),
                      [&](int from) { arrows.emplace_back(from, to); });
    if (arrows.empty()) return change_randomly(climber, rng, random_changes);
    const auto [from, to] = arrows[rng.below(static_cast<int>(arrows.size()))];
    if (!try_move(climber, arrow(to, from))) return change_randomly(climber, rng, random_changes);
    for (int u = 0; u < graph.d(); ++u) {
        if (u == from || u == to) continue;
        if (!graph.directed(u, from) && !graph.directed(u, to)) continue;
        for (const int v : {from, to})
            if (edge_between(climber.table(), u, v) == Edge::none) try_move(climber, arrow(u, v));
    }
}

/// Climbs with higher costs of an edge: most of the graph is deleted, and the strongest part returns
/// in another way.
void raise_penalty(Climber& climber) {
    for (const double factor : raised_costs) climber.climb(factor);
}

// --- the parts of a run ---

/// A uniform random graph: `burn_in` steps of a random walk from `required`.
Graph random_start(const Graph& required, const Rules& rules, std::int64_t burn_in, Rng rng,
                   const Stop& stop) {
    RandomWalk walk(required, rules, WalkStep::symmetric, rng);
    walk.advance(burn_in, stop);
    return walk.graph();
}

/// A random graph with about `n_edges` edges besides those of `required`.
Graph sparse_graph(Climber& climber, const Graph& required, int n_edges, Rng& rng) {
    climber.table().set_graph(required);
    for (int tries = 0; climber.table().n_edges() < n_edges && tries < tries_per_edge * n_edges;
         ++tries)
        change_randomly(climber, rng, 1);
    return climber.table().graph();
}

/// Iterated local search: kicks and improves the climber's graph `n` times. A new graph whose score
/// is lower by more than `slack` is discarded. Ends at the best graph, the first of equal ones: their
/// rounding errors depend on the units of the data.
template <class Kick, class Improve>
void iterate(Climber& climber, int n, double slack, double tolerance, Kick kick, Improve improve) {
    Graph best = climber.table().graph(), here = best;
    double best_score = climber.table().score(), score_here = best_score;
    for (int k = 0; k < n; ++k) {
        kick();
        improve();
        const double score = climber.table().score();
        if (!(score >= score_here - slack)) {
            climber.table().set_graph(here);
            continue;
        }
        here = climber.table().graph();
        score_here = score;
        if (score > best_score + tolerance) {
            best = here;
            best_score = score;
        }
    }
    climber.table().set_graph(best);
    climber.record();  // a climb without steps has not recorded it
}

/// Moves the climber to the best DAG over orders.
void search_orders(Climber& climber, const Scorer& scorer, const Rules& rules,
                   const RunOptions& options, ParentTrees& trees, Rng& rng, const Stop& stop) {
    const auto go_to = [&](const Graph& graph) {
        const Graph before = climber.table().graph();
        const double score = climber.table().score();
        climber.table().set_graph(graph);
        climber.record();
        // False for NaN: then the graph is restored.
        if (!(climber.table().score() >= score - options.climb.tolerance))
            climber.table().set_graph(before);
    };
    OrderSearch orders(scorer, rules, trees, rng, stop);
    orders.improve(options.climb.tolerance);
    go_to(orders.graph());  // before the kicks, in case the run is stopped
    orders.kick(options.order_kicks, options.climb.tolerance);
    go_to(orders.graph());
}

/// Finds a good DAG: over orders, or by single changes and kicks.
void search_dags_first(Climber& climber, const Scorer& scorer, const Rules& rules,
                       const RunOptions& options, ParentTrees& trees, Rng& rng, const Stop& stop) {
    if (options.order_kicks >= 0 && scorer.is_plain() && OrderSearch::supports(rules, scorer.d()))
        return search_orders(climber, scorer, rules, options, trees, rng, stop);
    Rules dags_only = rules;
    dags_only.graph_class = GraphClass::dag;
    climber.use(dags_only);
    climber.climb();
    const auto kick = [&] {
        switch (rng.below(4)) {
            case 0: return isolate_node(climber, rng);
            case 1: return move_in_order(climber, rng);
            case 2: return change_randomly(climber, rng, random_changes);
            default: return reverse_with_parents(climber, rng);
        }
    };
    const double tolerance = options.climb.tolerance;
    iterate(climber, options.dag_kicks, tolerance, tolerance, kick, [&] { climber.climb(); });
    climber.use(rules);
}

constexpr int n_local_kicks = 4;

/// One of the kicks that change a small part of the graph.
void kick_locally(Climber& climber, int kind, Rng& rng) {
    switch (kind) {
        case 0: return isolate_node(climber, rng);
        case 1: return move_in_order(climber, rng);
        case 2: return reverse_with_parents(climber, rng);
        default: return change_randomly(climber, rng, 2 + rng.below(4));
    }
}

void kick_and_improve(Climber& climber, const RunOptions& options, double edge_cost, Rng& rng) {
    const double tolerance = options.climb.tolerance;
    const auto draw_slack = [&] {
        // Half of the runs accept a loss of half the cost of an edge per kick: they find paths
        // between optima of nearly equal scores.
        return rng.coin() ? tolerance : slack_in_edges * edge_cost;
    };
    const auto walk = [&] { climber.climb_and_walk_plateau(options.plateau); };
    if (!options.whole_first) {
        const auto kick = [&] {
            const int kind = rng.below(1 + n_local_kicks);
            kind == 0 ? raise_penalty(climber) : kick_locally(climber, kind - 1, rng);
        };
        walk();
        return iterate(climber, options.bap_kicks, draw_slack(), tolerance, kick, walk);
    }
    // A kick of the whole graph improves all parts of it at once; the other kicks improve single
    // parts. With many variables plateaus are large, and to visit one after every kick would cost a
    // hundred times as much as the kick itself.
    const auto climb = [&] { climber.climb(); };
    const auto kick = [&] { kick_locally(climber, rng.below(n_local_kicks), rng); };
    climb();
    const double slack = draw_slack();
    iterate(climber, 1, slack, tolerance, [&] { raise_penalty(climber); }, climb);
    iterate(climber, options.bap_kicks, slack, tolerance, kick, climb);
    walk();
}

/// Does the part of a run that depends on its kind. A sparse run sets `start`.
void do_kind(RunKind kind, Climber& climber, const Scorer& scorer, const Rules& rules,
             const RunOptions& options, const Graph& required, ParentTrees& trees, Rng& rng,
             Graph& start, const Stop& stop) {
    switch (kind) {
        case RunKind::climb: return climber.climb_and_walk_plateau(options.plateau);
        case RunKind::sparse:
            start = sparse_graph(climber, required,
                                 (required.d() + sparse_share - 1) / sparse_share, rng);
            return climber.climb_and_walk_plateau(options.plateau);
        case RunKind::dag_first:
            search_dags_first(climber, scorer, rules, options, trees, rng, stop);
            return climber.climb_and_walk_plateau(options.plateau);
        case RunKind::kicks: return kick_and_improve(climber, options, scorer.edge_cost(), rng);
    }
}

}  // namespace

std::optional<Run> run_task(Scorer& scorer, const Rules& rules, const RunOptions& options,
                            const Task& task, const Graph& required, RunMemory& memory,
                            const Stop& stop, int n_threads) {
    const auto begin = Clock::now();
    Run run(task.start ? *task.start : required, Pool(options.keep, options.window));
    run.trace.bar = task.bar;
    Workspace workspace(scorer, stop);
    // A score of one's own takes one thread at a time, and other data have few variables.
    if (scorer.is_plain() && !scorer.data().rows) workspace.n_threads = n_threads;
    const auto end_at_best = [&] {
        const std::optional<Scored> best = run.trace.pool.best();
        if (!best) return false;
        run.end = best->graph;
        run.score = best->score;
        return true;
    };
    try {
        Rng rng(task.seed, task.stream);
        if (!task.start && task.kind == RunKind::climb) {
            run.start = random_start(required, rules, options.burn_in, rng, stop);
            rng = Rng(task.seed, ~task.stream);  // the random walk has used the first stream
        }
        Climber climber(scorer, run.start, rules, options.climb, rng, workspace, run.trace,
                        &memory.screen);
        workspace.work_limit = task.work_limit;  // from here on, so that every run has a graph
        do_kind(task.kind, climber, scorer, rules, options, required, memory.trees, rng, run.start,
                stop);
        climber.climb_unscreened();
        run.end = climber.table().graph();
        run.score = climber.table().score();
        run.complete = true;
    } catch (const WorkLimitReached&) {
        run.complete = run.hit_work_limit = end_at_best();
        if (!run.complete) return std::nullopt;
    } catch (const Stopped&) {
        if (!end_at_best()) return std::nullopt;
    }
    run.effort = workspace.effort;
    run.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return run;
}

}  // namespace bowfree
