"""Coverage of intervals and reliability of probabilities in simulations.

In each simulation, a random BAP with random parameters generates data; a search and
:func:`bowfree.averaged_effects` are run with default options. Every interval and probability is
compared with the true model. The intervals of the best graph, as if it had not been learned from
the same data, are included for comparison. ``calibration_result.py`` counts.

Run: ``python benchmarks/run_study.py calibration --out results [--n-sims 20] [--jobs 2]``
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.effects.bounds import ZERO
from bowfree.errors import FitWarning
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fitting import fit
from bowfree.model.linear_sem import LinearSEM, random_sem
from bowfree.parallel.budget import Budget
from bowfree.search.greedy import greedy_search
from bowfree.search.result import SearchResult
from bowfree.space.search_space import random_bap
from bowfree.studies.runner import simulate
from bowfree.uncertainty.average_result import AveragedEffects
from bowfree.uncertainty.averaging import averaged_effects
from bowfree.validation import check_choice, check_count
from calibration_result import (
    CalibrationCell,
    CalibrationStudy,
    CheckedIntervals,
    CheckedSimulation,
    Statements,
)

Floats = npt.NDArray[np.float64]
Cell = tuple[int, int, str]  # variables, observations, density of the true graphs

IN_DEGREES = {"sparse": 2, "dense": 3}
DENSITIES = (*IN_DEGREES, "prior")


def calibration_study(
    n_sims: int = 100,
    *,
    d: Sequence[int] = (6, 10),
    n: Sequence[int] = (200, 1000, 5000),
    densities: Sequence[str] = ("sparse", "dense"),
    **budget_options: Any,
) -> CalibrationStudy:
    """Simulate `n_sims` times for each number of variables, of observations, and density.

    True graphs are uniform among BAPs with in-degrees of at most 2 ("sparse") or 3 ("dense"), or
    drawn from the default prior of the averages ("prior"), for which the probabilities must be
    calibrated. `budget_options` are rng, n_jobs, executor, time_limit and progress.
    """
    budget = Budget(**budget_options)
    check_count("n_sims", n_sims, 1)
    cells = [(size, rows, density) for size in d for density in densities for rows in n]
    for size, rows, density in cells:
        check_count("d", size, 2)
        check_count("n", rows, size + 1)
        check_choice("density", density, DENSITIES)
    streams = budget.generator().spawn(n_sims * len(cells))
    tasks = [(stream, cells[k // n_sims]) for k, stream in enumerate(streams)]

    def gather(done: list[tuple[Cell, CheckedSimulation]]) -> CalibrationStudy:
        found = [
            CalibrationCell(*cell, tuple(checked for of, checked in done if of == cell))
            for cell in cells
        ]
        return CalibrationStudy(tuple(c for c in found if c.simulations), len(done) == len(tasks))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        study: CalibrationStudy = simulate(
            _simulate, tasks, budget, what="simulations", gather=gather
        )
    return study


def _simulate(
    task: tuple[np.random.Generator, Cell], budget: Budget
) -> tuple[Cell, CheckedSimulation]:
    stream, cell = task
    d, n, density = cell
    nature, searcher = stream.spawn(2)
    truth = (
        graph_from_prior(d, nature)
        if density == "prior"
        else random_bap(d, max_in_degree=IN_DEGREES[density], rng=nature)
    )
    sem = random_sem(truth, rng=nature)
    data = sem.sample(n, rng=nature)
    began = time.process_time()  # of this task alone in an executor of processes
    result = greedy_search(data, rng=searcher, time_limit=budget.seconds_left)
    average = averaged_effects(result, rng=searcher, time_limit=budget.seconds_left)
    seconds = time.process_time() - began
    return cell, compare_with_truth(sem, result, data, average, seconds)


def compare_with_truth(
    sem: LinearSEM, result: SearchResult, data: Any, average: AveragedEffects, seconds: float
) -> CheckedSimulation:
    """Compare an average, and the best graph alone, with the true model."""
    d = len(sem.B)
    pairs = ~np.eye(d, dtype=bool)
    effects = _total_effects(sem.B)
    upper = np.triu_indices(d, 1)
    directed, bidirected = sem.B != 0, sem.Omega != 0
    alone = fit(result, data).total_effects()
    error = NormalDist().inv_cdf(0.5 + average.confidence / 2) * np.nan_to_num(alone.se[pairs])
    return CheckedSimulation(
        nonzero=effects[pairs] != 0,
        averaged=_check(effects[pairs], average.lower[pairs], average.upper[pairs]),
        one_graph=_check(
            effects[pairs], alone.estimate[pairs] - error, alone.estimate[pairs] + error
        ),
        effects=Statements(average.probability[pairs], effects[pairs] != 0),
        edges=Statements(
            np.concatenate([average.directed[pairs], average.bidirected[upper]]),
            np.concatenate([directed[pairs], bidirected[upper]]),
        ),
        adjacent=Statements(average.adjacent[upper], (directed | directed.T | bidirected)[upper]),
        mixed=average.mixed,
        seconds=seconds,
    )


def graph_from_prior(d: int, rng: np.random.Generator) -> MixedGraph:
    """Draw a BAP from the default prior of :class:`bowfree.uncertainty.GraphPosterior`.

    The number of edges, the pairs and the types of edges are uniform; graphs with cycles are
    rejected.
    """
    names = [f"x{i + 1}" for i in range(d)]
    pairs = list(combinations(names, 2))
    while True:
        joined = rng.choice(len(pairs), size=rng.integers(len(pairs) + 1), replace=False)
        kinds = rng.integers(3, size=len(joined))
        chosen = [(pairs[k], kind) for k, kind in zip(joined, kinds, strict=True)]
        graph = MixedGraph(
            names,
            [pair if kind == 0 else pair[::-1] for pair, kind in chosen if kind < 2],
            [pair for pair, kind in chosen if kind == 2],
        )
        if graph.is_acyclic():
            return graph


def _total_effects(B: Floats) -> Floats:
    """Return (I - B)^-1, with exact zeros where there is no directed path."""
    d = len(B)
    effects = np.linalg.inv(np.eye(d) - B)
    reach = np.eye(d, dtype=bool) | (B != 0)
    for _ in range(max(1, d.bit_length())):
        reach = reach @ reach
    return np.where(reach, effects, 0.0)


def _check(effects: Floats, lower: Floats, upper: Floats) -> CheckedIntervals:
    # The interval is [0, 0], up to rounding, if no graph has a directed path.
    covered = (lower - ZERO <= effects) & (effects <= upper + ZERO)
    return CheckedIntervals(covered, upper - lower, (lower > 0) | (upper < 0))
