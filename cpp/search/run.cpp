#include "search/run.hpp"

#include <optional>
#include <utility>

#include "search/kicks.hpp"
#include "search/orders.hpp"
#include "space/random_graphs.hpp"

namespace bowfree {

namespace {

// Set by hand; benchmarks/bench_strategies.py judges what comes out as a whole.
constexpr int sparse_share = 3;         // a sparse start has about d / sparse_share edges...
constexpr int tries_per_edge = 4;       // ...or fewer, when the rules refuse most changes
constexpr int random_changes = 3;       // of a kick over DAGs
constexpr double slack_in_edges = 0.5;  // what a generous run may lose by a kick

/// A uniform random graph, to which `burn_in` steps of the walk lead from `required`.
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

/// Kicks the climber's graph `n` times; the next kick starts from what came out when that lost at
/// most `slack`, else from where this one started. Ends at the best. `improve` climbs.
template <class Kick, class Improve>
void iterate(Climber& climber, int n, double slack, Kick kick, Improve improve) {
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
        if (score > best_score) {
            best = here;
            best_score = score;
        }
    }
    climber.table().set_graph(best);
}

/// Takes the climber to the best DAG over orders.
void search_orders(Climber& climber, const Scorer& scorer, const Rules& rules,
                   const RunOptions& options, Rng& rng, const Stop& stop) {
    const auto go_to = [&](const Graph& graph) {
        const Graph before = climber.table().graph();
        const double score = climber.table().score();
        climber.table().set_graph(graph);
        climber.record();
        // A score that is no number compares with nothing: the run stays where it is.
        if (!(climber.table().score() >= score)) climber.table().set_graph(before);
    };
    OrderSearch orders(scorer, rules, rng, stop);
    orders.improve(options.climb.tolerance);
    go_to(orders.graph());  // before the kicks: a run that is stopped has this at least
    orders.kick(options.order_kicks, options.climb.tolerance);
    go_to(orders.graph());
}

/// A good DAG: over orders, or by single changes and kicks.
void search_dags_first(Climber& climber, const Scorer& scorer, const Rules& rules,
                       const RunOptions& options, Rng& rng, const Stop& stop) {
    if (options.order_kicks >= 0 && scorer.data().is_observational() &&
        OrderSearch::can_honor(rules, scorer.d()))
        return search_orders(climber, scorer, rules, options, rng, stop);
    Rules dags_only = rules;
    dags_only.graph_class = GraphClass::dag;
    climber.use(dags_only);
    climber.climb();
    const auto kick = [&] {
        switch (rng.below(4)) {
            case 0:
                return isolate_node(climber, rng);
            case 1:
                return move_in_order(climber, rng);
            case 2:
                return change_randomly(climber, rng, random_changes);
            default:
                return reverse_with_parents(climber, rng);
        }
    };
    iterate(climber, options.dag_kicks, options.climb.tolerance, kick, [&] { climber.climb(); });
    climber.use(rules);
}

constexpr int n_local_kicks = 4;

/// One of the kicks that change one place of the graph.
void kick_locally(Climber& climber, int kind, Rng& rng) {
    switch (kind) {
        case 0:
            return isolate_node(climber, rng);
        case 1:
            return move_in_order(climber, rng);
        case 2:
            return reverse_with_parents(climber, rng);
        default:
            return change_randomly(climber, rng, 2 + rng.below(4));
    }
}

void kick_and_improve(Climber& climber, const RunOptions& options, double edge_cost, Rng& rng) {
    const auto draw_slack = [&] {
        // Half of the runs may give away half an edge's cost per kick: they find ways between
        // optima that are nearly as good as each other.
        return rng.coin() ? options.climb.tolerance : slack_in_edges * edge_cost;
    };
    const auto walk = [&] { climber.climb_and_walk_plateau(options.plateau); };
    if (!options.whole_first) {
        const auto kick = [&] {
            const int kind = rng.below(1 + n_local_kicks);
            kind == 0 ? raise_penalty(climber) : kick_locally(climber, kind - 1, rng);
        };
        walk();
        return iterate(climber, options.bap_kicks, draw_slack(), kick, walk);
    }
    // A kick that takes the whole graph apart repairs all of its places at once; what is left are
    // single ones. Equal graphs are as many as there are places, and to walk over some of them
    // after every kick would cost a hundred times as much as the kick itself.
    const auto climb = [&] { climber.climb(); };
    const auto kick = [&] { kick_locally(climber, rng.below(n_local_kicks), rng); };
    climb();
    const double slack = draw_slack();
    iterate(climber, 1, slack, [&] { raise_penalty(climber); }, climb);
    iterate(climber, options.bap_kicks, slack, kick, climb);
    walk();
}

/// Does what the kind of run asks for, from the climber's graph on; `start` becomes that of a
/// sparse run, which is drawn on the way.
void do_kind(RunKind kind, Climber& climber, const Scorer& scorer, const Rules& rules,
             const RunOptions& options, const Graph& required, Rng& rng, Graph& start,
             const Stop& stop) {
    switch (kind) {
        case RunKind::climb:
            return climber.climb_and_walk_plateau(options.plateau);
        case RunKind::sparse:
            start = sparse_graph(climber, required,
                                 (required.d() + sparse_share - 1) / sparse_share, rng);
            return climber.climb_and_walk_plateau(options.plateau);
        case RunKind::dag_first:
            search_dags_first(climber, scorer, rules, options, rng, stop);
            return climber.climb_and_walk_plateau(options.plateau);
        case RunKind::kicks:
            return kick_and_improve(climber, options, scorer.edge_cost(), rng);
    }
}

}  // namespace

std::optional<Run> run_task(Scorer& scorer, const Rules& rules, const RunOptions& options,
                            const Task& task, const Graph& required, const Stop& stop) {
    const auto begin = Clock::now();
    Run run(task.start ? *task.start : required, Pool(options.keep, options.window));
    Workspace workspace(scorer, stop);
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
            rng = Rng(task.seed, ~task.stream);  // the walk has used up the first stream
        }
        Climber climber(scorer, run.start, rules, options.climb, rng, workspace, run.trace);
        workspace.work_limit = task.work_limit;  // from here on: a run has a graph at least
        do_kind(task.kind, climber, scorer, rules, options, required, rng, run.start, stop);
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
