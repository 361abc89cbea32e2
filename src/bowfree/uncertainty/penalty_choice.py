"""The weight of the penalty, chosen by the likelihood of data that the search has not seen.

The paper fixes the penalty at twice that of the BIC and says in a footnote that one could choose it
by cross-validation. That is what :func:`choose_penalty` does: leave one fold out, search on the
others at every penalty, and see how likely the fold is under the model found. Likelihood rewards
prediction, which forgives superfluous edges; so the largest penalty that is not clearly worse (the
one-standard-error rule) stands beside the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.errors import BowfreeError, DataError
from bowfree.model.fitting import fit_moments
from bowfree.options import at_least
from bowfree.search.greedy import greedy_search
from bowfree.text_tables import table_lines
from bowfree.uncertainty.resampling import (
    columns_of,
    in_parallel,
    read_rows,
    search_options,
)

__all__ = ["PenaltyChoice", "choose_penalty"]

Floats = npt.NDArray[np.float64]

PENALTIES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)


@dataclass(frozen=True, eq=False)
class PenaltyChoice:
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
    """

    penalties: tuple[float, ...]
    folds: Floats
    n_edges: npt.NDArray[np.int64]
    best: float
    one_standard_error: float

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

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, as for JSON."""
        return {
            "penalties": list(self.penalties),
            "mean": self.mean.tolist(),
            "standard_error": self.standard_error.tolist(),
            "folds": self.folds.tolist(),
            "n_edges": self.n_edges.tolist(),
            "best": self.best,
            "one_standard_error": self.one_standard_error,
        }

    def __str__(self) -> str:
        rows = [("penalty", "log-likelihood", "s.e. of gap", "edges", "")]
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
        return "\n".join(line.rstrip() for line in table_lines(rows))


def choose_penalty(
    data: Any,
    *,
    penalties: Iterable[float] = PENALTIES,
    cv: int = 5,
    search: Mapping[str, Any] | None = None,
    n_jobs: int = 1,
    rng: Any = None,
) -> PenaltyChoice:
    """Choose the penalty by cross-validated likelihood.

    Parameters
    ----------
    data : array_like of shape (n, d) or data frame
        Observations in rows.
    penalties : iterable of float
        The penalties to compare.
    cv : int
        Number of folds.
    search : mapping, optional
        Options of :func:`bowfree.greedy_search`, without the penalty.
    n_jobs, rng
        As for :func:`bowfree.bootstrap`.

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
    values = tuple(sorted({float(penalty) for penalty in penalties}))
    if len(values) < 2 or values[0] < 0 or not math.isfinite(values[-1]):
        raise BowfreeError(
            f"penalties = {list(values)}: give at least two different finite numbers >= 0"
        )
    at_least("cv", cv, 2)
    options = search_options(search)
    if "penalty" in options:
        raise BowfreeError("search has a penalty, which is what is to be chosen: leave it out")
    names, X = read_rows(data)
    generator = np.random.default_rng(rng)
    order = generator.permutation(len(X))
    fold = np.empty(len(X), dtype=np.int64)
    fold[order] = np.arange(len(X)) % cv
    if len(X) - math.ceil(len(X) / cv) <= len(names):
        raise DataError(
            f"n = {len(X)} in {cv} folds leaves {len(X) - math.ceil(len(X) / cv)} observations of "
            f"{len(names)} variables to learn from: use fewer folds or fewer variables"
        )

    # One seed per fold: penalties are compared on the same random starts.
    seeds = generator.integers(0, 2**63, size=cv).tolist()
    tasks = [(k, penalty, seeds[k]) for k in range(cv) for penalty in values]
    found: list[tuple[float, int]] = in_parallel(
        partial(_validate, names=names, X=X, fold=fold, options=options), tasks, n_jobs
    )
    folds = np.array([loglik for loglik, _ in found]).reshape(cv, len(values))
    edges = np.array([size for _, size in found]).reshape(cv, len(values))
    mean = folds.mean(axis=0)
    best = int(mean.argmax())
    gaps = folds - folds[:, [best]]
    error = gaps.std(axis=0, ddof=1) / math.sqrt(cv)
    near = [k for k in range(len(values)) if mean[best] - mean[k] <= error[k]]
    return PenaltyChoice(values, folds, edges, values[best], values[near[-1]])


def _validate(
    task: tuple[int, float, int],
    names: tuple[str, ...],
    X: Floats,
    fold: npt.NDArray[np.int64],
    options: Mapping[str, Any],
) -> tuple[float, int]:
    """Learn without one fold; return its log-likelihood and the number of edges."""
    k, penalty, seed = task
    train, test = X[fold != k], X[fold == k]
    result = greedy_search(columns_of(names, train), penalty=penalty, rng=seed, **options)
    Sigma = fit_moments(result.graph, result.moments).Sigma
    return held_out_loglik(test - train.mean(axis=0), Sigma), result.graph.n_edges


def held_out_loglik(deviations: Floats, Sigma: Floats) -> float:
    """Return the mean Gaussian log-density of rows, given as deviations from the mean."""
    L = np.linalg.cholesky(Sigma)
    white = np.linalg.solve(L, deviations.T)
    logdet = 2.0 * np.log(np.diag(L)).sum()
    d = len(Sigma)
    return float(-0.5 * (d * math.log(2 * math.pi) + logdet + (white**2).sum(axis=0).mean()))
