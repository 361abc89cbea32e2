"""The bootstrap of a given graph: estimates and total effects on resampled rows.

No search is repeated here, only the fit; the graph is taken for granted. The spread of the
estimates over resamples needs no normal errors, unlike standard errors from the information. Two
kinds of intervals: quantiles of the resampled estimates, and the same at levels that are shifted by
the share of estimates below the original one (Efron's bias correction).

The p-value of chi-square has its own bootstrap, after Bollen and Stine: the rows are first made to
have exactly the fitted covariance matrix, ``Z = (X - mean) S^-1/2 Sigma^1/2``, so that the model
holds in what is resampled.

:func:`bowfree.bootstrap` leads here when it is given a graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from bowfree.data.conditions import are_conditions, listed_conditions
from bowfree.data.frames import read_observations
from bowfree.data.joint_moments import JointMoments
from bowfree.data.loader import read_moments
from bowfree.data.moments import Moments
from bowfree.errors import BowfreeError, DataError, TimeIsUp
from bowfree.graph.encodings import members
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.names import EdgeLookup, node_index
from bowfree.graph.text import quote
from bowfree.model.fit_result import Fit
from bowfree.model.fitting import fit_moments, warn_if_doubtful
from bowfree.parallel.budget import Budget
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count, number
from bowfree.results.frames import data_frame
from bowfree.results.frozen import Frozen
from bowfree.results.serialization import ToDict
from bowfree.text_reading import short_repr
from bowfree.uncertainty.repeated_searches import JointRows
from bowfree.validation import check_choice, check_count, check_fraction

Floats = npt.NDArray[np.float64]
Interval = Literal["percentile", "bias-corrected"]

N_RESAMPLES = 1000


class ModelBootstrapOptions(TypedDict, total=False):
    """What the bootstrap of a given graph has of its own.

    Attributes
    ----------
    interval : {"percentile", "bias-corrected"}
        How the intervals are made.
    bollen_stine : bool
        Also resample rows in which the model holds, for the p-value of chi-square.
    """

    interval: Interval
    bollen_stine: bool


@dataclass(frozen=True, repr=False)
class ResampledEstimate(TextDisplay, ToDict):
    """One parameter or total effect, over resamples.

    Attributes
    ----------
    a, mark, b : str
        ``"x", "->", "y"``, ``"x", "<->", "y"``; of a variance the mark is "variance" and both ends
        are the variable; of a total effect the mark is "on": a on b.
    estimate : float
        On the data themselves.
    bias : float
        Mean over the resamples minus the estimate.
    se : float
        Standard deviation over the resamples.
    lower, upper : float
        The interval.
    """

    a: str
    mark: str
    b: str
    estimate: float
    bias: float
    se: float
    lower: float
    upper: float

    @property
    def text(self) -> str:
        """The parameter, as in tables."""
        a, b = quote(self.a), quote(self.b)
        return f"var eps({a})" if self.mark == "variance" else f"{a} {self.mark} {b}"

    def _headline(self) -> str:
        return (
            f"{self.text}: {self.estimate:.4f}, {self.lower:.4f} to {self.upper:.4f} "
            f"(s.e. {self.se:.4f})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class ModelBootstrap(TextDisplay, ToDict, EdgeLookup[ResampledEstimate], Frozen):
    """A given graph fitted to resampled rows; made by :func:`bowfree.bootstrap`.

    Attributes
    ----------
    fit : Fit
        The fit to the data themselves.
    draws : ndarray of shape (resamples, q)
        The parameters in each resample, in the order of ``fit.estimates()``.
    total_effects : ndarray of shape (resamples, d, d)
        Total effects in each resample; ``[i, j]`` is the effect of j on i.
    chi2_draws : ndarray of shape (resamples,)
        Chi-square on resamples of rows in which the model holds; empty unless asked for.
    confidence : float
        Level of the intervals.
    interval : {"percentile", "bias-corrected"}
        How they were made.
    n_failed : int
        Resamples without a certified fit, which are left out.
    complete : bool
        False when the time was up before all resamples were done.
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
    def n_resamples(self) -> int:
        """Number of resamples that are counted."""
        return len(self.draws)

    @property
    def bollen_stine_p_value(self) -> float:
        """Share of the resamples in which the model holds with a chi-square as large as here.

        The data themselves count as one of them, so that it is never zero; NaN unless asked for.
        """
        if not len(self.chi2_draws):
            return math.nan
        larger = int(np.count_nonzero(self.chi2_draws >= self.fit.chi2))
        return (larger + 1) / (len(self.chi2_draws) + 1)

    def estimates(self) -> tuple[ResampledEstimate, ...]:
        """Return all parameters: regressions, covariances, variances."""
        return tuple(
            self._entry(e.edge, e.estimate, self.draws[:, s])
            for s, e in enumerate(self.fit.estimates())
        )

    def _at_edge(self, i: int, mark: str, j: int) -> ResampledEstimate:
        wanted = self.fit.edge(self.names[i], mark, self.names[j]).edge
        return next(e for e in self.estimates() if (e.a, e.mark, e.b) == wanted)

    def variance(self, name: str) -> ResampledEstimate:
        """Return the error variance of one variable."""
        ends = (self.names[node_index(name, self.names)], "variance", name)
        return next(e for e in self.estimates() if (e.a, e.mark, e.b) == ends)

    def effect(self, *, of: str, on: str) -> ResampledEstimate:
        """Return the total effect of one variable on another."""
        i, j = node_index(on, self.names), node_index(of, self.names)
        estimate = float(self.fit.total_effects().estimate[i, j])
        return self._entry((of, "on", on), estimate, self.total_effects[:, i, j])

    def effects(self) -> tuple[ResampledEstimate, ...]:
        """Return the total effects of all variables on their descendants."""
        estimate = self.fit.total_effects().estimate
        return tuple(
            self._entry(
                (self.names[j], "on", self.names[i]),
                float(estimate[i, j]),
                self.total_effects[:, i, j],
            )
            for j in range(len(self.names))
            for i in range(len(self.names))
            if i != j and estimate[i, j] != 0
        )

    def _entry(
        self, ends: tuple[str, str, str], estimate: float, draws: Floats
    ) -> ResampledEstimate:
        lower, upper = _interval(estimate, draws, self.confidence, self.interval)
        return ResampledEstimate(
            *ends, estimate, float(draws.mean()) - estimate, float(draws.std(ddof=1)), lower, upper
        )

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each parameter, then one for each total effect.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns a, mark, b, estimate, bias, se, lower, upper; the mark of a total effect is
            "on".
        """
        rows = (*self.estimates(), *self.effects())
        columns = tuple(ResampledEstimate.__dataclass_fields__)
        return data_frame({c: [getattr(row, c) for row in rows] for c in columns}, backend)

    def _content(self) -> Any:
        own = ("n_resamples", "n_failed", "complete", "confidence", "interval")
        return {
            "graph": self.fit.graph,
            **{name: getattr(self, name) for name in own},
            "bollen_stine_p_value": self.bollen_stine_p_value,
            "estimates": self.estimates(),
            "total_effects": self.effects(),
        }

    def _headline(self) -> str:
        parameters = count(self.draws.shape[1], "parameter")
        return f"{parameters} of a given graph, {count(self.n_resamples, 'resample')}"

    def _sections(self) -> Iterator[str | Table]:
        yield f"bootstrap of {self._headline()}"
        level = f"{100 * self.confidence:g} %"
        headings = ("", "estimate", "bias", "s.e.", "lower", "upper")
        parameters = self.estimates()
        effects = sorted(self.effects(), key=lambda e: -abs(e.estimate))
        for what, entries in (("parameter", parameters), ("total effect", effects)):
            rows = [
                (e.text, *(number(x, 4) for x in (e.estimate, e.bias, e.se, e.lower, e.upper)))
                for e in entries
            ]
            if rows:
                most = MOST_ROWS // 2 - 3
                yield Table((what, *headings[1:]), rows, most=most, rest="more: to_frame() has all")
        yield f"intervals at {level}, {self.interval}"
        if len(self.chi2_draws):
            yield (
                f"Bollen-Stine p-value {self.bollen_stine_p_value:.4f} "
                f"(chi-square {self.fit.chi2:.3f} on {self.fit.df} df)"
            )
        if self.n_failed:
            yield f"{count(self.n_failed, 'resample')} without a certified fit left out"


def bootstrap_model(
    graph: GraphLike,
    data: Any,
    budget: Budget,
    *,
    n_resamples: int | None = None,
    confidence: float = 0.95,
    interval: Interval = "percentile",
    bollen_stine: bool = False,
) -> ModelBootstrap:
    """Fit a given graph to resampled rows; what :func:`bowfree.bootstrap` does with a graph.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y")
    >>> sem = bf.LinearSEM(g, [[0, 0], [0.5, 0]], [[1, 0], [0, 1]])
    >>> again = bf.bootstrap(g, sem.sample(200, rng=2), n_resamples=200, rng=1)
    >>> again.edge("x -> y").lower < 0.5 < again.edge("x -> y").upper
    True
    """
    check_choice("interval", interval, ("percentile", "bias-corrected"))
    confidence = check_fraction("confidence", confidence)
    if not isinstance(bollen_stine, bool):
        raise BowfreeError(f"bollen_stine = {short_repr(bollen_stine)}: must be True or False")
    planned = N_RESAMPLES if n_resamples is None else check_count("n_resamples", n_resamples, 1)
    _check_level(planned, confidence)
    bap = graph_of(graph)
    several = isinstance(data, JointMoments) or are_conditions(data)
    if data is None or (isinstance(data, Moments) and not several):
        raise DataError(
            "observations are missing: resampling needs the rows themselves, not a covariance "
            "matrix; give bootstrap(graph, data)"
        )
    moments = read_moments(data, graph=bap)
    fit = fit_moments(bap, moments, seconds=budget.seconds_left)
    warn_if_doubtful(fit.certificate)
    seeds = budget.generator().integers(0, 2**63, size=planned).tolist()
    task: partial[_Resample | None]
    if isinstance(moments, JointMoments):
        if bollen_stine:
            raise DataError("bollen_stine is for one table of rows, not for several conditions")
        rows = JointRows.of_conditions(moments)
        task = partial(_resample_conditions, fit=fit, reach=_reach(bap), rows=rows)
    else:
        table = listed_conditions(data)[0].data if are_conditions(data) else data
        _, X = read_observations(table, bap, "data")
        where = _model_holds(X, fit) if bollen_stine else None
        task = partial(_resample, fit=fit, reach=_reach(bap), X=X, where_it_holds=where)

    def gathered(done: list[_Resample | None]) -> ModelBootstrap:
        whole = [one for one in done if one is not None]
        certified = [one for one in whole if one.certified]
        if 2 * len(certified) < len(whole) or not certified:
            raise BowfreeError(
                f"{len(whole) - len(certified)} of {len(whole)} resamples have no certified fit: "
                "too few rows for this graph, or no time; use more rows or fewer edges, or raise "
                "time_limit"
            )
        return ModelBootstrap(
            fit,
            np.array([one.draws for one in certified]),
            np.array([one.effects for one in certified]),
            np.array([one.chi2 for one in whole if not math.isnan(one.chi2)]),
            confidence,
            interval,
            len(whole) - len(certified),
            len(whole) == planned,
        )

    own = budget.piece(0)
    result: ModelBootstrap = budget.run(
        task, [(seed, own) for seed in seeds], what="resamples", gather=gathered
    )
    return result


def _check_level(n_resamples: int, confidence: float) -> None:
    needed = math.ceil(2.0 / (1.0 - confidence) - 1e-9)
    if n_resamples < needed:
        raise BowfreeError(
            f"n_resamples = {n_resamples} is too few for intervals of level {confidence:g}: at "
            f"least {needed} are needed; raise n_resamples or lower confidence"
        )


@dataclass(frozen=True, eq=False)
class _Resample:
    """What is kept of one resample: numbers, since a thousand fits would fill the memory."""

    draws: Floats
    effects: Floats
    chi2: float = math.nan

    @property
    def certified(self) -> bool:
        return len(self.draws) > 0

    @classmethod
    def of(cls, again: Fit | None, fit: Fit, reach: npt.NDArray[np.bool_]) -> _Resample:
        if again is None:
            return cls(np.empty(0), np.empty(0))
        values = [(again.B if k == "B" else again.Omega)[i, j] for k, i, j in fit._parameters]
        effects = np.linalg.inv(np.eye(len(again.B)) - again.B)
        # Where no directed path leads the effect is an exact zero, whatever rounding says.
        return cls(np.array(values), np.where(reach, effects, 0.0))


def _resample(
    piece: tuple[int, Budget],
    *,
    fit: Fit,
    reach: npt.NDArray[np.bool_],
    X: Floats,
    where_it_holds: Floats | None,
) -> _Resample | None:
    """Fit one resample, and for chi-square the same rows of where the model holds.

    None when the time was up.
    """
    seed, budget = piece
    drawn = np.random.default_rng(seed).integers(0, len(X), size=len(X))

    def again(rows: Floats) -> Fit | None:
        return _certified(fit.graph, lambda: read_moments(rows[drawn], graph=fit.graph), budget)

    try:
        found = _Resample.of(again(X), fit, reach)
        if where_it_holds is None:
            return found
        held = again(where_it_holds)
    except TimeIsUp:
        return None
    return found if held is None else replace(found, chi2=held.chi2)


def _resample_conditions(
    piece: tuple[int, Budget], *, fit: Fit, reach: npt.NDArray[np.bool_], rows: JointRows
) -> _Resample | None:
    """Fit one resample of each condition; None when the time was up."""
    seed, budget = piece
    drawn = rows.draw(np.random.default_rng(seed))
    try:
        again = _certified(fit.graph, lambda: rows.moments(drawn), budget)
    except TimeIsUp:
        return None
    return _Resample.of(again, fit, reach)


def _certified(graph: MixedGraph, read: Callable[[], Moments], budget: Budget) -> Fit | None:
    try:
        fit = fit_moments(graph, read(), seconds=budget.seconds_left)
    except DataError:  # too few different rows
        return None
    return fit if fit.converged and not fit.diverging else None


def _reach(graph: MixedGraph) -> npt.NDArray[np.bool_]:
    """Return, at [i, j], whether a directed path leads from j to i, or they are the same."""
    reach = np.eye(len(graph), dtype=bool)
    for name in graph.topological_order():
        v = graph._node(name)
        for parent in members(graph._parents[v]):
            reach[v] |= reach[parent]
    return reach


def _model_holds(X: Floats, fit: Fit) -> Floats:
    """Return the rows, turned so that their covariance matrix is the fitted one."""
    turned: Floats = (X - X.mean(axis=0)) @ _root(fit.S, -0.5) @ _root(fit.Sigma, 0.5)
    return turned


def _root(C: Floats, power: float) -> Floats:
    eigenvalues, vectors = np.linalg.eigh(C)
    root: Floats = (vectors * eigenvalues**power) @ vectors.T
    return root


def _interval(
    estimate: float, draws: Floats, confidence: float, kind: Interval
) -> tuple[float, float]:
    levels = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if kind == "bias-corrected":
        from scipy.special import ndtr, ndtri

        # At most all but half a resample: an infinite shift would leave no interval.
        edge = 0.5 / len(draws)
        share = np.clip(np.mean(draws < estimate), edge, 1 - edge)
        levels = ndtr(2 * ndtri(share) + ndtri(levels))
    lower, upper = np.quantile(draws, levels)
    return float(lower), float(upper)
