"""Can total effects be found? The simulation study of section 4.1, as published and corrected.

One simulation: a uniform random BAP, random parameters, data; a search; the equivalence classes of
the true and of the found graph; for every ordered pair the minimal absolute effect over each class.
A pair is *true* when its minimum over the true class is not zero, and is ranked by what was
estimated. :mod:`bowfree.studies.roc` turns that into a curve and an area.

What differs between the published protocol and a good one are options of
:func:`causal_effect_study`; :mod:`bowfree.studies.protocols` has the named rows of the table.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.effects.bounds import effect_bounds
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.classes import empirical_class, equivalence_class
from bowfree.errors import BowfreeError, FitWarning
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.context import ScoringRule
from bowfree.model.fitting import score
from bowfree.model.linear_sem import random_sem
from bowfree.parallel.budget import Budget
from bowfree.parameters import Method
from bowfree.search.greedy import greedy_search
from bowfree.search.plan import StrategyName
from bowfree.search.result import SearchResult
from bowfree.space.random_graphs import random_bap
from bowfree.studies.files import write_csv, write_json
from bowfree.studies.roc import RocCurve, ordinary_auc, paper_roc
from bowfree.studies.simulations import simulate
from bowfree.uncertainty.averaging import averaged_effects
from bowfree.validation import BudgetOptions, check_choice, check_count, split_options

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Floats = npt.NDArray[np.float64]
Effects = Literal["corrected", "as-published"]
Classes = Literal["empirical", "exact"]
Report = Literal["best", "averaged", "true-class"]

CLASS_LIMIT = 100_000
"""Most members of a class that are looked at."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """One simulation of the study.

    Attributes
    ----------
    truth, found : MixedGraph
        The graph that the data came from, and the best one of the search.
    true_score, score : float
        Their scores, both converged.
    n_true_class, n_class : int
        Sizes of their classes.
    complete : bool
        Whether both classes were listed to the end.
    roc : RocCurve
        The paper's curve and its area.
    ordinary_auc : float
        The usual area; NaN when nothing is true.
    search_seconds, effect_seconds : float
        Elapsed time of the search, and of classes and effects.
    cpu_seconds : float
        Processor time of the whole.
    """

    truth: MixedGraph
    found: MixedGraph
    true_score: float
    score: float
    n_true_class: int
    n_class: int
    complete: bool
    roc: RocCurve
    ordinary_auc: float
    search_seconds: float
    effect_seconds: float
    cpu_seconds: float

    def row(self) -> dict[str, Any]:
        """Return one line of the table."""
        return {
            "auc": self.roc.auc,
            "ordinary_auc": self.ordinary_auc,
            "n_positive": self.roc.n_positive,
            "score": self.score,
            "true_score": self.true_score,
            "n_class": self.n_class,
            "n_true_class": self.n_true_class,
            "complete": self.complete,
            "search_seconds": self.search_seconds,
            "effect_seconds": self.effect_seconds,
            "cpu_seconds": self.cpu_seconds,
            "found": str(self.found),
            "truth": str(self.truth),
        }


@dataclass(frozen=True, eq=False)
class EffectsStudy:
    """All simulations of one protocol.

    Attributes
    ----------
    settings : dict
        The options of :func:`causal_effect_study`.
    simulations : tuple of Simulation
        In the order of their seeds.
    seconds : float
        Elapsed time of the whole.
    complete : bool
        Whether there are as many as were asked for; False after a time limit or an interruption.
    """

    settings: dict[str, Any]
    simulations: tuple[Simulation, ...]
    seconds: float
    complete: bool

    @property
    def cpu_seconds(self) -> float:
        """Processor time of all simulations, wherever they were done."""
        return sum(simulation.cpu_seconds for simulation in self.simulations)

    @property
    def aucs(self) -> Floats:
        """The paper's area, one per simulation."""
        return np.array([simulation.roc.auc for simulation in self.simulations])

    @property
    def mean_auc(self) -> float:
        """The number that the paper reports."""
        return float(self.aucs.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean; NaN for a single simulation."""
        if len(self.simulations) < 2:
            return math.nan
        return float(self.aucs.std(ddof=1) / math.sqrt(len(self.simulations)))

    @property
    def mean_ordinary_auc(self) -> float:
        """Mean of the usual area over the simulations in which something is true."""
        values = np.array([simulation.ordinary_auc for simulation in self.simulations])
        return float(values[~np.isnan(values)].mean()) if not np.isnan(values).all() else math.nan

    @property
    def mean_curve(self) -> tuple[Floats, Floats]:
        """Point-wise mean of the curves: ``(fpr, tpr)``, k-th points averaged."""
        return (
            np.mean([simulation.roc.fpr for simulation in self.simulations], axis=0),
            np.mean([simulation.roc.tpr for simulation in self.simulations], axis=0),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers."""
        fpr, tpr = self.mean_curve
        return {
            "settings": self.settings,
            "mean_auc": self.mean_auc,
            "standard_error": self.standard_error,
            "mean_ordinary_auc": self.mean_ordinary_auc,
            "at_least_true_score": self.n_at_least_true_score,
            "incomplete_classes": sum(not s.complete for s in self.simulations),
            "complete": self.complete,
            "cpu_seconds": self.cpu_seconds,
            "seconds": self.seconds,
            "mean_curve": {"fpr": fpr.tolist(), "tpr": tpr.tolist()},
            "simulations": [simulation.row() for simulation in self.simulations],
        }

    @property
    def n_at_least_true_score(self) -> int:
        """Simulations whose graph scores at least as well as the true one."""
        return sum(s.score >= s.true_score - 1e-9 for s in self.simulations)

    def to_json(self, path: str | Path) -> Path:
        """Write :meth:`to_dict` to a file; return its path."""
        return write_json(path, self.to_dict())

    def to_csv(self, path: str | Path) -> Path:
        """Write one line per simulation; return the path."""
        return write_csv(path, (simulation.row() for simulation in self.simulations))

    def plot(self, ax: Axes | None = None, *, title: str = "") -> Axes:
        """Draw figure "simulation": one thin curve per simulation, their mean thick."""
        import matplotlib.pyplot as plt

        if ax is None:
            ax = plt.subplots(figsize=(4.4, 4.4), layout="constrained")[1]
        ax.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--")
        for simulation in self.simulations:
            ax.plot(simulation.roc.fpr, simulation.roc.tpr, color="#0072b2", lw=0.5, alpha=0.35)
        ax.plot(*self.mean_curve, color="black", lw=2.5)
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        ax.set_xlabel("false positive rate")
        ax.set_ylabel("true positive rate")
        ax.set_title(f"{title}\nmean AUC {self.mean_auc:.3f}".strip(), fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
        return ax


def causal_effect_study(
    n_sims: int = 100,
    d: int = 10,
    n: int = 1000,
    max_in_degree: int | None = 2,
    *,
    strategy: StrategyName = "restart",
    restarts: int | None = None,
    epsilon: float = 1e-10,
    effects: Effects = "corrected",
    method: Method = "newton",
    max_iter: int | None = None,
    classes: Classes = "empirical",
    report: Report = "best",
    penalty: float = 1.0,
    limit_search: bool = False,
    exact_covariance: bool = False,
    **options: Unpack[BudgetOptions],
) -> EffectsStudy:
    """Simulate, search, and compare the minimal absolute effects with the true ones.

    Parameters
    ----------
    n_sims, d, n, max_in_degree : int
        Number of simulations; nodes, observations and largest in-degree of the true graphs.
    strategy : {"restart", "ils"}
        Of :func:`bowfree.greedy_search`. ``"restart"`` climbs from the empty graph and from random
        graphs of in-degree at most `max_in_degree`, as the paper does.
    restarts : int, optional
        Random starts; by default 100 for ``"restart"``, and the strategy's own number for
        ``"ils"``.
    epsilon : float
        Of the empirical classes.
    effects : {"corrected", "as-published"}
        Total effects ``(I - B)^-1``, or ``(I + B)^-1`` as in the authors' program.
    method, max_iter
        How graphs are scored and fitted: ``"newton"`` for converged fits, ``"ricf"`` with
        ``max_iter=10`` for the authors'.
    classes : {"empirical", "exact"}
        Graphs of almost equal score (section 3.3), or :func:`bowfree.equivalence_class`.
    report : {"best", "averaged", "true-class"}
        What ranks the pairs: minimal effects over the class of the best graph; the probability of
        a non-zero minimal effect over all near-optimal classes (:func:`bowfree.averaged_effects`);
        or minimal effects over the true class, which shows what is left to the search.
    penalty : float
        Of the score.
    limit_search : bool
        Let `max_in_degree` hold in the search too. The authors' program does not.
    exact_covariance : bool
        Give the search the covariance matrix of the true model, with n for the penalty only.
    **options
        ``rng``, ``n_jobs``, ``executor``, ``time_limit``, ``progress``
            What may be spent (:class:`~bowfree.validation.BudgetOptions`); `n_jobs` simulations at a
            time. True graphs, parameters and data depend on nothing but `rng`, so two protocols
            with the same `rng` are compared on the same data.

    Returns
    -------
    EffectsStudy

    References
    ----------
    Section 4.1 and figure "simulation" of the paper.

    Examples
    --------
    >>> import bowfree as bf
    >>> study = bf.studies.causal_effect_study(2, d=4, restarts=3, rng=1)
    >>> len(study.aucs), 0 <= study.mean_auc <= 1
    (2, True)
    """
    (budget_options,) = split_options("causal_effect_study", options, BudgetOptions)
    budget = Budget(**budget_options)
    for name, value in (("n_sims", n_sims), ("d", d)):
        check_count(name, value, 1)
    check_choice("effects", effects, ("corrected", "as-published"))
    check_choice("classes", classes, ("empirical", "exact"))
    check_choice("report", report, ("best", "averaged", "true-class"))
    if report == "averaged" and (effects == "as-published" or method == "ricf"):
        raise BowfreeError(
            "report='averaged' was never published: use effects='corrected' and method='newton'"
        )
    settings: dict[str, Any] = {
        "d": d,
        "n": n,
        "max_in_degree": max_in_degree,
        "strategy": strategy,
        "restarts": restarts,
        "epsilon": epsilon,
        "effects": effects,
        "method": method,
        "max_iter": max_iter,
        "classes": classes,
        "report": report,
        "penalty": penalty,
        "limit_search": limit_search,
        "exact_covariance": exact_covariance,
    }
    streams = budget.generator().spawn(n_sims)

    def study(done: list[Simulation]) -> EffectsStudy:
        chosen = {"n_sims": n_sims, **settings}
        return EffectsStudy(chosen, tuple(done), budget.seconds, len(done) == n_sims)

    # Thousands of fits, some without a certified maximum: a warning for each would say nothing.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        found: EffectsStudy = simulate(
            partial(_simulate, **settings), streams, budget, what="simulations", gather=study
        )
    return found


def _simulate(
    stream: np.random.Generator,
    budget: Budget,
    *,
    d: int,
    n: int,
    max_in_degree: int | None,
    strategy: StrategyName,
    restarts: int | None,
    epsilon: float,
    effects: Effects,
    method: Method,
    max_iter: int | None,
    classes: Classes,
    report: Report,
    penalty: float,
    limit_search: bool,
    exact_covariance: bool,
) -> Simulation:
    nature, searcher = stream.spawn(2)
    truth = random_bap(d, max_in_degree=max_in_degree, rng=nature)
    sem = random_sem(truth, rng=nature)
    given: dict[str, Any]
    if exact_covariance:
        given = {"cov": sem.covariance(), "n": n, "ddof": 0}
    else:
        given = {"cov": np.cov(sem.sample(n, rng=nature), rowvar=False), "n": n}
    moments = DataOptions(**given).read(graph=truth)
    fitting: dict[str, Any] = {"method": method, "max_iter": max_iter}

    in_degree = max_in_degree if limit_search else None
    began, cpu_began = time.perf_counter(), time.thread_time()
    result: SearchResult | None = None
    if report != "true-class":
        options: dict[str, Any] = {"strategy": strategy, "restarts": restarts}
        if strategy == "restart":
            # The authors draw sparse starts, but let the search leave their limit.
            options = {
                "strategy": strategy,
                "starts": [
                    MixedGraph(truth.nodes),
                    *random_bap(
                        d,
                        max_in_degree=max_in_degree,
                        size=100 if restarts is None else restarts,
                        rng=searcher,
                    ),
                ],
            }
        result = greedy_search(
            **given,
            **options,
            **fitting,
            penalty=penalty,
            max_in_degree=in_degree,
            rng=searcher,
            time_limit=budget.seconds_left,
        )
    found = truth if result is None else result.graph
    searched = time.perf_counter()

    def class_of(graph: MixedGraph) -> EquivalenceClass:
        if classes == "exact":
            return equivalence_class(graph, limit=CLASS_LIMIT)
        return empirical_class(graph, **given, epsilon=epsilon, limit=CLASS_LIMIT, **fitting)

    def minimal_effects(members: EquivalenceClass) -> Floats:
        if method == "newton":
            return effect_bounds(members, **given, formula=effects).min_abs
        return _minimal_effects(members, moments, effects, max_iter)

    true_class, found_class = class_of(truth), class_of(found)
    true_effects = minimal_effects(true_class)
    if report == "averaged":
        assert result is not None
        average = averaged_effects(result, rng=searcher, time_limit=budget.seconds_left)
        estimate = average.probability_all_members
    else:
        estimate = minimal_effects(found_class)
    return Simulation(
        truth=truth,
        found=found,
        true_score=score(truth, **given, penalty=penalty),
        score=score(found, **given, penalty=penalty),
        n_true_class=true_class.size,
        n_class=found_class.size,
        complete=true_class.complete and found_class.complete,
        roc=paper_roc(true_effects, estimate),
        ordinary_auc=ordinary_auc(true_effects, estimate),
        search_seconds=searched - began,
        effect_seconds=time.perf_counter() - searched,
        cpu_seconds=time.thread_time() - cpu_began,
    )


def _minimal_effects(
    members: Iterable[MixedGraph],
    moments: Moments,
    effects: Effects,
    max_iter: int | None,
) -> Floats:
    """Entry-wise minimum of the absolute effects, each member fitted by the paper's RICF."""
    d = len(moments.names)
    least = np.full((d, d), np.inf)
    sign = 1.0 if effects == "as-published" else -1.0
    sweeps = ScoringRule(method="ricf", max_iter=max_iter).sweeps
    for graph in members:
        fitted = _core.fit_graph(moments.S, *graph._bits(), method="ricf", max_iter=sweeps)
        least = np.minimum(least, np.abs(np.linalg.inv(np.eye(d) + sign * fitted.B)))
    return least
