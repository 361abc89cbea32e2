"""The bootstrap of a given graph: its parameters and total effects on resampled rows.

The graph is fixed and only the fit is repeated. The spread of the estimates over bootstrap samples
is valid for data that are not normal, unlike standard errors from the information matrix.
``fit(se="bootstrap")`` and :func:`bootstrap_fit` are the same computation; intervals are those of
:class:`~bowfree.model.inference.Resamples`.

The chi-square test has its own bootstrap (Bollen and Stine): the rows are first transformed to have
exactly the fitted covariance matrix, ``Z = (X - mean) S^-1/2 Sigma^1/2`` at unit variances, so that
the model holds in the population that is resampled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, get_args

import numpy as np

from bowfree.data.covariance import check_definite
from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.data.sample import CompleteRows, Floats, Indices
from bowfree.errors import BowfreeError, DataError, TimeIsUp
from bowfree.graph.mixed_graph import GraphLike
from bowfree.graph.names import EdgeLookup, node_index
from bowfree.model.certificates import warn_if_doubtful
from bowfree.model.constraints import fit_constrained
from bowfree.model.context import context_of
from bowfree.model.effect_tables import TotalEffects, effect_pairs
from bowfree.model.fit_result import Fit
from bowfree.model.fitting import fit_cells, fit_moments, fit_sample, warn_if_learned
from bowfree.model.inference import Resamples, edge_label
from bowfree.model.nongaussian import fit_errors
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import Correlation, Interval, Means, Missing, Rng, public
from bowfree.results.display import MOST_ROWS, Table, count, significant
from bowfree.results.frozen import Frozen
from bowfree.results.rows import Row, RowTable
from bowfree.results.serialization import ToDict
from bowfree.text_reading import short_repr
from bowfree.validation import check_choice, check_count, check_fraction

# Largest number of groups of rows that the jackknife of interval="bca" leaves out in turn.
_JACKKNIFE_GROUPS = 500


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapFit(RowTable, ToDict, EdgeLookup[Row], Frozen):
    """A given graph fitted to bootstrap samples; made by :func:`bowfree.bootstrap_fit`.

    Attributes
    ----------
    fit : Fit
        The fit to the data themselves, whose standard errors and intervals are those of the
        bootstrap.
    chi2_draws : ndarray of shape (samples,)
        Chi-square on resampled rows in which the model holds; empty unless ``bollen_stine=True``.
    confidence : float
        Level of the intervals.
    n_failed : int
        Samples without a certified fit, which are left out.
    complete : bool
        False if the time limit ended the computation early.
    """

    fit: Fit
    chi2_draws: Floats
    confidence: float
    n_failed: int
    complete: bool

    @property
    def _resamples(self) -> Resamples:
        assert self.fit.resamples is not None
        return self.fit.resamples

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.fit.graph.nodes

    @property
    def draws(self) -> Floats:
        """The parameters in each sample, in the order of ``fit.estimates()``."""
        return self._resamples.draws

    @property
    def interval(self) -> Interval:
        """Kind of the intervals."""
        return self._resamples.interval

    @property
    def n_bootstrap(self) -> int:
        """Number of bootstrap samples with a certified fit."""
        return len(self.draws)

    @cached_property
    def _effects(self) -> TotalEffects:
        return self.fit.total_effects()

    @property
    def total_effects(self) -> Floats:
        """Total effects in each sample, (samples, d, d); ``[i, j]`` is the effect of j on i."""
        assert self._effects.resamples is not None
        return self._effects.resamples.draws.reshape(-1, len(self.names), len(self.names))

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
        return self._estimates

    @cached_property
    def _estimates(self) -> tuple[Row, ...]:
        rows = self.fit.estimates(confidence=self.confidence)
        means = self.draws.mean(axis=0).tolist()
        return tuple(_row(row.edge, row, mean) for row, mean in zip(rows, means, strict=True))

    def _at_edge(self, i: int, mark: Literal["->", "<->"], j: int) -> Row:
        return self._estimates[self.fit._parameter_at(i, mark, j)]

    def variance(self, name: str) -> Row:
        """Return the row of the error variance of one variable."""
        i = node_index(name, self.names)
        return self._estimates[self.fit._parameters.index(("Omega", i, i))]

    def effect(self, *, of: str, on: str) -> Row:
        """Return the total effect of one variable on another; its mark is "on"."""
        return self._effect_rows([(node_index(on, self.names), node_index(of, self.names))])[0]

    def effects(self) -> tuple[Row, ...]:
        """Return the total effects of all variables on their descendants."""
        return self._effect_rows(effect_pairs(self.fit._effects != 0))

    def _effect_rows(self, pairs: Sequence[tuple[int, int]]) -> tuple[Row, ...]:
        matrices = self._effects._matrices(self.confidence)
        means, names = self.total_effects.mean(axis=0).tolist(), self.names
        rows = []
        for i, j in pairs:
            numbers = {name: float(matrix[i, j]) for name, matrix in matrices.items()}
            rows.append(_row((names[j], "on", names[i]), numbers, means[i][j]))
        return tuple(rows)

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
                (edge_label(row.a, row.mark, row.b), *(significant(row[k], 4) for k in numbers))
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


def _row(edge: tuple[str, str, str], row: Mapping[str, float], mean: float) -> Row:
    numbers = {"estimate": row["estimate"], "bias": mean - row["estimate"]}
    numbers |= {name: row[name] for name in ("se", "lower", "upper")}
    return Row(**dict(zip(("a", "mark", "b"), edge, strict=True)), **numbers)


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
    bollen_stine : bool
        Also resample rows in which the model holds, for a p-value of chi-square.

    Returns
    -------
    BootstrapFit

    Raises
    ------
    WorkInterrupted
        On Ctrl-C; a :class:`KeyboardInterrupt` whose ``result`` has the samples that were done.

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
        None, None, 1, shrinkage, missing, correlation, ordinal, weights, means
    )  # fmt: skip
    moments = context.read(data, options, bows=True, constrained=True)
    parts = moments.conditions if isinstance(moments, JointMoments) else ()
    if any(part.deviations is None for part in parts) or not (parts or moments.sample):
        raise DataError(
            "the bootstrap needs the rows themselves, in every condition, and a covariance matrix "
            "has none; pass the observations as `data`"
        )
    if bollen_stine and not (isinstance(moments.sample, CompleteRows) and moments.plain):
        raise DataError("bollen_stine=True requires one table of complete rows without weights")
    fit = fit_sample(context.graph, moments, context.scoring_rule(), seconds=budget.seconds_left)
    if context.constraints is not None:
        fit = fit_constrained(fit, context.constraints)
    warn_if_doubtful(fit.certificate)
    warn_if_learned(context, fit)
    return resample_fit(fit, n_bootstrap, interval, budget, confidence, bollen_stine)


def resample_fit(
    fit: Fit,
    n_bootstrap: int,
    interval: Interval,
    budget: Budget,
    confidence: float = 0.95,
    bollen_stine: bool = False,
) -> BootstrapFit:
    """Repeat a fit on bootstrap samples of its rows."""
    check_choice("interval", interval, get_args(Interval))
    under_model = _rows_under_model(fit) if bollen_stine else None
    seeds = budget.generator().integers(0, 2**63, size=n_bootstrap).tolist()
    own = budget.for_task(0)
    jackknife = _jackknife(fit) if interval == "bca" else None

    def gathered(done: list[tuple[Floats | None, float] | None]) -> BootstrapFit:
        finished = [one for one in done if one is not None]
        certified = [values for values, _ in finished if values is not None]
        n_failed = len(finished) - len(certified)
        if n_failed > len(certified) or not certified:
            raise BowfreeError(
                f"{n_failed} of {len(finished)} bootstrap samples have no certified fit: too few "
                "rows for this graph, or too little time; use more rows or fewer edges, or raise "
                "time_limit"
            )
        resamples = Resamples(np.array(certified), interval, jackknife)
        return BootstrapFit(
            replace(fit, se="bootstrap", resamples=resamples),
            np.array([chi2 for _, chi2 in finished if not math.isnan(chi2)]),
            confidence,
            n_failed,
            len(finished) == n_bootstrap,
        )

    result: BootstrapFit = budget.run(
        partial(_refit_sample, fit=fit, under_model=under_model),
        [(seed, own) for seed in seeds],
        what="resamples",
        gather=gathered,
    )
    return result


def take_rows(moments: Moments, choose: Callable[[int], Indices]) -> Moments:
    """Return the moments of some rows, or of whole clusters; `choose` returns their numbers."""
    if isinstance(moments, JointMoments):
        return moments._of_rows([choose(round(condition.n)) for condition in moments.conditions])
    assert moments.sample is not None
    clusters = getattr(moments.sample, "clusters", None)
    if clusters is None:
        chosen = choose(moments.sample.n_rows)
    else:
        order = np.argsort(clusters, kind="stable")
        members = np.split(order, np.cumsum(np.bincount(clusters))[:-1])
        chosen = np.concatenate([members[k] for k in choose(len(members))])
    S, rows = moments.sample.redrawn(chosen)
    return Moments._unchecked(moments.names, S, float(rows.n_rows), None, rows)


def refit(fit: Fit, moments: Moments, seconds: float | None = None) -> Fit | None:
    """Fit the graph of a fit to other moments; None if no maximum is certified."""
    try:
        if not isinstance(moments, JointMoments):
            check_definite(moments.names, moments.S, moments._n_distinct, fit.graph)
        again = fit_moments(fit.graph, moments, fit.rule, seconds=seconds)
    except DataError:  # too few distinct rows
        return None
    if fit.full_information:
        again = fit_cells(again)
    if fit.error_estimates is not None:
        improved = fit_errors(again)
        if improved is None:
            return None
        again = improved
    if fit.constraints is not None:
        again = fit_constrained(again, fit.constraints)
    certified = again.converged and not again.diverging
    return again if certified or fit.method == "ricf" else None


def _jackknife(fit: Fit) -> Floats:
    """Return the parameters without one group of rows each; up to 500 rows are left out singly."""
    clusters = getattr(fit.moments.sample, "clusters", None)
    groups = min(round(fit.n) if clusters is None else clusters.max() + 1, _JACKKNIFE_GROUPS)

    def without(k: int) -> Fit | None:
        return refit(
            fit, take_rows(fit.moments, lambda n: np.flatnonzero(np.arange(n) % groups != k))
        )

    return np.array([part._values() for part in map(without, range(groups)) if part is not None])


def _refit_sample(
    task: tuple[int, Budget], *, fit: Fit, under_model: Moments | None
) -> tuple[Floats | None, float] | None:
    """Return parameters of a bootstrap sample, and chi-square under the model; None if late."""
    seed, budget = task

    def again(moments: Moments) -> Fit | None:
        rng = np.random.default_rng(seed)
        drawn = take_rows(moments, lambda n: rng.integers(0, n, size=n))
        return refit(fit, drawn, budget.seconds_left)

    try:
        found = again(fit.moments)
        held = None if under_model is None else again(under_model)
    except TimeIsUp:
        return None
    return None if found is None else found._values(), math.nan if held is None else held.chi2


def _rows_under_model(fit: Fit) -> Moments:
    """Return the rows, transformed so that their covariance matrix is the fitted one."""
    sample = fit.moments.sample
    assert isinstance(sample, CompleteRows)
    scale = np.sqrt(np.diag(fit.S))  # roots of the covariances themselves would depend on units
    turned = sample.deviations / scale
    for C, power in ((fit.S, -0.5), (fit.Sigma, 0.5)):
        eigenvalues, vectors = np.linalg.eigh(C / np.outer(scale, scale))
        turned = turned @ ((vectors * eigenvalues**power) @ vectors.T)
    rows, _ = CompleteRows.of(turned * scale)
    return Moments._unchecked(fit.graph.nodes, rows.covariance(), fit.n, None, rows)
