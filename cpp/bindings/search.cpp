// Threads of runs on one data set (section 3); `bowfree.search.greedy` drives them.
#include "search/search.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/calls.hpp"
#include "bindings/data.hpp"
#include "graph/key.hpp"
#include "search/enumeration.hpp"

namespace bowfree::bindings {

namespace {

using namespace nb::literals;

auto score_graphs(const Data& data, double n, double penalty, const BitStack& parents,
                  const BitStack& spouses, std::optional<double> seconds) {
    const int d = static_cast<int>(parents.shape(1));
    Scorer scorer(to_conditions(data, d), n, penalty, std::size_t{64} << 20);
    return to_numpy(interruptibly(seconds, [&](const Stop& stop) {
        const Stop until_first = with_grace(seconds);
        Workspace first(scorer, until_first), others(scorer, stop);
        std::vector<double> scores;
        try {
            for_each_graph(d, parents, spouses, [&](const Graph& graph) {
                scores.push_back(scorer.score(graph, scores.empty() ? first : others));
                stop.check();
            });
        } catch (const Stopped&) {
            if (scores.empty()) throw;
        }
        return scores;
    }));
}

Named to_dict(int index, const Run& run) {
    Named found;
    found["index"] = index;
    found["start"] = to_bits(run.start);
    found["end"] = to_bits(run.end);
    found["score"] = run.score;
    found["path"] = to_numpy(std::vector<double>(run.trace.path));
    found["complete"] = run.complete;
    found["hit_work_limit"] = run.hit_work_limit;
    found["seconds"] = run.seconds;
    found["fits"] = run.effort.fits;
    found["cache_hits"] = run.effort.cache_hits;
    found["candidates"] = run.effort.candidates;
    found["work"] = run.effort.work;
    return found;
}

/// The pool of all runs with newly computed scores, best first, then by key. In a stopped search a
/// graph whose districts are no longer cached keeps its earlier score.
ScoredStack sorted_pool(Search& search) {
    std::vector<std::pair<Key, Scored>> graphs;
    interruptibly([&](const Stop& signals) {
        Workspace workspace(search.scorer(), search.stopped());
        Pool all = search.pool();
        all.merge(search.unfinished_pool());
        for (Scored& scored : all.sorted()) {
            signals.check();
            try {
                scored.score = search.scorer().score(scored.graph, workspace);
            } catch (const Stopped&) {
            }
            graphs.emplace_back(graph_key(scored.graph), std::move(scored));
        }
        std::ranges::sort(graphs, [](const auto& a, const auto& b) {
            return a.second.score != b.second.score ? a.second.score > b.second.score
                                                    : a.first < b.first;
        });
    });
    std::vector<Scored> found;
    for (auto& [key, scored] : graphs) found.push_back(std::move(scored));
    return to_scored_stack(search.scorer().d(), found);
}

/// The pool of complete runs with the scores by which it is ranked. They may differ from those of
/// `sorted_pool` by rounding, and determine which of several equal graphs remain: offered to another
/// search, they give the same pool there.
ScoredStack ranked_pool(Search& search) {
    return to_scored_stack(search.scorer().d(), search.pool().sorted());
}

/// A Python function as the score of a district, callable from any thread.
Scorer::Function to_function(const nb::object& score) {
    // The last copy may be destroyed by a thread without the GIL.
    const std::shared_ptr<nb::object> shared(new nb::object(score), [](nb::object* owned) {
        const nb::gil_scoped_acquire acquired;
        delete owned;
    });
    return [shared](const District& district) {
        const nb::gil_scoped_acquire acquired;
        const nb::object found =
            (*shared)(district.nodes, district.k, district.parents, district.spouse_pairs);
        if (found.is_none()) throw std::runtime_error("the score function has failed");
        return nb::cast<double>(found);
    };
}

/// All permitted changes of one pair: (k, 3) pairs and new states, and k gains.
auto changes_of_edges(const Data& data, const Bits& parents, const Bits& spouses,
                      const Rules& rules, int sweeps) {
    const Graph graph = to_graph(parents, spouses);
    expect_nodes(rules, graph.d());
    // Without a penalty n does not matter. A small cache is enough: districts differ, but many of
    // the parts that are peeled off them are equal.
    Scorer scorer(to_conditions(data, graph.d()), 2.0, 0.0, std::size_t{1} << 24, sweeps);
    if (sweeps > 0) expect_observational(scorer.data());
    std::vector<std::int32_t> moves;
    std::vector<double> gains;
    interruptibly([&](const Stop& stop) {
        for (const auto& [move, gain] : edge_changes(scorer, graph, rules, stop)) {
            moves.insert(moves.end(), {move.i, move.j, static_cast<std::int32_t>(move.edge)});
            gains.push_back(gain);
        }
    });
    const std::size_t size = gains.size();
    return std::pair(to_numpy(std::move(moves), {size, 3}), to_numpy(std::move(gains)));
}

}  // namespace

void bind_search(nb::module_& m) {
    nb::class_<RunOptions>(m, "RunOptions", "How a run climbs; see cpp/search/run.hpp.")
        .def(
            "__init__",
            [](RunOptions* self, int direction, int neighbors, std::int64_t max_steps,
               double tolerance, int plateau, int order_kicks, int dag_kicks, int bap_kicks,
               bool whole_first, std::int64_t burn_in, std::size_t keep, double window) {
                new (self)
                    RunOptions{{static_cast<Direction>(direction), neighbors, max_steps, tolerance},
                               plateau,
                               order_kicks,
                               dag_kicks,
                               bap_kicks,
                               whole_first,
                               burn_in,
                               keep,
                               window};
            },
            nb::kw_only(), "direction"_a, "neighbors"_a, "max_steps"_a, "tolerance"_a, "plateau"_a,
            "order_kicks"_a, "dag_kicks"_a, "bap_kicks"_a, "whole_first"_a, "burn_in"_a, "keep"_a,
            "window"_a,
            "direction: see cpp/search/climb.hpp. neighbors: 0 for all. max_steps: -1 for no "
            "limit. "
            "window: in units of the score.");

    nb::class_<Task>(m, "Task", "One independent run.")
        .def(
            "__init__",
            [](Task* self, int kind, std::uint64_t seed, std::uint64_t stream,
               const std::optional<std::pair<Bits, Bits>>& start, double work_limit, double bar) {
                new (self)
                    Task{static_cast<RunKind>(kind), seed, stream, std::nullopt, work_limit, bar};
                if (start) self->start = to_graph(start->first, start->second);
            },
            "kind"_a, "seed"_a, "stream"_a, "start"_a.none() = nb::none(),
            "work_limit"_a = std::numeric_limits<double>::infinity(), "bar"_a = Pool::lowest,
            "kind: 0 climb, 1 sparse, 2 dag_first, 3 kicks; start: default is that of the kind; "
            "bar: "
            "neighbors with a lower score do not go into the pool.");

    nb::class_<Search>(m, "Search", "A cache, a pool, and threads of independent runs.")
        .def(
            "__init__",
            [](Search* self, const Data& data, double n, double penalty, std::size_t cache_bytes,
               const Rules& rules, const RunOptions& options, const std::pair<Bits, Bits>& required,
               int sweeps, const std::vector<int>& sizes, const nb::object& score) {
                const Graph start = to_graph(required.first, required.second);
                expect_nodes(rules, start.d());
                JointData conditions = to_conditions(data, sizes.empty() ? start.d() : -1);
                if (sweeps > 0) expect_observational(conditions);
                expect_sizes(sizes, conditions, start.d());
                new (self) Search(std::move(conditions), n, penalty, cache_bytes, rules, options,
                                  start, sweeps, sizes);
                if (!score.is_none()) self->scorer().replace_score(to_function(score));
            },
            "S"_a, "n"_a, "penalty"_a, "cache_bytes"_a, "rules"_a, "options"_a, "required"_a,
            "sweeps"_a = 0, "sizes"_a = std::vector<int>{}, "score"_a = nb::none(),
            "sweeps: of RICF for a score; 0 for converged fits. sizes: the number of columns of "
            "each\n"
            "node, by default one. score: a function of (nodes, number of members, parents by\n"
            "member, spouses), in local numbers, in place of the score; None ends the search.")
        .def(
            "launch",
            [](Search& self, std::vector<Task> tasks, int n_threads) {
                for (const Task& task : tasks)
                    if (task.start) expect_nodes(*task.start, self.scorer().d());
                const nb::gil_scoped_release released;
                self.launch(std::move(tasks), n_threads);
            },
            "tasks"_a, "n_threads"_a, "Starts threads on the tasks.")
        .def(
            "collect",
            [](Search& self, double seconds) {
                std::vector<std::pair<int, Run>> runs;
                {
                    nb::gil_scoped_release released;
                    runs = self.collect(seconds);
                }
                std::vector<Named> found;
                for (const auto& [index, run] : runs) found.push_back(to_dict(index, run));
                return found;
            },
            "seconds"_a, "Runs finished since the last call; waits up to `seconds` for one.")
        .def("busy", &Search::busy)
        .def("stop", &Search::stop, "Stops all runs.")
        .def(
            "offer",
            [](Search& self, const Bits& parents, const Bits& spouses, double score,
               bool finished) {
                const Graph graph = to_graph(parents, spouses);
                expect_nodes(graph, self.scorer().d());
                (finished ? self.pool() : self.unfinished_pool())
                    .offer(graph_key(graph), score, graph);
            },
            "parents"_a, "spouses"_a, "score"_a, "finished"_a = true,
            "Adds a graph with its score to the pool of complete runs, or of others.")
        .def("pool", &sorted_pool,
             "The best graphs: parents and spouses, (graphs, d, words), and their scores.")
        .def(
            "least_in_pool", [](Search& self) { return self.pool().least(); },
            "The score below which no graph can get into the pool any more.")
        .def("ranked_pool", &ranked_pool,
             "The pool of complete runs, with the scores by which it is ranked.")
        .def(
            "score",
            [](Search& self, const Bits& parents, const Bits& spouses) {
                const Graph graph = to_graph(parents, spouses);
                expect_nodes(graph, self.scorer().d());
                return interruptibly([&](const Stop& stop) {
                    Workspace workspace(self.scorer(), stop);
                    return self.scorer().score(graph, workspace);
                });
            },
            "parents"_a, "spouses"_a, "The score of a graph, through the cache.")
        .def(
            "score_all",
            [](Search& self, double least, std::optional<double> seconds,
               const nb::object& progress) {
                AllScores all = interruptibly(seconds, progress, [&](const Stop& stop) {
                    return score_all(self.scorer(), self.rules(), stop, least);
                });
                return std::pair(to_numpy(std::move(all.codes)), to_numpy(std::move(all.scores)));
            },
            "least"_a = -infinity, "seconds"_a.none() = nb::none(), "progress"_a = nb::none(),
            "All graphs on at most 5 nodes, as (codes, scores); see cpp/search/enumeration.hpp.")
        .def("cache_bytes", [](Search& self) { return self.scorer().cache_bytes(); });

    m.def("score_graphs", &score_graphs, "data"_a, "n"_a, "penalty"_a, "parents"_a, "spouses"_a,
          "seconds"_a.none() = nb::none(),
          "The scores of graphs until time is up, at least that of the first.");
    m.def(
        "graphs_of_codes",
        [](int d, const Array<std::uint32_t, 1>& codes) {
            GraphStack graphs(d);
            for (std::size_t g = 0; g < codes.shape(0); ++g)
                graphs.push(graph_of_code(d, codes.data()[g]));
            return std::move(graphs).to_python();
        },
        "d"_a, "codes"_a, "The graphs of codes from `Search.score_all`: parents and spouses.");
    m.def("edge_changes", &changes_of_edges, "S"_a, "parents"_a, "spouses"_a, "rules"_a,
          "sweeps"_a = 0,
          "All permitted changes of one pair: (i, j, state), and gains in log-likelihood per row.");
}

}  // namespace bowfree::bindings
