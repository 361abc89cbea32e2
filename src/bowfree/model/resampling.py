"""The bootstrap of a given graph: its parameters and total effects on resampled rows.

The graph is fixed and only the fit is repeated. The spread of the estimates over bootstrap samples
is valid for data that are not normal, unlike standard errors from the information matrix. Intervals
are quantiles of the estimates, or quantiles at levels that are shifted by the fraction of estimates
below the original one (Efron's bias correction).

The chi-square test has its own bootstrap (Bollen and Stine): the rows are first transformed to have
exactly the fitted covariance matrix, ``Z = (X - mean) S^-1/2 Sigma^1/2``, so that the model holds in
the population that is resampled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree.data.covariance import check_definite, total_effect_matrix
from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.data.sample import CompleteRows
from bowfree.errors import BowfreeError, DataError, TimeIsUp
from bowfree.graph.graph_like import GraphLike
from bowfree.graph.names import EdgeLookup, node_index
from bowfree.graph.text import quote
from bowfree.model.context import context_of
from bowfree.model.fit_result import Fit
from bowfree.model.fitting import (
    fit_cells,
    fit_moments,
    fit_sample,
    warn_if_doubtful,
    warn_if_learned,
)
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import Correlation, Means, Missing, Rng, public
from bowfree.results.display import MOST_ROWS, Table, count, significant
from bowfree.results.frozen import Frozen
from bowfree.results.rows import Row, RowTable
from bowfree.results.serialization import ToDict
from bowfree.text_reading import short_repr
from bowfree.validation import check_choice, check_count, check_fraction

Floats = npt.NDArray[np.float64]
Interval = Literal["percentile", "bias-corrected"]


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapFit(RowTable, ToDict, EdgeLookup[Row], Frozen):
    """A given graph fitted to bootstrap samples; made by :func:`bowfree.bootstrap_fit`.

    Attributes
    ----------
    fit : Fit
        The fit to the data themselves.
    draws : ndarray of shape (samples, q)
        The parameters in each sample, in the order of ``fit.estimates()``.
    total_effects : ndarray of shape (samples, d, d)
        Total effects in each sample; ``[i, j]`` is the effect of j on i.
    chi2_draws : ndarray of shape (samples,)
        Chi-square on resampled rows in which the model holds; empty unless ``bollen_stine=True``.
    confidence : float
        Level of the intervals.
    interval : {"percentile", "bias-corrected"}
        Kind of the intervals.
    n_failed : int
        Samples without a certified fit, which are left out.
    complete : bool
        False if the time limit ended the computation early.
    """

    fit: Fit
    draws: Floats
    total_effects: Floats
    chi2_draws: Floats
    confidence: float
    interval: Interval
    n_failed: int
    complete: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.fit.graph.nodes

    @property
    def n_bootstrap(self) -> int:
        """Number of bootstrap samples with a certified fit."""
        return len(self.draws)

    @property
    def bollen_stine_p_value(self) -> float:
        """Fraction of samples, drawn where the model holds, with a chi-square as large as here.

        The data themselves count as one of the samples, so that it is positive. NaN unless
        ``bollen_stine=True``.
        """
        if not len(self.chi2_draws):
            return math.nan
        larger = int(np.count_nonzero(self.chi2_draws >= self.fit.chi2))
        return (larger + 1) / (len(self.chi2_draws) + 1)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The parameters, then the total effects, as in :meth:`to_frame`."""
        return (*self.estimates(), *self.effects())

    def estimates(self) -> tuple[Row, ...]:
        """Return a row for each parameter: regressions, covariances, variances.

        Each has ``a``, ``mark``, ``b`` (``"x", "->", "y"``; the mark of a variance is "variance"),
        ``estimate`` (on the data themselves), ``bias`` (mean over the samples minus the estimate),
        ``se`` (standard deviation over the samples), ``lower`` and ``upper`` (the interval).
        """
        return tuple(self._parameter(s) for s in range(self.draws.shape[1]))

    def _parameter(self, s: int) -> Row:
        kind, i, j = self.fit._parameters[s]
        a, b = self.names[i], self.names[j]
        edge = (b, "->", a) if kind == "B" else (a, "variance" if i == j else "<->", b)
        return self._row(edge, float(self.fit._values()[s]), self.draws[:, s])

    def _at_edge(self, i: int, mark: Literal["->", "<->"], j: int) -> Row:
        return self._parameter(self.fit._parameter_at(i, mark, j))

    def variance(self, name: str) -> Row:
        """Return the row of the error variance of one variable."""
        i = node_index(name, self.names)
        return self._parameter(self.fit._parameters.index(("Omega", i, i)))

    def effect(self, *, of: str, on: str) -> Row:
        """Return the total effect of one variable on another; its mark is "on"."""
        return self._effect(node_index(on, self.names), node_index(of, self.names))

    def _effect(self, i: int, j: int) -> Row:
        edge = (self.names[j], "on", self.names[i])
        return self._row(edge, float(self.fit._effects[i, j]), self.total_effects[:, i, j])

    def effects(self) -> tuple[Row, ...]:
        """Return the total effects of all variables on their descendants."""
        E, d = self.fit._effects, range(len(self.names))
        return tuple(self._effect(i, j) for j in d for i in d if i != j and E[i, j] != 0)

    def _row(self, edge: tuple[str, str, str], estimate: float, draws: Floats) -> Row:
        lower, upper = _interval(estimate, draws, self.confidence, self.interval)
        return Row(
            a=edge[0],
            mark=edge[1],
            b=edge[2],
            estimate=estimate,
            bias=float(draws.mean()) - estimate,
            se=float(draws.std(ddof=1)),
            lower=lower,
            upper=upper,
        )

    def _content(self) -> Any:
        own = ("n_bootstrap", "n_failed", "complete", "confidence", "interval")
        return {
            "graph": self.fit.graph,
            **{name: getattr(self, name) for name in own},
            "bollen_stine_p_value": self.bollen_stine_p_value,
            "estimates": self.estimates(),
            "total_effects": self.effects(),
        }

    def _headline(self) -> str:
        parameters = count(self.draws.shape[1], "parameter")
        return f"{parameters} of a given graph, {count(self.n_bootstrap, 'bootstrap sample')}"

    def _sections(self) -> Iterator[str | Table]:
        yield self._headline()
        effects = sorted(self.effects(), key=lambda row: -abs(row.estimate))
        numbers = ("estimate", "bias", "se", "lower", "upper")
        for what, rows in (("parameter", self.estimates()), ("total effect", effects)):
            cells = [
                (
                    f"var eps({quote(row.a)})"
                    if row.mark == "variance"
                    else f"{quote(row.a)} {row.mark} {quote(row.b)}",
                    *(significant(row[name], 4) for name in numbers),
                )
                for row in rows
            ]
            if cells:
                most = MOST_ROWS // 2 - 3
                yield Table((what, *numbers), cells, most=most, rest="more: to_frame() has all")
        yield f"intervals at {100 * self.confidence:g} %, {self.interval}"
        if len(self.chi2_draws):
            yield (
                f"Bollen-Stine p-value {self.bollen_stine_p_value:.4f} "
                f"(chi-square {self.fit.chi2:.3f} on {self.fit.df} df)"
            )
        if self.n_failed:
            yield f"{count(self.n_failed, 'sample')} without a certified fit left out"


