"""Everything that runs on several threads of the core, four at a time, again and again.

For the thread sanitizer (``nox -s threads``), which ends the program at the first data race. By
itself this only shows that the results do not depend on the number of threads.
"""

import sys

import numpy as np

import bowfree as bf


def main(rounds: int = 3) -> None:
    """Do everything on one thread and on four, and compare."""
    for seed in range(rounds):
        truth = bf.random_sem(bf.random_bap(8, max_in_degree=2, rng=seed), rng=seed)
        X = truth.sample(300, rng=seed)
        searches = [bf.greedy_search(X, rng=seed, restarts=8, n_jobs=k) for k in (1, 4)]
        assert searches[0].pool == searches[1].pool
        chains = [bf.structure_mcmc(X, steps=3000, rng=seed, n_jobs=k) for k in (1, 4)]
        np.testing.assert_array_equal(chains[0].states, chains[1].states)
        assert bf.equivalence.atlas(4, n_jobs=1) == bf.equivalence.atlas(4, n_jobs=4)
        stopped = bf.greedy_search(X, rng=seed, restarts=500, n_jobs=4, time_limit=0.2)
        assert truth.graph.nodes == stopped.graph.nodes
        quick = bf.search.Strategy(restarts=2, rounds=0)
        found = [
            bf.bootstrap(X, n_resamples=40, strategy=quick, rng=seed, n_jobs=k) for k in (1, 4)
        ]
        assert found[0].graphs == found[1].graphs
        print(f"round {seed + 1} of {rounds}: the same on one thread and on four", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
