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
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from bowfree import _core
from bowfree.data.options import DataOptions
from bowfree.data.sample import Bools, Floats
from bowfree.effects.bounds import effect_bounds
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.classes import empirical_class
from bowfree.errors import BowfreeError, FitWarning
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.context import ScoringRule
from bowfree.model.fitting import score
from bowfree.model.linear_sem import LinearSEM, random_sem, real_array
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import Method, Rng, public
from bowfree.results.rows import Row
from bowfree.search.greedy import greedy_search
from bowfree.search.plan import StrategyName
from bowfree.space.search_space import random_bap
from bowfree.studies.runner import Study, markdown_table, processor_seconds, simulate
from bowfree.text_reading import short_repr
from bowfree.validation import check_choice, check_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes


CLASS_LIMIT = 100_000  # largest number of members of a class
ZERO = 1e-8  # a smaller minimal effect is zero up to rounding


class RocCurve(NamedTuple):
    """A ROC curve from the strictest threshold to (1, 1), with ``N = d(d-1)/2``.

    Attributes
    ----------
    fpr, tpr : ndarray of shape (N + 1,)
        False and true positive rates.
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
    mixed = positive.any() and not positive.all()
    return float(roc_auc_score(positive, value)) if mixed else math.nan


def _ordered_pairs(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> tuple[Bools, Floats]:
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


@dataclass(frozen=True, eq=False, repr=False)
class EffectsStudy(Study):
    """The result of :func:`causal_effect_study`.

    Attributes
    ----------
    settings : dict
        The options of the study.
    simulations : tuple of Row
        In the order of their seeds: the graphs ``truth`` and ``found``, their scores
        ``true_score`` and ``score`` (both converged), the sizes ``n_true_class`` and ``n_class`` of
        their equivalence classes, ``complete`` if both classes were enumerated completely; ``auc``
        and ``n_positive`` of the paper's curve, ``ordinary_auc`` (NaN if no pair is positive);
        elapsed times ``search_seconds`` and ``effect_seconds``, and processor time ``cpu_seconds``.
    curves : tuple of RocCurve
        The curve of each simulation.
    seconds : float
        Elapsed time.
    complete : bool
        False if a time limit or an interrupt ended the study early.
    """

    _stem = "effects"

    settings: dict[str, Any]
    simulations: tuple[Row, ...]
    curves: tuple[RocCurve, ...]
    seconds: float
    complete: bool

    @property
    def rows(self) -> tuple[Row, ...]:
        """The simulations."""
        return self.simulations

    @property
    def aucs(self) -> Floats:
        """The paper's area, one for each simulation."""
        return np.array([curve.auc for curve in self.curves])

    @property
    def mean_auc(self) -> float:
        """The number that the paper reports."""
        return float(self.aucs.mean())

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers: the means, the mean curve, and all simulations."""
        rows, n = self.simulations, len(self.simulations)
        ordinary = [row.ordinary_auc for row in rows if not math.isnan(row.ordinary_auc)]
        return {
            "settings": self.settings,
            "mean_auc": self.mean_auc,
            "standard_error": float(self.aucs.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan,
            "mean_ordinary_auc": float(np.mean(ordinary)) if ordinary else math.nan,
            "at_least_true_score": sum(row.score >= row.true_score - 1e-9 for row in rows),
            "incomplete_classes": sum(not row.complete for row in rows),
            "complete": self.complete,
            "cpu_seconds": sum(row.cpu_seconds for row in rows),
            "seconds": self.seconds,
            "mean_curve": {
                name: np.mean([getattr(curve, name) for curve in self.curves], axis=0).tolist()
                for name in ("fpr", "tpr")
            },
            "simulations": self.records(),
        }

    def table_row(self) -> dict[str, str]:
        """Return the cells of the table by their headings."""
        found = self.to_dict()
        return {
            "mean AUC (s.e.)": f"{found['mean_auc']:.3f} ({found['standard_error']:.3f})",
            "ordinary AUC": f"{found['mean_ordinary_auc']:.3f}",
            "score at least the true graph's": (
                f"{found['at_least_true_score']} of {len(self.simulations)}"
            ),
            "CPU s": f"{found['cpu_seconds']:.0f}",
        }

    def table(self) -> str:
        """Return the mean areas, in Markdown."""
        row = self.table_row()
        return markdown_table(list(row), [list(row.values())])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw figure "simulation": one thin curve for each simulation, their mean in bold."""
        import matplotlib.pyplot as plt

        if ax is None:
            ax = plt.subplots(figsize=(4.4, 4.6), layout="constrained")[1]
        ax.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--")
        for curve in self.curves:
            ax.plot(curve.fpr, curve.tpr, color="#0072b2", lw=0.5, alpha=0.35)
        mean = self.to_dict()["mean_curve"]
        ax.plot(mean["fpr"], mean["tpr"], color="black", lw=2.5)
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
    effects: Literal["corrected", "as-published"] = "corrected",
    method: Method = "newton",
    max_iter: int | None = None,
    penalty: float = 1.0,
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
        Tolerance of the empirical equivalence classes: graphs of almost equal score (section 3.3).
    effects : {"corrected", "as-published"}
        Total effects ``(I - B)^-1``, or ``(I + B)^-1`` as in the authors' program.
    method, max_iter
        Fits of graphs: "newton" for converged fits, "ricf" with ``max_iter=10`` for the authors'.

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
    settings = {
        "d": d, "n": n, "max_in_degree": max_in_degree, "strategy": strategy, "restarts": restarts,
        "epsilon": epsilon, "effects": effects, "method": method, "max_iter": max_iter,
        "penalty": penalty,
    }  # fmt: skip
    check_choice("effects", effects, ("corrected", "as-published"))
    budget = Budget(rng, n_jobs, time_limit, progress, executor)
    return run_simulations(Protocol(settings), n_sims, budget)


