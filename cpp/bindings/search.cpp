// Threads of runs on one data set (section 3); `bowfree.search.greedy` drives them.
#include "search/search.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "search/exhaustive.hpp"

namespace bowfree::bindings {

namespace {

using BitArrays = std::pair<nb::ndarray<nb::numpy, Word>, nb::ndarray<nb::numpy, Word>>;
using RunDict = nb::typed<nb::dict, nb::str, nb::any>;

BitArrays to_bits(const Graph& graph) {
    const std::size_t d = graph.d(), words = graph.words();
    std::vector<Word> parents, spouses;
    for (int i = 0; i < graph.d(); ++i) {
        parents.insert(parents.end(), graph.parents(i), graph.parents(i) + words);
        spouses.insert(spouses.end(), graph.spouses(i), graph.spouses(i) + words);
    }
    return {to_numpy(std::move(parents), {d, words}), to_numpy(std::move(spouses), {d, words})};
}

RunDict to_dict(int index, const Run& run) {
    RunDict found;
    found["index"] = index;
    found["start"] = to_bits(run.start);
    found["end"] = to_bits(run.end);
    found["score"] = run.score;
    found["path"] = to_numpy(std::vector<double>(run.journal.path), {run.journal.path.size()});
    found["complete"] = run.complete;
    found["seconds"] = run.seconds;
    found["fits"] = run.effort.fits;
    found["cache_hits"] = run.effort.cache_hits;
    found["candidates"] = run.effort.candidates;
    return found;
}

/// The pool of all runs, with every score worked out afresh, in one order for all: best first, then
/// by key.
std::vector<std::pair<BitArrays, double>> sorted_pool(Search& search) {
    std::vector<std::pair<Key, Scored>> graphs;
    {
        nb::gil_scoped_release released;
        Workspace workspace(search.scorer());
        Pool all = search.pool();
        all.merge(search.cut_short());
        for (Scored& scored : all.sorted()) {
            Key key;
            for (int v = 0; v < scored.graph.d(); ++v)
                key ^= search.scorer().node_key(scored.graph, v);
            scored.score = search.scorer().score(scored.graph, workspace);
            graphs.emplace_back(key, std::move(scored));
        }
        std::sort(graphs.begin(), graphs.end(), [](const auto& a, const auto& b) {
            return a.second.score != b.second.score ? a.second.score > b.second.score
                                                    : a.first < b.first;
        });
    }
    std::vector<std::pair<BitArrays, double>> found;
    for (const auto& [key, scored] : graphs)
        found.emplace_back(to_bits(scored.graph), scored.score);
    return found;
}

/// The pool of finished runs, with the scores that it is ranked by. They may differ from those of
/// `sorted_pool` by rounding (a graph may have been met as a neighbour), and which of several equal
/// graphs stay in the pool hangs on that: offered to another search, these give the same pool
/// there.
std::vector<std::pair<BitArrays, double>> ranked_pool(Search& search) {
    std::vector<std::pair<BitArrays, double>> found;
    for (const Scored& scored : search.pool().sorted())
        found.emplace_back(to_bits(scored.graph), scored.score);
    return found;
}

}  // namespace

void bind_search(nb::module_& m) {
    nb::class_<RunOptions>(m, "RunOptions", "How a run climbs; see cpp/search/strategy.hpp.")
        .def(
            "__init__",
            [](RunOptions* self, int direction, int neighbours, std::int64_t max_steps,
               double tolerance, int plateau, int dag_kicks, int bap_kicks, std::int64_t burn_in,
               std::size_t keep, double window) {
                new (self) RunOptions{
                    {static_cast<Direction>(direction), neighbours, max_steps, tolerance},
                    plateau,
                    dag_kicks,
                    bap_kicks,
                    burn_in,
                    keep,
                    window};
            },
            nb::kw_only(), nb::arg("direction"), nb::arg("neighbours"), nb::arg("max_steps"),
            nb::arg("tolerance"), nb::arg("plateau"), nb::arg("dag_kicks"), nb::arg("bap_kicks"),
            nb::arg("burn_in"), nb::arg("keep"), nb::arg("window"),
            "direction: as the enum in cpp/search/climb.hpp. neighbours: 0 for all. max_steps: -1 "
            "for no limit. window: in units of the score.");

    nb::class_<Task>(m, "Task", "One independent run.")
        .def(
            "__init__",
            [](Task* self, int strategy, std::uint64_t seed, std::uint64_t stream,
               const std::optional<std::pair<Bits, Bits>>& start) {
                new (self) Task{static_cast<Strategy>(strategy), seed, stream, std::nullopt};
                if (start) self->start = to_graph(start->first, start->second);
            },
            nb::arg("strategy"), nb::arg("seed"), nb::arg("stream"),
            nb::arg("start").none() = nb::none(),
            "strategy: 0 climb, 1 sparse, 2 dag_first, 3 kicks. Without a start the strategy "
            "draws its own.");

    nb::class_<Search>(m, "Search", "A cache, a pool, and threads of independent runs.")
        .def(
            "__init__",
            [](Search* self, const Matrix& S, double n, double penalty, std::size_t cache_bytes,
               const Rules& rules, const RunOptions& options, const std::pair<Bits, Bits>& ground,
               int sweeps) {
                new (self) Search({S.data(), S.data() + S.size()}, static_cast<int>(S.shape(0)), n,
                                  penalty, cache_bytes, rules, options,
                                  to_graph(ground.first, ground.second), sweeps);
            },
            nb::arg("S"), nb::arg("n"), nb::arg("penalty"), nb::arg("cache_bytes"),
            nb::arg("rules"), nb::arg("options"), nb::arg("ground"), nb::arg("sweeps") = 0,
            "sweeps: of RICF for a score; 0 for converged fits.")
        .def("launch", &Search::launch, nb::arg("tasks"), nb::arg("n_threads"),
             nb::call_guard<nb::gil_scoped_release>(), "Starts threads on the tasks.")
        .def(
            "collect",
            [](Search& self, double seconds) {
                std::vector<std::pair<int, Run>> runs;
                {
                    nb::gil_scoped_release released;
                    runs = self.collect(seconds);
                }
                std::vector<RunDict> found;
                for (const auto& [index, run] : runs) found.push_back(to_dict(index, run));
                return found;
            },
            nb::arg("seconds"), "Runs finished since the last call; waits for one so long.")
        .def("busy", &Search::busy)
        .def("stop", &Search::stop, "Tells all runs to end where they are.")
        .def(
            "offer",
            [](Search& self, const Bits& parents, const Bits& spouses, double score) {
                const Graph graph = to_graph(parents, spouses);
                Key key;
                for (int v = 0; v < graph.d(); ++v) key ^= self.scorer().node_key(graph, v);
                self.pool().offer(key, score, graph);
            },
            nb::arg("parents"), nb::arg("spouses"), nb::arg("score"),
            "Puts a graph of known score into the pool.")
        .def("pool", &sorted_pool, "The best graphs met, as ((parents, spouses), score).")
        .def("ranked_pool", &ranked_pool,
             "The pool of finished runs, with the scores that it is ranked by.")
        .def(
            "permits",
            [](Search& self, const Bits& parents, const Bits& spouses) {
                return self.rules().permits(to_graph(parents, spouses));
            },
            nb::arg("parents"), nb::arg("spouses"), "True when the graph satisfies the rules.")
        .def(
            "score",
            [](Search& self, const Bits& parents, const Bits& spouses) {
                const Graph graph = to_graph(parents, spouses);
                nb::gil_scoped_release released;
                Workspace workspace(self.scorer());
                return self.scorer().score(graph, workspace);
            },
            nb::arg("parents"), nb::arg("spouses"), "The score of a graph, through the cache.")
        .def(
            "score_all",
            [](Search& self) {
                AllScores all;
                {
                    nb::gil_scoped_release released;
                    all = score_all(self.scorer(), self.rules(), [] {
                        nb::gil_scoped_acquire held;
                        if (PyErr_CheckSignals() != 0) throw nb::python_error();
                    });
                }
                const std::size_t size = all.codes.size();
                return std::pair(to_numpy(std::move(all.codes), {size}),
                                 to_numpy(std::move(all.scores), {size}));
            },
            "All graphs on at most 5 nodes, as (codes, scores); see cpp/search/exhaustive.hpp.")
        .def("cache_bytes", [](Search& self) { return self.scorer().cache_bytes(); });
}

}  // namespace bowfree::bindings