@public
def bootstrap_fit(
    graph: GraphLike,
    data: Any = None,
    *,
    n_bootstrap: int = 1000,
    confidence: float = 0.95,
    interval: Interval = "percentile",
    bollen_stine: bool = False,
    shrinkage: float | Literal["auto"] = 0.0,
    missing: Missing | None = None,
    correlation: Correlation = "pearson",
    ordinal: Sequence[str] = (),
    weights: Any = None,
    means: Means = "free",
    rng: Rng = None,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> BootstrapFit:
    """Fit a given graph to bootstrap samples of the rows.

    Nothing is searched; :func:`bowfree.bootstrap` repeats a search instead.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A BAP. The result of a search or a fit brings its data.
    data : array_like of shape (n, d), data frame, Moments, or sequence of Condition, optional
        Observations in rows. Each of several conditions is resampled by itself.
    n_bootstrap : int
        Number of bootstrap samples. Both tails of an interval must hold a sample, so that 95 %
        requires at least 40.
    interval : {"percentile", "bias-corrected"}
        Kind of the intervals.
    bollen_stine : bool
        Also resample rows in which the model holds, for a p-value of chi-square.

    Returns
    -------
    BootstrapFit

    Raises
    ------
    WorkInterrupted
        On Ctrl-C; a :class:`KeyboardInterrupt` whose ``result`` has the samples that were done.
    BowfreeError
        Too few samples for the confidence level, or too few of them with a certified fit.
    DataError
        Data without rows, such as a covariance matrix.

    References
    ----------
    B. Efron and R. Tibshirani, An Introduction to the Bootstrap, 1993; K. Bollen and R. Stine,
    Bootstrapping goodness-of-fit measures in structural equation models, Sociological Methods &
    Research 21 (1992).

    Examples
    --------
    >>> import bowfree as bf
    >>> sem = bf.LinearSEM(bf.parse("x -> y"), [[0, 0], [0.5, 0]], [[1, 0], [0, 1]])
    >>> again = bf.bootstrap_fit(sem.graph, sem.sample(200, rng=2), n_bootstrap=200, rng=1)
    >>> again.edge("x -> y").lower < 0.5 < again.edge("x -> y").upper
    True
    """
    budget = Budget(rng, n_jobs, time_limit, progress, executor)
    check_choice("interval", interval, ("percentile", "bias-corrected"))
    confidence = check_fraction("confidence", confidence)
    if not isinstance(bollen_stine, bool):
        raise BowfreeError(f"bollen_stine = {short_repr(bollen_stine)}: must be True or False")
    check_count("n_bootstrap", n_bootstrap, 1)
    needed = math.ceil(2.0 / (1.0 - confidence) - 1e-9)
    if n_bootstrap < needed:
        raise BowfreeError(
            f"n_bootstrap = {n_bootstrap} is too few for intervals of level {confidence:g}: at "
            f"least {needed} are needed; raise n_bootstrap or lower confidence"
        )
    context = context_of(graph)
    options = DataOptions(
        shrinkage=shrinkage,
        missing=missing,
        correlation=correlation,
        ordinal=ordinal,
        weights=weights,
        means=means,
    )
    moments = context.read(data, options, bows=True)
    _require_rows(moments)
    if bollen_stine and not (isinstance(moments.sample, CompleteRows) and moments.plain):
        raise DataError("bollen_stine=True requires one table of complete rows without weights")
    fit = fit_sample(context.graph, moments, context.scoring_rule(), seconds=budget.seconds_left)
    warn_if_doubtful(fit.certificate)
    warn_if_learned(context, fit)
    under_model = _rows_under_model(fit) if bollen_stine else None
    seeds = budget.generator().integers(0, 2**63, size=n_bootstrap).tolist()
    own = budget.for_task(0)

    def gathered(done: list[_Sample | None]) -> BootstrapFit:
        finished = [one for one in done if one is not None]
        certified = [one.fit for one in finished if one.fit is not None]
        _check_certified(len(certified), len(finished))
        return BootstrapFit(
            fit,
            np.array([values for values, _ in certified]),
            np.array([total_effect_matrix(B) for _, B in certified]),
            np.array([one.chi2 for one in finished if not math.isnan(one.chi2)]),
            confidence,
            interval,
            len(finished) - len(certified),
            len(finished) == n_bootstrap,
        )

    result: BootstrapFit = budget.run(
        partial(_refit_sample, fit=fit, under_model=under_model),
        [(seed, own) for seed in seeds],
        what="resamples",
        gather=gathered,
    )
    return result


def resampled_parameters(fit: Fit, n_bootstrap: int, rng: np.random.Generator) -> Floats:
    """Return the parameters in each bootstrap sample, for standard errors; shape (samples, q)."""
    refits = [refit(fit, draw_rows(fit.moments, rng)) for _ in range(n_bootstrap)]
    certified = [again._values() for again in refits if again is not None]
    _check_certified(len(certified), n_bootstrap)
    return np.array(certified)


def draw_rows(moments: Moments, rng: np.random.Generator) -> Moments:
    """Return the moments of as many rows, drawn with replacement; each condition by itself."""
    if isinstance(moments, JointMoments):
        sizes = [round(condition.n) for condition in moments.conditions]
        return moments._of_rows([rng.integers(0, size, size=size) for size in sizes])
    sample = moments.sample
    assert sample is not None
    S, rows = sample.redrawn(rng.integers(0, sample.n_rows, size=sample.n_rows))
    return Moments._unchecked(moments.names, S, float(sample.n_rows), None, rows)


def refit(fit: Fit, moments: Moments, seconds: float | None = None) -> Fit | None:
    """Fit the graph of a fit to other moments; None if no maximum is certified."""
    if not isinstance(moments, JointMoments):
        check_definite(moments.names, moments.S, moments._n_distinct, fit.graph)
    again = fit_moments(fit.graph, moments, fit.rule, seconds=seconds)
    if fit.full_information:
        again = fit_cells(again)
    certified = again.converged and not again.diverging
    return again if certified or fit.method == "ricf" else None


@dataclass(frozen=True, eq=False)
class _Sample:
    """Results of one bootstrap sample: parameters, B, and chi-square under the model."""

    fit: tuple[Floats, Floats] | None
    chi2: float = math.nan


def _refit_sample(
    task: tuple[int, Budget], *, fit: Fit, under_model: Moments | None
) -> _Sample | None:
    """Fit one bootstrap sample, and the same rows under the model; None if time is up."""
    seed, budget = task

    def again(moments: Moments) -> Fit | None:
        try:
            drawn = draw_rows(moments, np.random.default_rng(seed))
            return refit(fit, drawn, budget.seconds_left)
        except DataError:  # too few distinct rows
            return None

    try:
        found = again(fit.moments)
        held = None if under_model is None else again(under_model)
    except TimeIsUp:
        return None
    parameters = None if found is None else (found._values(), found.B)
    return _Sample(parameters, math.nan if held is None else held.chi2)


def _require_rows(moments: Moments) -> None:
    rows = (
        all(condition.deviations is not None for condition in moments.conditions)
        if isinstance(moments, JointMoments)
        else moments.sample is not None
    )
    if not rows:
        raise DataError(
            "the bootstrap needs the rows themselves, in every condition, and a covariance matrix "
            "has none; pass the observations as `data`"
        )


def _check_certified(certified: int, finished: int) -> None:
    if 2 * certified < finished or not certified:
        raise BowfreeError(
            f"{finished - certified} of {finished} bootstrap samples have no certified fit: too "
            "few rows for this graph, or too little time; use more rows or fewer edges, or raise "
            "time_limit"
        )


def _rows_under_model(fit: Fit) -> Moments:
    """Return the rows, transformed so that their covariance matrix is the fitted one."""
    sample = fit.moments.sample
    assert isinstance(sample, CompleteRows)
    sd = np.sqrt(fit.S.diagonal())  # roots of correlation matrices do not depend on units
    scale = np.outer(sd, sd)
    turned = (sample.deviations / sd) @ _power(fit.S / scale, -0.5) @ _power(fit.Sigma / scale, 0.5)
    rows, _ = CompleteRows.of(turned * sd)
    return Moments._unchecked(fit.graph.nodes, rows.covariance(), fit.n, None, rows)


def _power(C: Floats, power: float) -> Floats:
    eigenvalues, vectors = np.linalg.eigh(C)
    result: Floats = (vectors * eigenvalues**power) @ vectors.T
    return result


def _interval(
    estimate: float, draws: Floats, confidence: float, kind: Interval
) -> tuple[float, float]:
    levels = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if kind == "bias-corrected":
        from scipy.special import ndtr, ndtri

        # At most all but half a sample, because an infinite shift would leave no interval.
        edge = 0.5 / len(draws)
        share = np.clip(np.mean(draws < estimate), edge, 1 - edge)
        levels = ndtr(2 * ndtri(share) + ndtri(levels))
    lower, upper = np.quantile(draws, levels)
    return float(lower), float(upper)
