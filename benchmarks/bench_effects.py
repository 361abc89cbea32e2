"""Time of effect bounds, averages and chains; every result is checked.

    python benchmarks/bench_effects.py

Bounds are compared with a simple loop (`bowfree.fit` and a matrix inverse for every member), in the
same run and on the same members. Times are CPU seconds.
"""

from __future__ import annotations

import itertools
import resource
import time

import numpy as np

import bowfree as bf


def timed(task, *arguments, **options):
    begin = time.process_time()
    result = task(*arguments, **options)
    return result, time.process_time() - begin


def covariance(rng: np.random.Generator, d: int) -> np.ndarray:
    L = np.eye(d) + np.tril(rng.normal(scale=0.4, size=(d, d)), -1)
    return L @ L.T


def loop(graphs, S, n):
    """Fit every member on its own."""
    E = np.array([np.linalg.inv(np.eye(len(S)) - bf.fit(g, cov=S, n=n).B) for g in graphs])
    return E.min(axis=0), E.max(axis=0)


def bench_bounds() -> None:
    print("effect_bounds beside the loop, members per CPU second")
    rng = np.random.default_rng(0)
    names = list("abcde")
    cases = {
        "complete, d = 5": bf.MixedGraph(names, bidirected=itertools.combinations(names, 2)),
        "two triangles and a chain, d = 10": bf.parse(
            "a -> b -> c <- a, d -> e -> f <- d, g -> h -> i -> j"
        ),
        "complete, d = 6, cut at 100,000": bf.MixedGraph(
            [*names, "f"], bidirected=itertools.combinations([*names, "f"], 2)
        ),
    }
    for name, graph in cases.items():
        S, n = covariance(rng, len(graph)), 1000
        members = bf.equivalence_class(graph, limit=100_000)
        bounds, seconds = timed(bf.effect_bounds, members, cov=S, n=n)
        assert bounds.n_members == members.size
        assert bounds.complete == members.complete
        some = list(itertools.islice(members, 200))
        (low, high), slow = timed(loop, some, S, n)
        assert (bounds.lower <= low + 1e-9).all()
        assert (bounds.upper >= high - 1e-9).all()
        few = bf.effect_bounds(some, cov=S, n=n)
        assert np.allclose(few.lower, low, atol=1e-9)
        assert np.allclose(few.upper, high, atol=1e-9)
        print(
            f"  {name}: {members.size:,} members, {seconds:.3f} s, "
            f"{members.size / seconds:,.0f}/s, {bounds.n_fits} fits; loop {200 / slow:,.0f}/s"
        )


def bench_average() -> None:
    print("simulations of section 4.1 (d = 10, n = 1000): CPU seconds a data set, mean of 5")
    spent = np.zeros(3)
    steps = 0
    for seed in range(5):
        graph = bf.random_bap(10, max_in_degree=2, rng=seed)
        X = bf.random_sem(graph, rng=seed + 1000).sample(1000, rng=seed + 2000)
        result, search = timed(bf.greedy_search, X, rng=seed)
        average, averaging = timed(bf.averaged_effects, result, rng=seed)
        samples, chains = timed(
            bf.structure_mcmc, X, steps=30_000, starts=[result.graph] * 4, rng=seed
        )
        assert abs(average.weights.sum() - 1) < 1e-9
        assert average.classes[0].score >= result.score - 1e-9
        spent += (search, averaging, chains)
        steps += 4 * (samples.steps + samples.burn_in)
    print(
        f"  search {spent[0] / 5:.2f}, averaged_effects {spent[1] / 5:.2f} (chains included); "
        f"structure_mcmc {steps / spent[2]:,.0f} steps/s"
    )


if __name__ == "__main__":
    bench_bounds()
    bench_average()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MB")
