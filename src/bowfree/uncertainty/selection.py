r"""Stable pairs of variables and the penalty, chosen by searches on parts of the rows.

:func:`bowfree.stability_selection`
-----------------------------------
The search is repeated on random halves of the rows, and the pairs of variables that are adjacent in
at least a share tau of the halves are selected. With q adjacent pairs in a half on average and p
pairs in all, the expected number of selected pairs whose probability of being adjacent is at most
q / p, as in a random choice, is at most ::

    C(tau) q^2 / p,    C(tau) = 1 / (2 (2 tau - 1 - 1 / n))         for tau up to 3/4
                       C(tau) = 4 (1 - tau + 1 / n) / (1 + 2 / n)   above

with n halves, provided that the frequencies of such pairs have a unimodal distribution. Solved for
tau, the bound gives the threshold for an acceptable number of false pairs.

The bound is about *adjacencies*, not about the kind of an edge; probabilities of directions are in
:func:`bowfree.averaged_effects`.

:func:`bowfree.choose_penalty`
------------------------------
For every fold and every penalty, a graph is learned from the other folds, and the likelihood of the
fold under the fitted model is computed. Likelihood measures prediction, which is hardly harmed by
superfluous edges; the largest penalty that is not clearly worse than the best one (the
one-standard-error rule) is therefore returned as well.

References
----------
N. Meinshausen and P. Bühlmann, Stability selection, JRSS B 72 (2010); R. D. Shah and R. J.
Samworth, Variable selection with error control: another look at stability selection, JRSS B 75
(2013), for complementary pairs of halves and for the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree.data.moments import Moments
from bowfree.data.nominal import to_columns
from bowfree.data.sample import Floats, inverse_covariance
from bowfree.errors import BowfreeError, DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.model.context import ScoringRule
from bowfree.model.fitting import fit_moments
from bowfree.model.joint_fit import JointFit
from bowfree.parallel.budget import Budget, LazyTasks, Progress
from bowfree.parameters import GraphClass, Method, Penalty, Rng, public
from bowfree.results.display import MOST_ROWS, Table, count
from bowfree.results.frozen import Frozen
from bowfree.results.rows import Row, RowTable
from bowfree.results.serialization import ToDict
from bowfree.search.plan import Strategy, StrategyName
from bowfree.search.result import TOLERANCE
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace
from bowfree.text_reading import short_repr
from bowfree.uncertainty.repeated_searches import HeldOut, RepeatedSearch, Rows, limit_notes
from bowfree.validation import as_float, as_list, check_count, check_positive, is_number

_ROUNDING = 1e-9  # relative; sums over folds are accurate to about 1e-15


@dataclass(frozen=True, eq=False, repr=False)
class StablePairs(RowTable, ToDict, Frozen):
    """Pairs of variables that are adjacent in most halves of the data.

    Attributes
    ----------
    names : tuple of str
        The variables.
    pairs : tuple of (str, str)
        The selected pairs, the most frequent first.
    frequency : ndarray of shape (d, d)
        Share of the halves in which two variables are adjacent.
    threshold : float
        Smallest frequency of a selected pair; infinite if no pair can be selected.
    max_false : float
        Bound on the expected number of false pairs.
    n_adjacent : float
        Mean number of adjacent pairs in a half.
    n_halves : int
        Number of halves.
    n_planned : int
        Number of halves that were requested.
    n_hit_work_limit : int
        Number of halves whose search ended at its work limit.
    complete : bool
        False if time was up before the last half.
    """

    names: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    frequency: Floats
    threshold: float
    max_false: float
    n_adjacent: float
    n_halves: int
    n_planned: int
    n_hit_work_limit: int
    complete: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on limits that were reached."""
        return limit_notes("halves", self.n_halves, self.n_planned, self.n_hit_work_limit)

    @property
    def rows(self) -> list[Row]:
        """One row for each pair of variables: a, b, frequency, stable."""
        return [
            Row(a=a, b=b, frequency=share, stable=share >= self.threshold)
            for (i, a), (j, b) in combinations(enumerate(self.names), 2)
            for share in [float(self.frequency[i, j])]
        ]

    def _headline(self) -> str:
        return f"{count(len(self.pairs), 'stable pair')} of {count(len(self.names), 'variable')}"

    def _sections(self) -> Iterator[str | Table]:
        yield (
            f"{count(self.n_halves, 'half', 'halves')} of the data, {self.n_adjacent:.1f} adjacent "
            "pairs in each on average"
        )
        yield from self.notes
        if self.threshold > 1:
            yield (
                f"no pair can be selected with at most {self.max_false:g} false pairs expected; "
                "raise `max_false` or `penalty`"
            )
            return
        yield (
            f"adjacent in at least {self.threshold:.2f} of them; expected number of false pairs at "
            f"most {self.max_false:g}:"
        )
        index = {name: k for k, name in enumerate(self.names)}
        rows = [
            (f"{quote(a)}, {quote(b)}", f"{self.frequency[index[a], index[b]]:.2f}")
            for a, b in self.pairs
        ]
        yield Table(("pair", "frequency"), rows, most=MOST_ROWS, rest="more: see to_frame()")


