"""Fits of graphs far from the data, beside the best of 60 random starts.

Random BAPs on 6 to 10 variables are fitted to data of a factor model, which none of them describes.
Counts the fits whose likelihood is below the best of 60 starts with another seed, and how many of
these came without a warning, which must be none.
"""

import argparse
import time
import warnings

import numpy as np

import bowfree as bf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    chosen = parser.parse_args()
    below = silent = 0
    largest = seconds = seconds_60 = 0.0
    for k in range(chosen.fits):
        rng = np.random.default_rng([chosen.seed, k])
        d = int(rng.integers(6, 11))
        names = [f"x{i}" for i in range(d)]
        X = rng.normal(size=(500, 3)) @ rng.normal(size=(3, d)) + 0.1 * rng.normal(size=(500, d))
        graph = bf.random_bap(names, rng=int(rng.integers(2**31)))
        moments = bf.moments(dict(zip(names, X.T, strict=True)))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.process_time()
            fit = bf.fit(graph, moments)
            middle = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            best = bf.fit(graph, moments, n_starts=60, rng=1)
        seconds += middle - start
        seconds_60 += time.process_time() - middle
        gap = best.loglik - fit.loglik
        if gap > 1e-3:
            below += 1
            silent += not caught
            largest = max(largest, gap)
    print(f"{chosen.fits} fits: {below} below the best of 60 starts, {silent} without a warning")
    print(f"largest difference {largest:.1f} log-likelihood units")
    print(f"CPU s: {seconds:.1f}, 60 starts {seconds_60:.1f}")
    assert silent == 0


if __name__ == "__main__":
    main()
