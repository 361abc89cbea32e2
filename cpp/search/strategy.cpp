#include "search/strategy.hpp"

#include <chrono>
#include <utility>

#include "search/kicks.hpp"
#include "space/sampler.hpp"

namespace bowfree {

namespace {

/// A random graph with about `n_edges` edges besides those of `ground`.
Graph sparse_graph(Climber& climber, const Graph& ground, int n_edges, Rng& rng) {
    climber.table().morph(ground);
    for (int tries = 0; climber.table().n_edges() < n_edges && tries < 4 * n_edges; ++tries)
        change_randomly(climber, rng, 1);
    return climber.table().graph();
}

/// Kicks the climber's graph `n` times; the next kick starts from what came out when that lost at
/// most `slack`, else from where this one started. Ends at the best. `improve` climbs.
template <class Kick, class Improve>
void iterate(Climber& climber, int n, double slack, Kick kick, Improve improve) {
    Graph best = climber.table().graph(), here = best;
    double best_score = climber.table().score(), score_here = best_score;
    for (int k = 0; k < n && !climber.stopped(); ++k) {
        kick();
        improve();
        const double score = climber.table().score();
        if (score < score_here - slack) {
            climber.table().morph(here);
            continue;
        }
        here = climber.table().graph();
        score_here = score;
        if (score > best_score) {
            best = here;
            best_score = score;
        }
    }
    climber.table().morph(best);
}

void search_dags_first(Climber& climber, const Rules& rules, const RunOptions& options, Rng& rng) {
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
                return change_randomly(climber, rng, 3);
            default:
                return reverse_with_parents(climber, rng);
        }
    };
    iterate(climber, options.dag_kicks, options.climb.tolerance, kick, [&] { climber.climb(); });
    climber.use(rules);
}

void kick_and_improve(Climber& climber, const RunOptions& options, double edge_cost, Rng& rng) {
    const auto kick = [&] {
        switch (rng.below(5)) {
            case 0:
                return raise_penalty(climber);
            case 1:
                return isolate_node(climber, rng);
            case 2:
                return move_in_order(climber, rng);
            case 3:
                return reverse_with_parents(climber, rng);
            default:
                return change_randomly(climber, rng, 2 + rng.below(4));
        }
    };
    const auto improve = [&] { climber.climb_and_walk_plateau(options.plateau); };
    improve();
    // Half of the runs may give away half an edge's cost per kick: they find ways between optima
    // that are nearly as good as each other.
    const double slack = rng.coin() ? options.climb.tolerance : 0.5 * edge_cost;
    iterate(climber, options.bap_kicks, slack, kick, improve);
}

}  // namespace

Run run_task(Scorer& scorer, const Rules& rules, const RunOptions& options, const Task& task,
             const Graph& ground, const std::atomic<bool>& stop) {
    const auto begin = std::chrono::steady_clock::now();
    Rng rng(task.seed, task.stream);
    Graph start = ground;
    if (task.start) {
        start = *task.start;
    } else if (task.strategy == Strategy::climb) {
        Chain chain(ground, rules, ChainStep::symmetric, rng);
        chain.walk(options.burn_in, stop);
        start = chain.graph();
        rng = Rng(task.seed, ~task.stream);  // the chain has used up the first stream
    }
    Run run(start, Pool(options.keep, options.window));
    Workspace workspace(scorer);
    Climber climber(scorer, start, rules, options.climb, rng, stop, workspace, run.journal);
    switch (task.strategy) {
        case Strategy::climb:
            climber.climb_and_walk_plateau(options.plateau);
            break;
        case Strategy::sparse:
            run.start = sparse_graph(climber, ground, (scorer.d() + 2) / 3, rng);
            climber.climb_and_walk_plateau(options.plateau);
            break;
        case Strategy::dag_first:
            search_dags_first(climber, rules, options, rng);
            climber.climb_and_walk_plateau(options.plateau);
            break;
        case Strategy::kicks:
            kick_and_improve(climber, options, scorer.edge_cost(), rng);
            break;
    }
    run.end = climber.table().graph();
    run.score = climber.table().score();
    run.complete = !stop.load();
    run.effort = workspace.effort;
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return run;
}

}  // namespace bowfree