@public
def stability_selection(
    data: Any,
    *,
    max_false: float = 1.0,
    n_halves: int = 100,
    shrinkage: float | Literal["auto"] = 0.0,
    space: SearchSpace | None = None,
    graph_class: GraphClass | None = None,
    max_in_degree: int | None = None,
    max_district: int | None = None,
    max_edges: int | None = None,
    knowledge: Knowledge | None = None,
    penalty: Penalty = 1.0,
    gamma: float | None = None,
    smallest_effect: float = 0.0,
    method: Method = "newton",
    max_iter: int | None = None,
    strategy: StrategyName | Strategy = "ils",
    restarts: int | None = None,
    rng: Rng = None,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> StablePairs:
    """Select the pairs of variables that are adjacent in most random halves of the data.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame, or sequence of Condition
        Observations in rows. Conditions are divided separately.
    max_false : float
        Bound on the expected number of false pairs.
    n_halves : int
        Number of halves; they come in disjoint pairs.
    strategy : {"ils", "restart"} or Strategy
        How to search, with a work limit as in :func:`bowfree.bootstrap`.
    restarts : int, optional
        Number of restarts of each search; by default 3.

    Examples
    --------
    >>> import bowfree as bf
    >>> data = bf.datasets.load_demo()
    >>> quick = bf.search.Strategy(restarts=2, rounds=0)
    >>> stable = bf.stability_selection(data, n_halves=20, strategy=quick, rng=0)
    >>> ("leaves", "fruit") in stable.pairs, ("sun", "pot") in stable.pairs
    (True, False)
    """
    max_false = check_positive("max_false", max_false)
    check_count("n_halves", n_halves, 2)
    within = SearchSpace.of(space, graph_class, max_in_degree, max_district, max_edges, knowledge)
    rule = ScoringRule(penalty, method, max_iter, gamma, smallest_effect)
    search = RepeatedSearch.of(within, rule, strategy, restarts)
    rows, budget = Rows.of(data, shrinkage), Budget(rng, n_jobs, time_limit, progress, executor)
    if len(rows) < 4:
        raise BowfreeError(f"n = {len(rows)}: each half must have at least 2 rows")
    seeds = budget.generator().integers(0, 2**63, size=n_halves).tolist()

    def half(k: int) -> tuple[Moments, Budget]:  # 2 k and 2 k + 1 are disjoint
        halves = rows.halves(np.random.default_rng(seeds[k - k % 2]))
        return rows.moments(halves[k % 2]), budget.for_task(np.random.default_rng(seeds[k]))

    pairs: StablePairs = budget.run(
        partial(_search_half, search=search),
        LazyTasks(n_halves, half),
        what="halves",
        gather=partial(_select, rows.variables, max_false, n_halves),
    )
    return pairs


def _search_half(
    task: tuple[Moments, Budget], *, search: RepeatedSearch
) -> tuple[MixedGraph, bool] | None:
    """Return the graph of one half, and whether it hit the work limit; None if time was up."""
    result = search.search(*task)
    return (result.graph, result.hit_work_limit) if result.complete else None


def _select(
    names: tuple[str, ...], max_false: float, n_halves: int, found: list[tuple[MixedGraph, bool]]
) -> StablePairs:
    """Select the pairs that are adjacent in most halves."""
    d = len(names)
    frequency = np.zeros((d, d))
    for graph, _ in found:
        for a, _, b in graph.edges:
            i, j = names.index(a), names.index(b)
            frequency[[i, j], [j, i]] += 1
    frequency /= len(found)
    n_adjacent = float(np.triu(frequency, 1).sum())
    max_factor = max_false * (d * (d - 1) // 2) / n_adjacent**2 if n_adjacent else math.inf
    threshold = _threshold(max_factor, len(found))
    pairs = [pair for pair in combinations(range(d), 2) if frequency[pair] >= threshold]
    pairs.sort(key=lambda pair: (-frequency[pair], pair))
    return StablePairs(
        names=names,
        pairs=tuple((names[i], names[j]) for i, j in pairs),
        frequency=frequency,
        threshold=threshold,
        max_false=max_false,
        n_adjacent=n_adjacent,
        n_halves=len(found),
        n_planned=n_halves,
        n_hit_work_limit=sum(hit for _, hit in found),
        complete=len(found) == n_halves,
    )


def _threshold(max_factor: float, n_halves: int) -> float:
    """Return the smallest tau with C(tau) <= max_factor, infinity if there is none."""
    low = 0.5 + 0.5 / n_halves + (0.25 / max_factor if max_factor > 0 else math.inf)
    if low <= 0.75:
        return low
    high = 1 + 1 / n_halves - 0.25 * max_factor * (1 + 2 / n_halves)
    return max(0.75, high) if high <= 1 else math.inf


# --- the penalty ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class PenaltyChoice(RowTable, ToDict, Frozen):
    """Penalties compared by cross-validated likelihood.

    Attributes
    ----------
    penalties : tuple of float
        The penalties, ascending.
    folds : ndarray of shape (cv, penalties)
        Log-likelihood per observation of each fold under the model learned from the others.
    n_edges : ndarray of shape (cv, penalties)
        Numbers of edges of these models.
    best : float
        The penalty with the largest mean log-likelihood.
    one_standard_error : float
        The largest penalty whose mean is within one standard error of that of `best`.
    n_hit_work_limit : int
        Number of searches that ended at their work limit.
    """

    penalties: tuple[float, ...]
    folds: Floats
    n_edges: npt.NDArray[np.int64]
    best: float
    one_standard_error: float
    n_hit_work_limit: int

    @property
    def mean(self) -> Floats:
        """Mean log-likelihood per held-out observation, for each penalty."""
        mean: Floats = self.folds.mean(axis=0)
        return mean

    @property
    def standard_error(self) -> Floats:
        """Standard error of the difference between each mean and the best one."""
        gaps = self.folds - self.folds[:, [self.penalties.index(self.best)]]
        error: Floats = gaps.std(axis=0, ddof=1) / math.sqrt(len(gaps))
        return error

    @property
    def rows(self) -> list[Row]:
        """One row for each penalty.

        ``loglik`` is the mean per held-out observation, ``standard_error`` that of its difference
        from the best, and ``n_edges`` the mean over the folds.
        """
        columns = (self.mean, self.standard_error, self.n_edges.mean(axis=0))
        return [
            Row(penalty=penalty, loglik=loglik, standard_error=error, n_edges=edges)
            for penalty, loglik, error, edges in zip(
                self.penalties, *(column.tolist() for column in columns), strict=True
            )
        ]

    def _content(self) -> Any:
        return super()._content() | {"mean": self.mean, "standard_error": self.standard_error}

    def _headline(self) -> str:
        return (
            f"best {self.best:g}, largest within one standard error {self.one_standard_error:g}, "
            f"of {len(self.penalties)} penalties"
        )

    def _sections(self) -> Iterator[str | Table]:
        marks = {self.best: ["best"]}
        marks.setdefault(self.one_standard_error, []).append("one s.e.")
        cells = [
            (
                f"{row.penalty:g}",
                f"{row.loglik:.4f}",
                f"{row.standard_error:.4f}",
                f"{row.n_edges:.1f}",
                ", ".join(marks.get(row.penalty, [])),
            )
            for row in self.rows
        ]
        yield Table(("penalty", "log-likelihood", "s.e. of gap", "edges", ""), cells, left=(0, 4))
        size = self.folds.size
        yield from limit_notes("folds", size, size, self.n_hit_work_limit)


@public
def choose_penalty(
    data: Any,
    *,
    penalties: Iterable[float] = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0),
    cv: int = 5,
    shrinkage: float | Literal["auto"] = 0.0,
    space: SearchSpace | None = None,
    graph_class: GraphClass | None = None,
    max_in_degree: int | None = None,
    max_district: int | None = None,
    max_edges: int | None = None,
    knowledge: Knowledge | None = None,
    smallest_effect: float = 0.0,
    method: Method = "newton",
    max_iter: int | None = None,
    strategy: StrategyName | Strategy = "ils",
    restarts: int | None = None,
    rng: Rng = None,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> PenaltyChoice:
    """Choose the penalty of a search by cross-validated likelihood.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame, or sequence of Condition
        Observations in rows. Conditions are divided into folds separately.
    penalties : iterable of float
        The penalties to compare.
    cv : int
        Number of folds.
    strategy : {"ils", "restart"} or Strategy
        How to search, with a work limit as in :func:`bowfree.bootstrap`.
    restarts : int, optional
        Number of restarts of each search; by default 3.
    time_limit : float, optional
        Seconds after which an error is raised: penalties can only be compared on all folds.

    Examples
    --------
    >>> import bowfree as bf
    >>> X = bf.random_sem(bf.parse("x -> y -> z"), rng=2).sample(200, rng=3)
    >>> choice = bf.choose_penalty(X, penalties=[0.01, 0.5, 1.0, 50.0], restarts=2, rng=0)
    >>> choice.best in (0.01, 0.5, 1.0), choice.one_standard_error < 50
    (True, True)

    References
    ----------
    The footnote on the penalty in section 2.3 of the paper; L. Breiman, J. Friedman, R. Olshen,
    C. Stone, Classification and Regression Trees, 1984, for the one-standard-error rule.
    """
    listed = list(as_list("penalties", penalties, "numbers"))
    values = tuple(sorted({as_float(value) for value in listed if is_number(value)}))
    valid = len(values) >= 2 and all(0 <= value < math.inf for value in values)
    if not valid or not all(map(is_number, listed)):
        raise BowfreeError(
            f"penalties = {short_repr(listed)}: pass at least two different finite numbers >= 0"
        )
    check_count("cv", cv, 2)
    budget = Budget(rng, n_jobs, time_limit, progress, executor)
    within = SearchSpace.of(space, graph_class, max_in_degree, max_district, max_edges, knowledge)
    rule = ScoringRule(1.0, method, max_iter, smallest_effect=smallest_effect)
    search = RepeatedSearch.of(within, rule, strategy, restarts)
    rows = Rows.of(data, shrinkage)
    generator = budget.generator()
    fold = rows.folds(cv, generator)
    n_train = len(rows) - math.ceil(len(rows) / cv)
    if n_train <= len(rows.names) and not shrinkage:
        raise DataError(
            f"n = {len(rows)} in {cv} folds leaves {n_train} observations of {len(rows.names)} "
            "variables for each search: use fewer folds or variables, or `shrinkage`"
        )
    # One seed per fold: penalties are compared on the same random starts.
    seeds = generator.integers(0, 2**63, size=cv).tolist()
    tasks = []
    for k in range(cv):
        moments, held_out = rows.moments(np.flatnonzero(fold != k)), rows.held_out(fold == k)
        for penalty in values:
            one = replace(search, rule=replace(search.rule, penalty=penalty))
            tasks.append((one, moments, held_out, budget.for_task(seeds[k])))
    found: list[tuple[float, int, bool]] = budget.run(_validate, tasks, what="folds")
    if len(found) < len(tasks):
        raise BowfreeError(
            f"time_limit = {budget.time_limit:g}: time was up before all searches were finished; "
            "raise it, pass fewer penalties or folds, or use a quicker search"
        )
    logliks, edges, limited = (np.reshape(column, (cv, -1)) for column in zip(*found, strict=True))
    best, largest = _choose(logliks)
    n_limited = int(limited.sum())
    return PenaltyChoice(values, logliks, edges, values[best], values[largest], n_limited)


def _choose(folds: Floats) -> tuple[int, int]:
    """Return the indices of the best penalty and of the largest one within one standard error.

    Two cases would depend on rounding: penalties that led to equivalent graphs are tied, and if a
    penalty differs in one fold only, the gap of the means is exactly one standard error.
    """
    mean = folds.mean(axis=0)
    best = int(np.flatnonzero(mean >= mean.max() - TOLERANCE)[0])
    gaps = folds[:, [best]] - folds
    error = gaps.std(axis=0, ddof=1) / math.sqrt(len(folds))
    within = gaps.mean(axis=0) <= error * (1 + _ROUNDING) + TOLERANCE
    return best, int(np.flatnonzero(within)[-1])


def _validate(
    task: tuple[RepeatedSearch, Moments, list[HeldOut], Budget],
) -> tuple[float, int, bool] | None:
    """Learn a graph without one fold; return None if time was up.

    The numbers are the log-likelihood of the fold, the number of edges, and whether the search
    ended at its work limit.
    """
    search, moments, held_out, budget = task
    result = search.search(moments, budget)
    if not result.complete:
        return None
    fit = fit_moments(*to_columns(result.graph, moments))
    expected = [c.Sigma for c in fit.conditions] if isinstance(fit, JointFit) else [fit.Sigma]
    total = sum(n for n, _ in held_out)
    loglik = math.fsum(
        n / total * held_out_loglik(about_mean, Sigma)
        for (n, about_mean), Sigma in zip(held_out, expected, strict=True)
    )
    return loglik, result.graph.n_edges, result.hit_work_limit


def held_out_loglik(about_mean: Floats, Sigma: Floats) -> float:
    """Return the mean Gaussian log-density of rows with these second moments about the mean.

    Variables with variance zero, which an intervention has held constant, are left out.
    """
    varies = np.diag(Sigma) > 0
    if not varies.all():
        block = np.ix_(varies, varies)
        about_mean, Sigma = about_mean[block], Sigma[block]
    trace = np.sum(inverse_covariance(Sigma) * about_mean)
    return float(-0.5 * (np.linalg.slogdet(2 * math.pi * Sigma)[1] + trace))
