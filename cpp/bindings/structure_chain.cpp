// Chains over graphs, one thread each; `bowfree.uncertainty.structure_mcmc` drives them.
#include "uncertainty/structure_chain.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"

namespace bowfree::bindings {

namespace {

/// Arrays and numbers by name.
using Named = nb::typed<nb::dict, nb::str, nb::any>;

/// Runs the chains on threads while this one waits and looks out for Ctrl-C.
std::vector<ChainRecord> run_chains(Scorer& scorer, const Rules& rules,
                                    const std::vector<Graph>& starts, const ChainOptions& options,
                                    std::uint64_t seed, int n_threads) {
    std::vector<std::optional<ChainRecord>> records(starts.size());
    std::atomic<bool> stop{false};
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::condition_variable ended;
    std::exception_ptr failure;
    int working = std::min<int>(n_threads, static_cast<int>(starts.size()));
    const auto work = [&] {
        try {
            for (std::size_t c; (c = next++) < starts.size();)
                records[c].emplace(
                    run_chain(scorer, rules, starts[c], options, Rng(seed, c), stop));
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
            stop = true;
        }
        const std::lock_guard lock(mutex);
        --working;
        ended.notify_one();
    };
    std::vector<std::thread> threads;
    for (int t = working; t > 0; --t) threads.emplace_back(work);
    bool interrupted = false;
    {
        std::unique_lock lock(mutex);
        while (!ended.wait_for(lock, std::chrono::milliseconds(50), [&] { return working == 0; })) {
            lock.unlock();
            {
                const nb::gil_scoped_acquire held;
                interrupted |= PyErr_CheckSignals() != 0;
            }
            if (interrupted) break;
            lock.lock();
        }
    }
    if (interrupted) stop = true;
    for (auto& thread : threads) thread.join();
    if (interrupted) {
        const nb::gil_scoped_acquire held;
        throw nb::python_error();
    }
    if (failure) std::rethrow_exception(failure);
    std::vector<ChainRecord> done;
    for (auto& record : records) done.push_back(std::move(*record));
    return done;
}

Named structure_chains(const Matrix& S, double n, double penalty, std::size_t cache_bytes,
                       const Rules& rules, const std::vector<std::pair<Bits, Bits>>& starts,
                       std::int64_t steps, std::int64_t burn_in, std::int64_t thin, double temper,
                       std::size_t keep, double window, bool one_per_class, std::uint64_t seed,
                       int n_threads) {
    const auto d = static_cast<std::size_t>(S.shape(0));
    std::vector<Graph> graphs;
    for (const auto& [parents, spouses] : starts) graphs.push_back(to_graph(parents, spouses));
    std::vector<ChainRecord> records;
    std::vector<double> pool_scores;
    std::vector<Word> parents, spouses;
    {
        const nb::gil_scoped_release release;
        Scorer scorer({S.data(), S.data() + S.size()}, static_cast<int>(d), n, penalty,
                      cache_bytes);
        records = run_chains(scorer, rules, graphs,
                             {steps, burn_in, thin, n / temper, keep, window, one_per_class}, seed,
                             n_threads);
        Pool pool(keep, window);
        for (const auto& record : records) pool.merge(record.pool);
        // A graph that was only looked at has the score of its neighbour plus a gain, with their
        // rounding; scored afresh it is the same whoever met it.
        Workspace workspace(scorer);
        for (const Scored& scored : pool.sorted()) {
            const Graph& graph = scored.graph;
            pool_scores.push_back(scorer.score(graph, workspace));
            for (int v = 0; v < graph.d(); ++v) {
                parents.insert(parents.end(), graph.parents(v), graph.parents(v) + graph.words());
                spouses.insert(spouses.end(), graph.spouses(v), graph.spouses(v) + graph.words());
            }
        }
    }
    const std::size_t size = pool_scores.size(), words = words_for(static_cast<int>(d));
    nb::list chains;
    for (auto& record : records) {
        nb::dict chain;
        const std::size_t samples = record.scores.size();
        chain["scores"] = to_numpy(std::move(record.scores), {samples});
        chain["states"] = to_numpy(std::move(record.states), {samples, d * (d - 1) / 2});
        chain["accepted"] = record.accepted;
        chain["fits"] = record.effort.fits;
        chains.append(chain);
    }
    Named found;
    found["chains"] = chains;
    found["pool_parents"] = to_numpy(std::move(parents), {size, d, words});
    found["pool_spouses"] = to_numpy(std::move(spouses), {size, d, words});
    found["pool_scores"] = to_numpy(std::move(pool_scores), {size});
    return found;
}

}  // namespace

void bind_structure_chain(nb::module_& m) {
    m.def("structure_chains", &structure_chains, nb::arg("S"), nb::arg("n"), nb::arg("penalty"),
          nb::arg("cache_bytes"), nb::arg("rules"), nb::arg("starts"), nb::kw_only(),
          nb::arg("steps"), nb::arg("burn_in"), nb::arg("thin"), nb::arg("temper"), nb::arg("keep"),
          nb::arg("window"), nb::arg("one_per_class"), nb::arg("seed"), nb::arg("n_threads"),
          "Metropolis-Hastings chains, one per start, on one cache of scores. Returns the samples "
          "of each chain, and the best distinct graphs met by any.");
}

}  // namespace bowfree::bindings
