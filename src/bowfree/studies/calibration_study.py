"""Do stated certainties come true? Coverage of intervals, reliability of probabilities.

One simulation: a random BAP, random parameters, data; a search on these data, and
:func:`bowfree.averaged_effects` of its result, all by default options. Then every stated certainty
is held against the model that the data came from. For comparison stands what the best graph alone
would say, its estimates with their standard errors as if it had been given and not learned from the
same data. What is counted, :mod:`bowfree.studies.calibration_result` tells.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist
from typing import Any, Unpack

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
from bowfree.space.random_graphs import random_bap
from bowfree.studies.calibration_result import (
    CalibrationCell,
    CalibrationStudy,
    CheckedIntervals,
    CheckedSimulation,
    Statements,
)
from bowfree.studies.simulations import simulate
from bowfree.uncertainty.average_result import AveragedEffects
from bowfree.uncertainty.averaging import averaged_effects
from bowfree.validation import BudgetOptions, check_choice, check_count, split_options

Floats = npt.NDArray[np.float64]
Kind = tuple[int, int, str]  # of simulations: variables, observations, density of the true graphs

IN_DEGREES = {"sparse": 2, "dense": 3}
DENSITIES = (*IN_DEGREES, "prior")


def calibration_study(
    n_sims: int = 100,
    *,
    d: Sequence[int] = (6, 10),
    n: Sequence[int] = (200, 1000, 5000),
    densities: Sequence[str] = ("sparse", "dense"),
    **options: Unpack[BudgetOptions],
) -> CalibrationStudy:
    """Simulate, search, average, and hold every stated certainty against the truth.

    Parameters
    ----------
    n_sims : int
        Simulations of each cell.
    d, n : sequence of int
        Numbers of variables and of observations; every combination is a cell.
    densities : sequence of {"sparse", "dense", "prior"}
        True graphs are uniform among BAPs with in-degrees of at most 2 or 3. With "prior" they are
        drawn from the prior that averages have by default: of the three the only law of which its
        probabilities speak, so that they have to come true.
    **options
        ``rng``, ``n_jobs``, ``executor``, ``time_limit``, ``progress``
            What may be spent (:class:`~bowfree.validation.BudgetOptions`); `n_jobs` simulations at a
            time.

    Returns
    -------
    CalibrationStudy

    Examples
    --------
    >>> import bowfree as bf
    >>> study = bf.studies.calibration_study(2, d=[3], n=[100], densities=["sparse"], rng=1)
    >>> study.cells[0].coverage().value > 0.5
    True
    """
    (budget_options,) = split_options("calibration_study", options, BudgetOptions)
    budget = Budget(**budget_options)
    check_count("n_sims", n_sims, 1)
    kinds = [(size, rows, density) for size in d for density in densities for rows in n]
    for size, rows, density in kinds:
        check_count("d", size, 2)
        check_count("n", rows, size + 1)
        check_choice("density", density, DENSITIES)
    streams = budget.generator().spawn(n_sims * len(kinds))
    pieces = [(stream, kinds[k // n_sims]) for k, stream in enumerate(streams)]

    def study(done: list[tuple[Kind, CheckedSimulation]]) -> CalibrationStudy:
        cells = [
            CalibrationCell(*kind, tuple(checked for of, checked in done if of == kind))
            for kind in kinds
        ]
        return CalibrationStudy(tuple(c for c in cells if c.simulations), len(done) == len(pieces))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        found: CalibrationStudy = simulate(
            _simulate, pieces, budget, what="simulations", gather=study
        )
    return found


def _simulate(
    piece: tuple[np.random.Generator, Kind], budget: Budget
) -> tuple[Kind, CheckedSimulation]:
    stream, kind = piece
    d, n, density = kind
    nature, searcher = stream.spawn(2)
    truth = (
        graph_from_prior(d, nature)
        if density == "prior"
        else random_bap(d, max_in_degree=IN_DEGREES[density], rng=nature)
    )
    sem = random_sem(truth, rng=nature)
    data = sem.sample(n, rng=nature)
    began = time.thread_time()
    result = greedy_search(data, rng=searcher, time_limit=budget.seconds_left)
    average = averaged_effects(result, rng=searcher, time_limit=budget.seconds_left)
    seconds = time.thread_time() - began
    return kind, hold_against(sem, result, data, average, seconds)


def hold_against(
    sem: LinearSEM, result: SearchResult, data: Any, average: AveragedEffects, seconds: float
) -> CheckedSimulation:
    """Hold what an average says, and the best graph alone, against the model of the data."""
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

    Every number of edges, every set of pairs, every kind of edge: until there is no cycle.
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
    """Return (I - B)^-1, exactly zero where no directed path leads."""
    d = len(B)
    effects = np.linalg.inv(np.eye(d) - B)
    reach = np.eye(d, dtype=bool) | (B != 0)
    for _ in range(max(1, d.bit_length())):
        reach = reach @ reach
    return np.where(reach, effects, 0.0)


def _check(effects: Floats, lower: Floats, upper: Floats) -> CheckedIntervals:
    # An interval of a variable that is no cause in any graph is [0, 0], up to rounding.
    covered = (lower - ZERO <= effects) & (effects <= upper + ZERO)
    return CheckedIntervals(covered, upper - lower, (lower > 0) | (upper < 0))
