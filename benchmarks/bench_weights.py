"""Calibration of averages with different weights of graphs, in simulations.

Every method uses the same data, the same search and the same number of steps of the chains:

- *BIC*: penalty 0.5, a uniform prior on the number of edges (the default);
- *paper*: the paper's penalty, 1;
- *flat*: BIC with a uniform prior on graphs;
- *classes*: BIC with equal weights of classes;
- *evidence at 0*: as BIC, minus half the squared z-values over n of every coefficient: Laplace's
  approximation under a unit-information prior that is centered at zero (``docs/uncertainty.md``
  explains why BIC is the same with a prior centered at the estimate);
- *bagged*: the mean of the weights of BIC on eight resamples of the rows, with an eighth of the
  steps each; effects are estimated from all rows.

Run: ``python benchmarks/bench_weights.py [sets of each kind] [first seed]``
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import bowfree as bf
from bowfree.parallel.budget import Budget
from bowfree.uncertainty.averaging import Average, AverageSettings, WeightedGraphs
from bowfree.uncertainty.posterior import GraphPosterior
from calibration_result import CalibrationCell, CheckedSimulation
from study_calibration import IN_DEGREES, compare_with_truth

D, KINDS = 6, [(n, density) for density in IN_DEGREES for n in (200, 1000)]
STEPS, RESAMPLES = 40_000, 8


def averaged(**options: Any) -> Callable[[bf.SearchResult, Any, int], bf.AveragedEffects]:
    """Return a recipe that is a matter of options."""
    return lambda result, data, seed: bf.averaged_effects(
        result, steps=STEPS, max_steps=STEPS, rng=seed, **options
    )


def evidence_at_zero(result: bf.SearchResult, data: Any, seed: int) -> bf.AveragedEffects:
    """Average with the prior of the coefficients around zero."""
    counts = sampled(result, STEPS, seed)
    graphs = list(counts)
    price = np.array([0.5 * wald(graph, result.moments) / result.moments.n for graph in graphs])
    shares = np.array([counts[graph] for graph in graphs]) * np.exp(price.min() - price)
    return average(graphs, shares, result)


def bagged(result: bf.SearchResult, data: Any, seed: int) -> bf.AveragedEffects:
    """Average the weights over resamples of the rows."""
    counts: Counter[bf.MixedGraph] = Counter()
    rng = np.random.default_rng(seed)
    for k in range(RESAMPLES):
        again = bf.moments(data[rng.integers(len(data), size=len(data))])
        counts.update(sampled(replace(result, moments=again), STEPS // RESAMPLES, seed + k))
    return average(list(counts), np.array(list(counts.values()), float), result)


def sampled(result: bf.SearchResult, steps: int, seed: int) -> Counter[bf.MixedGraph]:
    """Return the graphs that chains visited, and how often."""
    thin = max(1, 4 * steps // 4000)
    return Counter(bf.structure_mcmc(result, steps=steps, thin=thin, rng=seed).counts())


def wald(graph: bf.MixedGraph, moments: bf.Moments) -> float:
    """Return the squares of z of all edges, added up: as if their estimates were independent."""
    rows = bf.fit(graph, moments).estimates()
    # Without a standard error, z counts as zero.
    return float(np.nansum([row.z**2 for row in rows if row.mark != "variance"]))


def average(graphs: list[bf.MixedGraph], shares: Any, result: bf.SearchResult) -> Any:
    """Average effects over graphs with these shares."""
    order = np.argsort(-shares, kind="stable")
    bits = (np.stack(stack) for stack in zip(*(graphs[k]._bits() for k in order), strict=True))
    weighted = WeightedGraphs(*bits, shares[order] / shares.sum(), True)
    average = Average(result.moments, result.space, GraphPosterior(), AverageSettings(), Budget())
    return average.over(weighted)


RECIPES: dict[str, Callable[[bf.SearchResult, Any, int], bf.AveragedEffects]] = {
    "BIC": averaged(),
    "paper": averaged(penalty=1.0),
    "flat": averaged(prior="flat"),
    "classes": averaged(count="classes"),
    "evidence at 0": evidence_at_zero,
    "bagged": bagged,
}


def main(sets: int = 20, first: int = 0) -> None:
    """Print one row for each kind of model and each recipe."""
    warnings.simplefilter("ignore", bf.errors.FitWarning)
    print(
        "| n | graphs | weights | intervals cover | ... non-zero effects | median width | exclude "
        "zero, of these wrong | Brier score: effects, edges, adjacencies | CPU s |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for n, density in KINDS:
        checked: dict[str, list[CheckedSimulation]] = defaultdict(list)
        for seed in range(first, first + sets):
            rng = np.random.default_rng([seed, n, IN_DEGREES[density]])
            sem = bf.random_sem(
                bf.random_bap(D, max_in_degree=IN_DEGREES[density], rng=rng), rng=rng
            )
            data = sem.sample(n, rng=rng)
            result = bf.greedy_search(data, rng=seed)
            for name, recipe in RECIPES.items():
                began = time.process_time()
                found = recipe(result, data, seed)
                seconds = time.process_time() - began
                checked[name].append(compare_with_truth(sem, result, data, found, seconds))
                assert np.all(found.lower <= found.upper)
        for name, simulations in checked.items():
            row = CalibrationCell(D, n, density, tuple(simulations)).row()
            briers = ", ".join(
                f"{row[f'brier_{what}'].value:.3f}" for what in ("effects", "edges", "adjacent")
            )
            print(
                f"| {n} | {density} | {name} | {row['coverage']} | {row['coverage_nonzero']} | "
                f"{row['width']:.2f} | {row['excluding_zero']:.1f}, {row['wrong']} | {briers} | "
                f"{row['cpu_seconds']:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
