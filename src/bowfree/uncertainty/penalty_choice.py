"""The weight of the penalty, chosen by the likelihood of data that the search has not seen.

The paper fixes the penalty at twice that of the BIC and says in a footnote that one could choose it
by cross-validation. That is what :func:`choose_penalty` does: leave one fold out, search on the
others at every penalty, and see how likely the fold is under the model found. Likelihood rewards
prediction, which forgives superfluous edges; so the largest penalty that is not clearly worse (the
one-standard-error rule) stands beside the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from bowfree.data.moments import Moments
from bowfree.errors import BowfreeError, DataError
from bowfree.model.fitting import fit_moments
from bowfree.model.joint_fit import JointFit
from bowfree.parallel.budget import Budget
from bowfree.results.display import Table, TextDisplay
from bowfree.results.frames import data_frame
from bowfree.results.frozen import Frozen
from bowfree.results.serialization import ToDict
from bowfree.search.result import TOLERANCE
from bowfree.text_reading import short_repr
from bowfree.uncertainty.repeated_searches import LeftOut, Recipe, Rows, exhausted_note
from bowfree.validation import (
    BudgetOptions,
    as_float,
    as_list,
    check_count,
    is_number,
    split_options,
)

Floats = npt.NDArray[np.float64]

PENALTIES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)

_ROUNDING = 1e-9  # relative; sums over folds are right to about 1e-15


@dataclass(frozen=True, eq=False, repr=False)
class PenaltyChoice(TextDisplay, ToDict, Frozen):
    """Penalties compared by the likelihood of data left out.

    Attributes
    ----------
    penalties : tuple of float
        The penalties, ascending.
    folds : ndarray of shape (cv, penalties)
        Log-likelihood per observation of each fold under the model learned from the others.
    n_edges : ndarray of shape (cv, penalties)
        Edges of these models.
    best : float
        The penalty with the largest mean.
    one_standard_error : float
        The largest penalty whose mean is within one standard error of that of `best`: the
        simplest model that is not clearly worse.
    n_exhausted : int
        Searches that ended when the work set aside for each was done; usually none.
    """

    penalties: tuple[float, ...]
    folds: Floats
    n_edges: npt.NDArray[np.int64]
    best: float
    one_standard_error: float
    n_exhausted: int

    @property
    def mean(self) -> Floats:
        """Mean log-likelihood per left-out observation, one for each penalty."""
        mean: Floats = self.folds.mean(axis=0)
        return mean

    @property
    def standard_error(self) -> Floats:
        """Standard error of the difference of each mean from the best one."""
        gaps = self.folds - self.folds[:, [self.penalties.index(self.best)]]
        error: Floats = gaps.std(axis=0, ddof=1) / math.sqrt(len(gaps))
        return error

    def _content(self) -> Any:
        names = ("penalties", "mean", "standard_error", "folds", "n_edges", "best")
        return {name: getattr(self, name) for name in (*names, "one_standard_error")}

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each penalty.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns penalty, loglik (mean per left-out observation), standard_error (of its
            difference from the best), n_edges (mean over the folds).
        """
        return data_frame(
            {
                "penalty": self.penalties,
                "loglik": self.mean,
                "standard_error": self.standard_error,
                "n_edges": self.n_edges.mean(axis=0),
            },
            backend,
        )

    def _headline(self) -> str:
        return (
            f"best {self.best:g}, largest within one standard error {self.one_standard_error:g}, "
            f"of {len(self.penalties)} penalties"
        )

    def _sections(self) -> Iterator[str | Table]:
        rows = []
        for k, penalty in enumerate(self.penalties):
            marks = [
                name
                for name, value in (("best", self.best), ("one s.e.", self.one_standard_error))
                if value == penalty
            ]
            rows.append(
                (
                    f"{penalty:g}",
                    f"{self.mean[k]:.4f}",
                    f"{self.standard_error[k]:.4f}",
                    f"{self.n_edges[:, k].mean():.1f}",
                    ", ".join(marks),
                )
            )
        headings = ("penalty", "log-likelihood", "s.e. of gap", "edges", "")
        yield Table(headings, rows, left=(0, 4))
        if self.n_exhausted:
            yield exhausted_note(self.n_exhausted, self.folds.size)