def run_simulations(protocol: Protocol, n_sims: int, budget: Budget) -> EffectsStudy:
    """Run the simulations of a protocol."""
    for name, value in (("n_sims", n_sims), ("d", protocol.settings["d"])):
        check_count(name, value, 1)

    def gather(done: list[tuple[Row, RocCurve]]) -> EffectsStudy:
        settings = {"n_sims": n_sims, **protocol.settings}
        rows, curves = zip(*done, strict=True)
        return EffectsStudy(settings, rows, curves, budget.seconds, len(done) == n_sims)

    # Some of the thousands of fits have no certified maximum.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        study: EffectsStudy = simulate(
            protocol, budget.generator().spawn(n_sims), budget, what="simulations", gather=gather
        )
    return study


@dataclass(frozen=True)
class Protocol:
    """The steps of one simulation; ``benchmarks/study_protocols.py`` has variants of them."""

    settings: dict[str, Any]

    def __call__(self, stream: np.random.Generator, budget: Budget) -> tuple[Row, RocCurve]:
        """Draw a model and data, search, and compare the effects over both classes."""
        for_data, for_search = stream.spawn(2)
        p = SimpleNamespace(**self.settings)
        truth = random_bap(p.d, max_in_degree=p.max_in_degree, rng=for_data)
        data = self.data(random_sem(truth, rng=for_data), for_data)
        began, cpu_began = time.perf_counter(), time.thread_time()
        own = budget.for_task(for_search)
        result = self.search(truth, data, own)
        found = result.graph
        searched = time.perf_counter()
        true_class, found_class = self.class_of(truth, data), self.class_of(found, data)
        true_effects = self.minimal_effects(true_class, data)
        estimate = self.estimate(result, found_class, data, own)
        curve = paper_roc(true_effects, estimate)
        row = Row(
            auc=curve.auc,
            n_positive=curve.n_positive,
            truth=truth,
            found=found,
            true_score=score(truth, **data, penalty=p.penalty),
            score=score(found, **data, penalty=p.penalty),
            n_true_class=true_class.size,
            n_class=found_class.size,
            complete=true_class.complete and found_class.complete,
            ordinary_auc=ordinary_auc(true_effects, estimate),
            search_seconds=searched - began,
            effect_seconds=time.perf_counter() - searched,
            cpu_seconds=processor_seconds(cpu_began, result),
        )
        return row, curve

    @property
    def _fitting(self) -> dict[str, Any]:
        return {name: self.settings[name] for name in ("method", "max_iter")}

    def data(self, sem: LinearSEM, rng: np.random.Generator) -> dict[str, Any]:
        """Return the covariance matrix of a sample."""
        n = self.settings["n"]
        return {"cov": np.cov(sem.sample(n, rng=rng), rowvar=False), "n": n}

    def search(self, truth: MixedGraph, data: dict[str, Any], budget: Budget) -> Any:
        """Return the result of the search; it starts from sparse graphs, but is not limited."""
        p = SimpleNamespace(**self.settings)
        starts = None
        if p.strategy == "restart":
            size = 100 if p.restarts is None else p.restarts
            sparse = random_bap(p.d, max_in_degree=p.max_in_degree, size=size, rng=budget.rng)
            starts = [MixedGraph(truth.nodes), *sparse]
        return greedy_search(
            **data,
            **self._fitting,
            strategy=p.strategy,
            starts=starts,
            restarts=None if starts else p.restarts,
            penalty=p.penalty,
            rng=budget.rng,
            time_limit=budget.seconds_left,
        )

    def class_of(self, graph: MixedGraph, data: dict[str, Any]) -> EquivalenceClass:
        """Return the graphs of almost equal score."""
        epsilon = self.settings["epsilon"]
        return empirical_class(graph, **data, epsilon=epsilon, limit=CLASS_LIMIT, **self._fitting)

    def estimate(
        self, result: Any, members: EquivalenceClass, data: dict[str, Any], budget: Budget
    ) -> Floats:
        """Return the numbers that rank the pairs: the minimal effects over the class found."""
        return self.minimal_effects(members, data)

    def minimal_effects(self, members: EquivalenceClass, data: dict[str, Any]) -> Floats:
        """Return the minimal absolute effects over a class."""
        formula = self.settings["effects"]
        if self.settings["method"] == "newton":
            return effect_bounds(members, **data, formula=formula).min_abs
        S = DataOptions(**data).read(None, members.graph).S
        identity, sign = np.eye(len(S)), 1 if formula == "as-published" else -1
        least = np.full(identity.shape, np.inf)
        sweeps = ScoringRule(**self._fitting).sweeps
        for graph in members:
            fitted = _core.fit_graph(S, *graph._bits(), method="ricf", max_iter=sweeps)
            least = np.minimum(least, np.abs(np.linalg.inv(identity + sign * fitted.B)))
        return least
