"""The simulation study of section 4.1: estimates of total effects, ranked.

In each simulation, a uniform random BAP with random parameters generates data. A search learns a
graph. For every ordered pair of variables, the minimal absolute effect over the equivalence class
of the true graph is compared with that over the class of the learned graph. A pair is *positive* if
its minimum over the true class is not zero, and is ranked by the estimate.

At most one of the two effects between i and j is not zero, so that of d(d-1) ordered pairs at most
N = d(d-1)/2 are called causal, and the paper divides the number of false positives by N. Its area
under the ROC curve is therefore not the usual one; :func:`paper_roc` and :func:`ordinary_auc`
compute both.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

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
from bowfree.model.linear_sem import random_sem, real_array
from bowfree.model.scoring import score
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import Method, Rng, public
from bowfree.search.greedy import greedy_search
from bowfree.search.plan import StrategyName
from bowfree.search.result import SearchResult
from bowfree.space.random_graphs import random_bap
from bowfree.studies.runner import Study, markdown_table, simulate
from bowfree.text_reading import short_repr
from bowfree.uncertainty.averaging import averaged_effects
from bowfree.validation import check_choice, check_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]
Effects = Literal["corrected", "as-published"]
Classes = Literal["empirical", "exact"]
Estimates = Literal["best", "averaged", "true-class"]

CLASS_LIMIT = 100_000  # largest number of members of a class
ZERO = 1e-8  # a smaller minimal effect is zero up to rounding


@dataclass(frozen=True, eq=False)
class RocCurve:
    """Points of a ROC curve, from the strictest threshold to (1, 1).

    Attributes
    ----------
    fpr, tpr : ndarray of shape (N + 1,)
        False and true positive rates, ``N = d(d-1)/2``.
    n_positive : int
        Number of pairs with a true effect.
    auc : float
        Area under the curve, by the trapezoidal rule.
    """

    fpr: Floats
    tpr: Floats
    n_positive: int
    auc: float


def paper_roc(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> RocCurve:
    """Return the paper's ROC curve of estimated against true minimal absolute effects.

    Parameters
    ----------
    truth, estimate : array_like of shape (d, d)
        Entry ``[i, j]`` is the minimal absolute effect of j on i over a class, or any other number
        that increases with the evidence for an effect. The diagonal is ignored.

    Returns
    -------
    RocCurve
        Point k = 1..N calls the pairs whose estimate exceeds the k-th largest one; the last is
        (1, 1). The true positive rate is 0 if no pair is positive.

    References
    ----------
    Section 4.1 of the paper.

    Examples
    --------
    >>> from bowfree.studies import paper_roc
    >>> truth = [[0, 0, 0], [0.5, 0, 0], [0, 0, 0]]
    >>> curve = paper_roc(truth, [[0, 0, 0], [0.4, 0, 0], [0, 0.3, 0]])
    >>> curve.tpr.tolist(), curve.fpr.round(2).tolist(), curve.auc
    ([0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.33, 1.0], 1.0)
    """
    positive, value = _ordered_pairs(truth, estimate)
    N = len(value) // 2
    cut = np.sort(value)[::-1][:N]
    called = value[None, :] > cut[:, None]
    n_positive = int(positive.sum())
    hits = (called & positive).sum(axis=1)
    fpr = np.append((called.sum(axis=1) - hits) / max(N, 1), 1.0)
    tpr = np.append(hits / n_positive if n_positive else np.zeros(N), 1.0)
    return RocCurve(fpr, tpr, n_positive, float(np.trapezoid(tpr, fpr)))


def ordinary_auc(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> float:
    """Return the usual area: the probability that a positive pair ranks before a negative one.

    Parameters
    ----------
    truth, estimate : array_like of shape (d, d)
        As for :func:`paper_roc`.

    Returns
    -------
    float
        Ties count one half; NaN if all pairs are positive or none is.

    References
    ----------
    Hanley and McNeil (1982); the paper's footnote in section 4.1 on why it uses another one.

    Examples
    --------
    >>> from bowfree.studies import ordinary_auc
    >>> ordinary_auc([[0, 0], [1, 0]], [[0, 0], [0, 0]])
    0.5
    """
    positive, value = _ordered_pairs(truth, estimate)
    if positive.all() or not positive.any():
        return math.nan
    difference = value[positive][:, None] - value[~positive][None, :]
    return float((np.sign(difference) / 2 + 0.5).mean())


def _ordered_pairs(
    truth: npt.ArrayLike, estimate: npt.ArrayLike
) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Return which ordered pairs are positive, and the estimates, without the diagonal."""
    try:
        E, F = real_array(truth), real_array(estimate)
    except (TypeError, ValueError, OverflowError):
        given = f"{short_repr(truth)} and {short_repr(estimate)}"
        raise BowfreeError(f"truth and estimate must be matrices of numbers, got {given}") from None
    if E.ndim != 2 or E.shape[0] != E.shape[1] or E.shape != F.shape:
        raise BowfreeError(f"truth has shape {E.shape} and estimate {F.shape}; both must be (d, d)")
    if np.isnan(E).any() or np.isnan(F).any():
        raise BowfreeError("truth or estimate has NaN entries, which have no rank; replace them")
    off = ~np.eye(len(E), dtype=bool)
    return E[off] > ZERO, F[off]


