"""A causal model's honest test: to foresee an experiment that it has not seen.

Each condition is left out in turn. The graph is learned from the others, or given, and fitted to
them; what it then expects in the condition left out is compared with what was measured there. A
graph-free forecast stands beside it: that the condition is like the others, taken together.

What an intervention has to itself is known only once it was made: how a set variable varies, the
new coefficients of a mechanism or an activity, a new error variance. So the variables are taken one
after the other, each given those before it, and those count whose distribution depends on shared
parameters only. In the order of the graph that of v is a matter of its district D among v and the
variables before it, of rows D of B and Omega and of no other row:

    x -> t -> y,  t <-> z,  noise at t       order x, z, t, y:  x and z given x are foreseen, t is
                                             not, y given x, z and t is again

Targets that were set come first, and all others are foreseen given them. Else whatever is foreseen
goes before what is not, as far as the graph lets it.

Where a target was set, its measured total effect on another variable is a plain regression, because
nothing else acts on both. The effects that the model foresees are compared with these. Where an
intervention leaves what acts on its target, no regression says what the target does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.data.joint_moments import ConditionMoments, JointMoments
from bowfree.data.options import DataOptions
from bowfree.errors import DataError
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.context import ScoringRule
from bowfree.model.fitting import fit_moments
from bowfree.model.joint_fit import condition_model, cut_graph
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import Penalty, Rng, public
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count, number
from bowfree.results.rows import data_frame
from bowfree.results.serialization import ToDict
from bowfree.search.plan import Strategy, StrategyName
from bowfree.text_reading import short_repr
from bowfree.uncertainty.repeated_searches import RepeatedSearch, work_limit_note

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class ForeseenEffect(TextDisplay, ToDict):
    """The total effect of a target, as the other conditions foresee it and as it was measured.

    Attributes
    ----------
    condition : str
        The condition left out.
    of, on : str
        The target, and another variable.
    foreseen : float
        Total effect in the fit to the other conditions.
    measured : float
        Slope of the regression in the condition left out.
    se : float
        Standard error of that slope.
    """

    condition: str
    of: str
    on: str
    foreseen: float
    measured: float
    se: float

    def _headline(self) -> str:
        return (
            f"{self.of} on {self.on} in {self.condition}: foreseen {self.foreseen:.3f}, measured "
            f"{self.measured:.3f} (s.e. {self.se:.3f})"
        )


@dataclass(frozen=True, repr=False)
class LeftOutCondition(TextDisplay, ToDict):
    """How well one condition is foreseen by the others.

    Attributes
    ----------
    name : str
        The condition left out.
    n : float
        Its number of observations.
    targets : tuple of str
        Its targets.
    graph : MixedGraph
        The graph that was learned from the others, or given.
    loglik : float
        Log-likelihood per observation of the variables that can be foreseen, each given those
        before it, under the fit to the others. What the condition has to itself is not foreseen,
        and left out.
    loglik_pooled : float
        The same under the covariance matrix of the others together, without a graph.
    loglik_own : float
        The same under its own covariance matrix: no forecast can be better. NaN where the condition
        has no more rows than variables, or this matrix is singular.
    foreseen : tuple of str
        The variables that can be foreseen, in the order in which they were: all but the targets
        where these were set, fewer where parameters are the condition's own.
    """

    name: str
    n: float
    targets: tuple[str, ...]
    graph: MixedGraph
    loglik: float
    loglik_pooled: float
    loglik_own: float
    foreseen: tuple[str, ...]

    @property
    def explained(self) -> float:
        """Share of the way from the graph-free forecast to the best: 1 is perfect, 0 no better.

        NaN where the graph-free forecast is the best already.
        """
        way = self.loglik_own - self.loglik_pooled
        return (self.loglik - self.loglik_pooled) / way if way else math.nan

    def _headline(self) -> str:
        told = f", targets {', '.join(self.targets)}" if self.targets else ""
        return (
            f"{self.name}{told}: {self.loglik:.4f} per observation, {self.loglik_pooled:.4f} "
            f"without a graph, {self.loglik_own:.4f} at best"
        )


@dataclass(frozen=True, repr=False)
class LeftOutConditions(TextDisplay, ToDict):
    """How well each condition is foreseen by the others; made by :func:`leave_out_conditions`.

    Attributes
    ----------
    conditions : tuple of LeftOutCondition
        One for each condition that could be left out.
    effects : tuple of ForeseenEffect
        Total effects of all targets that were set, and vary.
    skipped : tuple of str
        Conditions that cannot be left out: only there some variable is left alone, the others have
        too few rows, or nothing is foreseen because the intervention changes all of it.
    n_hit_work_limit : int
        Searches behind `conditions` that ended when the work set aside for each was done; usually
        none.
    complete : bool
        False when time was up before all were done.
    """

    conditions: tuple[LeftOutCondition, ...]
    effects: tuple[ForeseenEffect, ...]
    skipped: tuple[str, ...]
    n_hit_work_limit: int
    complete: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """What was cut short, in sentences."""
        found = []
        if not self.complete:
            found.append(f"NOT COMPLETE: ended after {count(len(self.conditions), 'condition')}")
        if self.n_hit_work_limit:
            found.append(work_limit_note(self.n_hit_work_limit, len(self.conditions)))
        return tuple(found)

    @property
    def gain(self) -> float:
        """Mean log-likelihood per observation, above that of the graph-free forecast."""
        total = sum(c.n for c in self.conditions)
        gains = [c.n * (c.loglik - c.loglik_pooled) for c in self.conditions]
        return math.fsum(gains) / total if total else math.nan

    @property
    def effect_correlation(self) -> float:
        """Correlation of foreseen and measured effects; NaN with fewer than three."""
        if len(self.effects) < 3:
            return math.nan
        pairs = np.array([(e.foreseen, e.measured) for e in self.effects])
        with np.errstate(invalid="ignore"):
            return float(np.corrcoef(pairs.T)[0, 1])

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each condition that was left out.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns name, n, targets (as one text), graph (as text), loglik, loglik_pooled,
            loglik_own, explained.
        """
        numbers = ("loglik", "loglik_pooled", "loglik_own", "explained")
        return data_frame(
            {
                "name": [c.name for c in self.conditions],
                "n": [c.n for c in self.conditions],
                "targets": [", ".join(c.targets) for c in self.conditions],
                "graph": [str(c.graph) for c in self.conditions],
                **{name: [getattr(c, name) for c in self.conditions] for name in numbers},
            },
            backend,
        )

    def _headline(self) -> str:
        return (
            f"{count(len(self.conditions), 'condition')} left out in turn, {self.gain:+.4f} per "
            "observation against a forecast without a graph"
        )

    def _sections(self) -> Iterator[str | Table]:
        yield self._headline()
        heads = ("condition", "n", "targets", "log-lik.", "without graph", "at best")
        rows = [
            (
                c.name,
                f"{c.n:.0f}",
                ", ".join(c.targets),
                number(c.loglik, 4),
                number(c.loglik_pooled, 4),
                number(c.loglik_own, 4),
            )
            for c in self.conditions
        ]
        yield Table(heads, rows, left=(0, 2), most=MOST_ROWS // 2, rest="more: to_frame() has all")
        if self.effects:
            yield f"{count(len(self.effects), 'total effect')} of targets, foreseen and measured"
            shown_rows = [
                (
                    e.condition,
                    f"{e.of} on {e.on}",
                    f"{e.foreseen:.3f}",
                    f"{e.measured:.3f}",
                    f"{e.se:.3f}",
                )
                for e in self.effects
            ]
            columns = ("condition", "effect", "foreseen", "measured", "s.e.")
            yield Table(columns, shown_rows, left=(0, 1), most=12, rest="more: .effects has all")
        yield from self.notes
        for name in self.skipped:
            yield f"{name} cannot be left out: the others do not tell enough"


@public
def leave_out_conditions(
    data: Any,
    graph: GraphLike | None = None,
    *,
    penalty: Penalty = 1.0,
    strategy: StrategyName | Strategy = "ils",
    restarts: int | None = None,
    rng: Rng = None,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> LeftOutConditions:
    """Foresee each condition from the others, and compare with what was measured there.

    Parameters
    ----------
    data : sequence of Condition, or JointMoments
        Three conditions at least, with free means. Interventions may be of any kind; of those that
        leave parameters to the condition only what does not depend on these can be foreseen
        (:class:`LeftOutCondition`).
    graph : MixedGraph, or a result that has one, optional
        The graph; by default the one that a search finds in the other conditions.
    strategy, restarts
        As in :func:`bowfree.bootstrap`.

    Returns
    -------
    LeftOutConditions

    Examples
    --------
    >>> import bowfree as bf
    >>> watched = [bf.Condition(cov=[[1.0, 0.5], [0.5, 1.0]], n=100, name=k) for k in "ab"]
    >>> set_x = bf.Condition(cov=[[4.0, 2.0], [2.0, 1.8]], n=50, targets=["x1"], name="set")
    >>> found = bf.leave_out_conditions([*watched, set_x], bf.parse("x1 -> x2"))
    >>> print(found.effects[0])
    x1 on x2 in set: foreseen 0.500, measured 0.500 (s.e. 0.065)
    """
    budget = Budget(rng, n_jobs, time_limit, progress)
    search = RepeatedSearch.of(None, ScoringRule(penalty), strategy, restarts)
    bap = None if graph is None else graph_of(graph)
    moments = DataOptions().read(data, bap)
    if not isinstance(moments, JointMoments) or len(moments.conditions) < 3:
        raise DataError(
            f"data = {short_repr(data)}: three conditions are needed at least, to leave one out and "
            "learn from the others"
        )
    if moments.means != "free":
        raise DataError("means = 'shared': covariances are foreseen, for which means are free")
    found: list[LeftOutCondition] = []
    effects: list[ForeseenEffect] = []
    skipped: list[str] = []
    n_limited = 0
    seeds = budget.generator().integers(0, 2**63, size=len(moments.conditions)).tolist()
    for k, condition in enumerate(moments.conditions):
        if budget.expired:
            break
        budget.report_progress("conditions", k, len(moments.conditions))
        others = JointMoments([c for c in moments.conditions if c is not condition])
        try:
            others._check(bap)
        except DataError:
            skipped.append(condition.name)
            continue
        best, cut_short = bap, False
        if best is None:
            learned = search.search(others, budget.for_task(np.random.default_rng(seeds[k])))
            if not learned.complete:  # a graph that time was not enough for foresees nothing
                break
            best, cut_short = learned.graph, learned.hit_work_limit
        fit = fit_moments(best, others, search.rule)
        compared = _compared(condition, others, best, fit.B, fit.Omega)
        if not compared.foreseen:
            skipped.append(condition.name)
            continue
        found.append(compared)
        n_limited += cut_short
        effects += _effects(condition, fit.B)
    done = len(found) + len(skipped) == len(moments.conditions)
    return LeftOutConditions(tuple(found), tuple(effects), tuple(skipped), n_limited, done)


def _compared(
    condition: ConditionMoments, others: JointMoments, graph: MixedGraph, B: Floats, Omega: Floats
) -> LeftOutCondition:
    here = cut_graph(graph, condition)
    order, foreseen = _in_turn(here, condition)
    numbers = [graph.nodes.index(name) for name in order]
    block = np.ix_(numbers, numbers)
    part = condition_model(condition, B, Omega, ())
    local = [here.nodes.index(name) for name in order]
    counts = np.array([name in foreseen for name in order])
    S = condition.S[block]
    return LeftOutCondition(
        condition.name,
        condition.n,
        condition.targets,
        graph,
        _density(part.Sigma()[np.ix_(local, local)], S, counts),
        _density(others._pooled[block], S, counts),
        _density(S, S, counts) if condition.n > len(order) else math.nan,
        foreseen,
    )


def _in_turn(
    here: MixedGraph, condition: ConditionMoments
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return an order of the graph, and the variables that are foreseen given those before them.

    Targets that were set come first; then always one that is foreseen, if the parents of one such
    have come.
    """
    at = {name: i for i, name in enumerate(condition.names)}
    changed = {
        v
        for v in here.nodes
        for entry in (("Omega", at[v], at[v]), *(("B", at[v], at[p]) for p in here.parents(v)))
        if condition._use(entry) == "own"
    }
    set_first = condition.targets if condition.kind == "perfect" else ()
    order = [v for v in here.nodes if v in set_first]
    foreseen: list[str] = []
    left = [v for v in here.nodes if v not in order]
    while left:
        ready = [v for v in left if here.parents(v) <= set(order)]
        told = [v for v in ready if not changed & _district(here.subgraph([*order, v]), v)]
        order.append((told or ready)[0])
        foreseen += told[:1]
        left.remove(order[-1])
    return tuple(order), tuple(foreseen)


def _district(graph: MixedGraph, node: str) -> set[str]:
    return next(set(district) for district in graph.districts() if node in district)


def _density(Sigma: Floats, S: Floats, counts: npt.NDArray[np.bool_]) -> float:
    """Return the mean log-density of some of the variables, each given all before it.

    The diagonal of the Cholesky factor of Sigma has the standard deviations that are left. NaN
    where Sigma is singular.
    """
    try:
        L = np.linalg.cholesky(Sigma)
    except np.linalg.LinAlgError:
        return math.nan
    left = np.linalg.solve(L, np.linalg.solve(L, S).T)
    each = np.log(2 * np.pi) + 2 * np.log(np.diag(L)) + np.diag(left)
    return float(-each[counts].sum() / 2)


def _effects(condition: ConditionMoments, B: Floats) -> Iterator[ForeseenEffect]:
    """Yield the total effects of targets that were set and vary, in regressions on all of them."""
    T = np.flatnonzero(condition.is_target & condition.varies)
    if condition.kind != "perfect" or not len(T) or condition.n <= len(T) + 1:
        return
    blocked = B.copy()
    blocked[condition.is_target] = 0.0  # an effect through another target ends there
    total = np.linalg.inv(np.eye(len(B)) - blocked)
    inverse = np.linalg.inv(condition.S[np.ix_(T, T)])
    for i in np.flatnonzero(~condition.is_target):
        slopes = inverse @ condition.S[T, i]
        left = condition.S[i, i] - slopes @ condition.S[T, i]
        se = np.sqrt(np.diag(inverse) * left / (condition.n - len(T) - 1))
        for t, slope, error in zip(T, slopes, se, strict=True):
            of, on = condition.names[t], condition.names[i]
            yield ForeseenEffect(
                condition.name, of, on, float(total[i, t]), float(slope), float(error)
            )