def choose_penalty(
    data: Any,
    *,
    penalties: Iterable[float] = PENALTIES,
    cv: int = 5,
    search: Mapping[str, Any] | None = None,
    **options: Unpack[BudgetOptions],
) -> PenaltyChoice:
    """Choose the penalty by cross-validated likelihood.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame, or sequence of Condition
        Observations in rows. Of several conditions each is dealt out to the folds by itself.
    penalties : iterable of float
        The penalties to compare.
    cv : int
        Number of folds.
    search : mapping, optional
        Options of :func:`bowfree.greedy_search`, without the penalty. ``restarts`` is 3 unless it
        says otherwise, and the work of each search is bounded as in :func:`bowfree.bootstrap`.
    **options
        ``rng``, ``n_jobs``, ``executor``, ``time_limit``, ``progress``: what may be spent
        (:class:`~bowfree.validation.BudgetOptions`). A time limit that strikes is an error: penalties
        can only be compared on all folds.

    Returns
    -------
    PenaltyChoice

    Raises
    ------
    BowfreeError
        Fewer than two penalties or folds, or a negative penalty.
    DataError
        More folds than the data allow.

    Examples
    --------
    >>> import bowfree as bf
    >>> X = bf.random_sem(bf.parse("x -> y -> z"), rng=2).sample(200, rng=3)
    >>> quick = {"restarts": 2, "rounds": 0}
    >>> choice = bf.choose_penalty(X, penalties=[0.01, 0.5, 1.0, 50.0], search=quick, rng=0)
    >>> choice.best in (0.01, 0.5, 1.0), choice.one_standard_error < 50
    (True, True)

    References
    ----------
    The footnote on the penalty in section 2.3 of the paper; the one-standard-error rule is that of
    L. Breiman, J. Friedman, R. Olshen, C. Stone, Classification and Regression Trees, 1984.
    """
    given = list(as_list("penalties", penalties, "numbers"))
    values = tuple(sorted({as_float(value) for value in given if is_number(value)}))
    fit = len(values) >= 2 and all(0 <= value < math.inf for value in values)
    if not fit or not all(map(is_number, given)):
        raise BowfreeError(
            f"penalties = {short_repr(given)}: give at least two different finite numbers >= 0"
        )
    check_count("cv", cv, 2)
    (budget_options,) = split_options("choose_penalty", options, BudgetOptions)
    budget = Budget(**budget_options)
    recipe = Recipe.of(search)
    if search is not None and "penalty" in search:
        raise BowfreeError("search has a penalty, which is what is to be chosen: leave it out")
    rows = Rows.of(data, recipe)
    generator = budget.generator()
    fold = rows.folds(cv, generator)
    n_train = len(rows) - math.ceil(len(rows) / cv)
    if n_train <= len(rows.names) and not recipe.shrinkage:
        raise DataError(
            f"n = {len(rows)} in {cv} folds leaves {n_train} observations of {len(rows.names)} "
            "variables to learn from: use fewer folds or fewer variables, or "
            "search={'shrinkage': ...}"
        )

    # One seed per fold: penalties are compared on the same random starts.
    seeds = generator.integers(0, 2**63, size=cv).tolist()
    pieces = []
    for k in range(cv):
        moments, left_out = rows.moments(np.flatnonzero(fold != k)), rows.left_out(fold == k)
        for penalty in values:
            one = replace(recipe, rule=replace(recipe.rule, penalty=penalty))
            pieces.append((one, moments, left_out, budget.for_task(seeds[k])))
    found: list[_Validated | None] = budget.run(_validate, pieces, what="folds")
    if len(found) < len(pieces) or None in found:
        raise BowfreeError(
            f"time_limit = {budget.time_limit:g}: the time was up before all folds were searched "
            "at all penalties; give more time, fewer penalties or folds, or a quicker search"
        )
    done = [one for one in found if one is not None]
    folds = np.array([one.loglik for one in done]).reshape(cv, len(values))
    edges = np.array([one.n_edges for one in done]).reshape(cv, len(values))
    best, largest = _chosen(folds)
    exhausted = sum(one.exhausted for one in done)
    return PenaltyChoice(values, folds, edges, values[best], values[largest], exhausted)


def _chosen(folds: Floats) -> tuple[int, int]:
    """Return which penalty is the best, and which the largest within one standard error of it.

    Two cases would be decided by the last bit. Penalties that led to equivalent graphs are equal:
    the smallest counts as the best. And when a penalty differs in one fold alone, by g, then
    the gap of the means is g / cv and so is its standard error, exactly: that is within.
    """
    mean = folds.mean(axis=0)
    best = int(np.flatnonzero(mean >= mean.max() - TOLERANCE)[0])
    gaps = folds[:, [best]] - folds
    error = gaps.std(axis=0, ddof=1) / math.sqrt(len(folds))
    within = gaps.mean(axis=0) <= error * (1 + _ROUNDING) + TOLERANCE
    return best, int(np.flatnonzero(within)[-1])


class _Validated(NamedTuple):
    """What one search is worth: the log-likelihood of the fold that it has not seen."""

    loglik: float
    n_edges: int
    exhausted: bool


def _validate(piece: tuple[Recipe, Moments, tuple[LeftOut, ...], Budget]) -> _Validated | None:
    """Learn without one fold; None when time was not enough."""
    recipe, moments, left_out, budget = piece
    result = recipe.search(moments, budget)
    if not result.complete:
        return None
    fit = fit_moments(result.graph, moments)
    expected = [c.Sigma for c in fit.conditions] if isinstance(fit, JointFit) else [fit.Sigma]
    n = sum(rows.n for rows in left_out)
    loglik = math.fsum(
        rows.n / n * held_out_loglik(rows.about_mean, Sigma)
        for rows, Sigma in zip(left_out, expected, strict=True)
    )
    return _Validated(loglik, result.graph.n_edges, result.hit_work_limit)


def held_out_loglik(about_mean: Floats, Sigma: Floats) -> float:
    """Return the mean Gaussian log-density of rows, given by their second moments.

    A target that was held constant, whose variance is zero, has none.
    """
    varies = np.diag(Sigma) > 0
    if not varies.all():
        block = np.ix_(varies, varies)
        about_mean, Sigma = about_mean[block], Sigma[block]
    L = np.linalg.cholesky(Sigma)
    logdet = 2.0 * np.log(np.diag(L)).sum()
    trace = np.trace(np.linalg.solve(Sigma, about_mean))
    return float(-0.5 * (len(Sigma) * math.log(2 * math.pi) + logdet + trace))