@dataclass(frozen=True, eq=False)
class Simulation:
    """One simulation of the study.

    Attributes
    ----------
    truth, found : MixedGraph
        The graph that generated the data, and the best graph of the search.
    true_score, score : float
        Their scores, both converged.
    n_true_class, n_class : int
        Sizes of their equivalence classes.
    complete : bool
        Whether both classes were enumerated completely.
    roc : RocCurve
        The paper's curve and its area.
    ordinary_auc : float
        The usual area; NaN if no pair is positive.
    search_seconds, effect_seconds : float
        Elapsed time of the search, and of classes and effects.
    cpu_seconds : float
        Processor time.
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
        """Return one row of the table."""
        values = {name: value for name, value in vars(self).items() if name != "roc"}
        values |= {"found": str(self.found), "truth": str(self.truth)}
        return {"auc": self.roc.auc, "n_positive": self.roc.n_positive, **values}


@dataclass(frozen=True, eq=False, repr=False)
class EffectsStudy(Study):
    """The result of :func:`causal_effect_study`.

    Attributes
    ----------
    settings : dict
        The options of the study.
    simulations : tuple of Simulation
        In the order of their seeds.
    seconds : float
        Elapsed time.
    complete : bool
        False if a time limit or an interrupt ended the study early.
    """

    _stem = "effects"

    settings: dict[str, Any]
    simulations: tuple[Simulation, ...]
    seconds: float
    complete: bool

    @property
    def cpu_seconds(self) -> float:
        """Processor time of all simulations, on all machines."""
        return sum(simulation.cpu_seconds for simulation in self.simulations)

    @property
    def aucs(self) -> Floats:
        """The paper's area, one for each simulation."""
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
        """Mean of the usual area over the simulations with a positive pair."""
        values = np.array([simulation.ordinary_auc for simulation in self.simulations])
        return float(values[~np.isnan(values)].mean()) if not np.isnan(values).all() else math.nan

    @property
    def mean_curve(self) -> tuple[Floats, Floats]:
        """Pointwise mean of the curves, ``(fpr, tpr)``."""
        return (
            np.mean([simulation.roc.fpr for simulation in self.simulations], axis=0),
            np.mean([simulation.roc.tpr for simulation in self.simulations], axis=0),
        )

    @property
    def n_at_least_true_score(self) -> int:
        """Number of simulations in which the search scores at least as well as the true graph."""
        return sum(s.score >= s.true_score - 1e-9 for s in self.simulations)

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
            "simulations": self.records(),
        }

    def records(self) -> list[dict[str, Any]]:
        """Return one record for each simulation."""
        return [simulation.row() for simulation in self.simulations]

    def table(self) -> str:
        """Return the mean areas, in Markdown."""
        return markdown_table(
            ["mean AUC (s.e.)", "ordinary AUC", "score at least the true graph's", "CPU s"],
            [
                [
                    f"{self.mean_auc:.3f} ({self.standard_error:.3f})",
                    f"{self.mean_ordinary_auc:.3f}",
                    f"{self.n_at_least_true_score} of {len(self.simulations)}",
                    f"{self.cpu_seconds:.0f}",
                ]
            ],
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw figure "simulation": one thin curve for each simulation, their mean in bold."""
        import matplotlib.pyplot as plt

        if ax is None:
            ax = plt.subplots(figsize=(4.4, 4.6), layout="constrained")[1]
        ax.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--")
        for simulation in self.simulations:
            ax.plot(simulation.roc.fpr, simulation.roc.tpr, color="#0072b2", lw=0.5, alpha=0.35)
        ax.plot(*self.mean_curve, color="black", lw=2.5)
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        ax.set_xlabel("false positive rate")
        ax.set_ylabel("true positive rate")
        ax.set_title(f"mean AUC {self.mean_auc:.3f}", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
        return ax

    def _headline(self) -> str:
        return f"{len(self.simulations)} simulations, mean AUC {self.mean_auc:.3f}"


@public
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
    report: Estimates = "best",
    penalty: float = 1.0,
    limit_search: bool = False,
    exact_covariance: bool = False,
    rng: Rng = None,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> EffectsStudy:
    """Simulate data, search, and compare minimal absolute effects with the true ones.

    Parameters
    ----------
    n_sims, d, n, max_in_degree : int
        Number of simulations; nodes, observations and largest in-degree of the true graphs.
    strategy : {"restart", "ils"}
        Strategy of :func:`bowfree.greedy_search`. "restart" climbs from the empty graph and from
        random graphs with in-degree at most `max_in_degree`, as in the paper.
    restarts : int, optional
        Number of random starts; by default 100 for "restart", and that of the strategy for "ils".
    epsilon : float
        Tolerance of the empirical classes.
    effects : {"corrected", "as-published"}
        Total effects ``(I - B)^-1``, or ``(I + B)^-1`` as in the authors' program.
    method, max_iter
        Fits of graphs: "newton" for converged fits, "ricf" with ``max_iter=10`` for the authors'.
    classes : {"empirical", "exact"}
        Graphs of almost equal score (section 3.3), or :func:`bowfree.equivalence_class`.
    report : {"best", "averaged", "true-class"}
        What ranks the pairs: minimal effects over the class of the best graph; the probability of
        a non-zero minimal effect (:func:`bowfree.averaged_effects`); or minimal effects over the
        true class, an upper bound for every search.
    limit_search : bool
        Apply `max_in_degree` to the search too. The authors' program does not.
    exact_covariance : bool
        Search on the covariance matrix of the true model; n is used for the penalty only.

    Returns
    -------
    EffectsStudy
        True graphs, parameters and data depend on `rng` only, so that two calls with the same
        `rng` compare methods on the same data.

    References
    ----------
    Section 4.1 and figure "simulation" of the paper. The published protocol is ``method="ricf",
    max_iter=10, effects="as-published"``.

    Examples
    --------
    >>> import bowfree as bf
    >>> study = bf.studies.causal_effect_study(2, d=4, restarts=3, rng=1)
    >>> len(study.aucs), 0 <= study.mean_auc <= 1
    (2, True)
    """
    budget = Budget(rng, n_jobs, time_limit, progress, executor)
    for name, value in (("n_sims", n_sims), ("d", d)):
        check_count(name, value, 1)
    check_choice("effects", effects, ("corrected", "as-published"))
    check_choice("classes", classes, ("empirical", "exact"))
    check_choice("report", report, ("best", "averaged", "true-class"))
    if report == "averaged" and (effects == "as-published" or method == "ricf"):
        raise BowfreeError("report='averaged' requires effects='corrected' and method='newton'")
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

    def gather(done: list[Simulation]) -> EffectsStudy:
        return EffectsStudy(
            {"n_sims": n_sims, **settings}, tuple(done), budget.seconds, len(done) == n_sims
        )

    # Some of the thousands of fits have no certified maximum.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        study: EffectsStudy = simulate(
            partial(_simulate, p=SimpleNamespace(**settings)),
            budget.generator().spawn(n_sims),
            budget,
            what="simulations",
            gather=gather,
        )
    return study


def _simulate(stream: np.random.Generator, budget: Budget, *, p: SimpleNamespace) -> Simulation:
    for_data, for_search = stream.spawn(2)
    truth = random_bap(p.d, max_in_degree=p.max_in_degree, rng=for_data)
    sem = random_sem(truth, rng=for_data)
    data: dict[str, Any]
    if p.exact_covariance:
        data = {"cov": sem.covariance(), "n": p.n, "ddof": 0}
    else:
        data = {"cov": np.cov(sem.sample(p.n, rng=for_data), rowvar=False), "n": p.n}
    moments = DataOptions(**data).read(None, truth)
    fitting: dict[str, Any] = {"method": p.method, "max_iter": p.max_iter}

    began, cpu_began = time.perf_counter(), time.thread_time()
    result: SearchResult | None = None
    if p.report != "true-class":
        starts = None
        if p.strategy == "restart":
            # The authors draw sparse starts, but do not limit the search.
            n_random = 100 if p.restarts is None else p.restarts
            random_starts = random_bap(
                p.d, max_in_degree=p.max_in_degree, size=n_random, rng=for_search
            )
            starts = [MixedGraph(truth.nodes), *random_starts]
        result = greedy_search(
            **data,
            **fitting,
            strategy=p.strategy,
            starts=starts,
            restarts=None if starts else p.restarts,
            penalty=p.penalty,
            max_in_degree=p.max_in_degree if p.limit_search else None,
            rng=for_search,
            time_limit=budget.seconds_left,
        )
    found = truth if result is None else result.graph
    searched = time.perf_counter()

    def class_of(graph: MixedGraph) -> EquivalenceClass:
        if p.classes == "exact":
            return equivalence_class(graph, limit=CLASS_LIMIT)
        return empirical_class(graph, **data, epsilon=p.epsilon, limit=CLASS_LIMIT, **fitting)

    def minimal_effects(members: EquivalenceClass) -> Floats:
        if p.method == "newton":
            return effect_bounds(members, **data, formula=p.effects).min_abs
        return _ricf_effects(
            members, moments, p.max_iter, sign=1 if p.effects == "as-published" else -1
        )

    true_class, found_class = class_of(truth), class_of(found)
    true_effects = minimal_effects(true_class)
    if p.report == "averaged":
        assert result is not None
        average = averaged_effects(result, rng=for_search, time_limit=budget.seconds_left)
        estimate = average.probability_all_members
    else:
        estimate = minimal_effects(found_class)
    return Simulation(
        truth=truth,
        found=found,
        true_score=score(truth, **data, penalty=p.penalty),
        score=score(found, **data, penalty=p.penalty),
        n_true_class=true_class.size,
        n_class=found_class.size,
        complete=true_class.complete and found_class.complete,
        roc=paper_roc(true_effects, estimate),
        ordinary_auc=ordinary_auc(true_effects, estimate),
        search_seconds=searched - began,
        effect_seconds=time.perf_counter() - searched,
        cpu_seconds=time.thread_time() - cpu_began,
    )


def _ricf_effects(
    members: Iterable[MixedGraph], moments: Moments, max_iter: int | None, *, sign: int
) -> Floats:
    """Return the minimal absolute effects over a class, each member fitted by the paper's RICF."""
    identity = np.eye(len(moments.names))
    least = np.full(identity.shape, np.inf)
    sweeps = ScoringRule(method="ricf", max_iter=max_iter).sweeps
    for graph in members:
        fitted = _core.fit_graph(moments.S, *graph._bits(), method="ricf", max_iter=sweeps)
        least = np.minimum(least, np.abs(np.linalg.inv(identity + sign * fitted.B)))
    return least
