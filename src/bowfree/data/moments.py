"""Moments: everything that a Gaussian likelihood needs of the data, and its precision.

Complete and incomplete rows, ranks, ordered categories, weighted rows and covariance matrices all
become :class:`Moments` (:mod:`bowfree.data.options`). Searches and scores use `S` and `n`; standard
errors and tests use `Gamma`, the covariance matrix of the entries of S.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bowfree import _core
from bowfree.data.covariance import is_definite, read_covariance
from bowfree.data.frames import quoted, read_observations
from bowfree.data.missing_values import IncompleteRows, MissingSummary, summarize_missing
from bowfree.data.sample import (
    CompleteRows,
    Floats,
    NonGaussianRows,
    Sample,
    Summary,
    normal_gamma,
)
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parameters import Method
from bowfree.results.display import Table, TextDisplay, count
from bowfree.results.frozen import Frozen, lock_arrays
from bowfree.results.rows import data_frame
from bowfree.text_reading import short_repr
from bowfree.validation import as_list


@dataclass(frozen=True, eq=False, repr=False)
class Moments(TextDisplay, Frozen):
    """The moments of data that a Gaussian likelihood depends on; see :func:`bowfree.moments`.

    Every function that takes data accepts moments in its place. The constructor takes `names`, `S`,
    `n` and `mean`; it validates and copies them.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of the rows of `S`.
    S : ndarray of shape (d, d)
        Covariance matrix with divisor n; read-only. For ranks it is a correlation matrix, for
        ordered categories that of the underlying normal variables.
    n : float
        Number of observations in scores; ``inf`` for a population covariance matrix. If values are
        missing or rows are weighted it is the effective sample size: the number of complete rows
        that would determine the correlations with the same precision.
    mean : ndarray of shape (d,) or None
        Means of the columns, read-only; None if unknown, as for a covariance matrix.
    n_rows : float
        Number of rows; equal to `n` if the rows are complete and unweighted.
    notes : tuple of str
        Remarks on how the data were processed, such as the number of rows dropped.
    """

    names: tuple[str, ...]
    S: Floats
    n: float
    mean: Floats | None = None
    n_rows: float = field(init=False)
    notes: tuple[str, ...] = field(init=False, default=())
    sample: Sample | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        names: Any = self.names
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise DataError(f"names = {short_repr(names)}: must be a tuple of strings")
        given, S, n = read_covariance(self.S, self.n, 0, MixedGraph(names))
        mean = None
        if self.mean is not None:
            _, row = read_observations([self.mean], MixedGraph(given), "mean")
            mean = row[0].copy()
            if not np.isfinite(mean).all():
                raise DataError(f"mean = {short_repr(mean)}: must be finite numbers")
        vars(self).update(names=given, S=S, n=n, mean=mean, n_rows=n)
        super().__post_init__()

    @classmethod
    def _unchecked(
        cls,
        names: tuple[str, ...],
        S: Floats,
        n: float,
        mean: Floats | None = None,
        sample: Sample | None = None,
        notes: tuple[str, ...] = (),
    ) -> Moments:
        """Return moments of validated values, without checking them again."""
        made = object.__new__(cls)
        n_rows = n if sample is None else float(sample.n_rows)
        vars(made).update(
            names=names, S=S, n=n, mean=mean, n_rows=n_rows, notes=notes, sample=sample
        )
        lock_arrays((S, mean))
        return made

    @cached_property
    def Gamma(self) -> Floats:
        """Asymptotic covariance matrix of the entries of ``sqrt(n_rows) S``.

        Rows and columns belong to ``S[0, 0]``, ``S[1, 0]``, ``S[1, 1]``, ``S[2, 0]``, ..., the
        order of :func:`numpy.tril_indices`. Without rows it is that of complete normal data.
        """
        return lock_arrays(normal_gamma(self.S) if self.sample is None else self.sample.gamma())

    @property
    def plain(self) -> bool:
        """Whether the rows are complete and unweighted, so that normal theory needs S and n only."""
        return self.sample is None or self.sample.plain

    @cached_property
    def missing_values(self) -> MissingSummary | None:
        """Patterns of missing values, and Little's test; None if the rows are complete."""
        rows = self.sample
        return summarize_missing(self.names, rows) if isinstance(rows, IncompleteRows) else None

    @cached_property
    def definite(self) -> bool:
        """Whether S is positive definite; it is singular if ``n <= d``."""
        few = isinstance(self.sample, CompleteRows) and self.n_rows <= len(self.names)
        return not few and is_definite(self.S)

    @cached_property
    def _n_distinct(self) -> float:
        """The number of observations; of distinct rows if S is singular (bootstrap samples)."""
        rows = self.sample
        if self.n <= len(self.names) or not isinstance(rows, CompleteRows) or self.definite:
            return self.n
        return min(self.n, float(len(np.unique(rows.deviations, axis=0))))

    def _require_definite(self, what: str) -> None:
        """Raise an error that begins with `what` if S is singular."""
        if not self.definite:
            raise DataError(
                f"n = {self.n:g} observations of {len(self.names)} variables: {what}, and the "
                "covariance matrix is singular; use fewer variables, or `shrinkage=` where the "
                "moments are made"
            )

    def take(self, names: Sequence[str]) -> Moments:
        """Return the moments of some of the variables, in the given order.

        Examples
        --------
        >>> import bowfree as bf
        >>> m = bf.moments(cov=[[1.0, 0.5], [0.5, 2.0]], n=100, ddof=0)
        >>> m.take(["x2"]).S
        array([[2.]])
        """
        order = self._positions(names)
        mean = None if self.mean is None else self.mean[order]
        taken, sample = Summary(self.S[np.ix_(order, order)], self.n, mean), self.sample
        if sample is not None:
            taken, sample = sample.take(order, taken)
        return Moments._unchecked(tuple(names), *taken, sample, self.notes)

    def _positions(self, names: Sequence[str]) -> list[int]:
        """Return the places of some of the variables, or raise."""
        wanted = as_list("names", names, "names of variables", DataError)
        for name in wanted:
            if not isinstance(name, str) or name not in self.names:
                raise DataError(
                    f"there is no variable {short_repr(name)}, only {quoted(self.names)}"
                )
        if not wanted or len(set(wanted)) < len(wanted):
            raise DataError(
                f"names = {short_repr(wanted)}: must be different variables, at least one"
            )
        return [self.names.index(name) for name in wanted]

    def _core_data(self, method: Method = "newton") -> Any:
        """Return the data in the form that the core takes."""
        S = np.ascontiguousarray(self.S)
        if isinstance(self.sample, NonGaussianRows):
            rows = np.ascontiguousarray(self.sample.deviations)
            return _core.data_with_rows(S, rows, self.sample.power)
        return S

    def _numbers(self) -> tuple[Floats, ...]:
        """Return the numbers that the likelihood depends on, besides n."""
        sample = self.sample
        if isinstance(sample, NonGaussianRows):
            return (self.S, sample.deviations, np.array(sample.power))
        return (self.S,)

    def _same_as(self, other: Moments) -> bool:
        """Return whether the likelihood is the same, to the last bit."""
        mine, others = self._numbers(), other._numbers()
        same = len(mine) == len(others) and all(map(np.array_equal, mine, others))
        return same and self.n == other.n

    @property
    def variances(self) -> Floats:
        """Variances of the variables."""
        return np.diag(self.S)

    def without_rows(self) -> Moments:
        """Return the moments without the rows, which takes less memory.

        `Gamma` is then that of complete normal data. Moments with non-Gaussian errors keep their
        rows, which their scores need.
        """
        if isinstance(self.sample, NonGaussianRows):
            return self
        bare = Moments._unchecked(self.names, self.S, self.n, self.mean, None, self.notes)
        vars(bare).update(definite=self.definite, _n_distinct=self._n_distinct)
        return bare

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return mean and sd of each variable as a data frame of "pandas", "polars" or "pyarrow"."""
        mean = np.full(len(self.names), np.nan) if self.mean is None else self.mean
        columns = {"variable": list(self.names), "mean": mean, "sd": np.sqrt(self.variances)}
        return data_frame(columns, backend)

    def to_dict(self) -> dict[str, Any]:
        """Return the moments as a dictionary of lists and numbers, ready for ``json.dumps``."""
        numbers = {"mean": None if self.mean is None else self.mean.tolist(), "S": self.S.tolist()}
        sizes = {"names": list(self.names), "n": self.n, "n_rows": self.n_rows}
        return sizes | numbers | {"notes": list(self.notes)}

    def _headline(self) -> str:
        variables = count(len(self.names), "variable")
        if math.isinf(self.n):
            return f"population covariance of {variables}"
        rows = f"{self.n:.0f} observations" if self.sample is None else self.sample.describe()
        effective = "" if self.n == self.n_rows else f", effective sample size {self.n:.0f}"
        return f"{rows} of {variables}{effective}"

    def _sections(self, most: int = 12) -> Iterator[str | Table]:
        """Yield means, standard deviations and correlations of the first variables."""
        yield self._headline()
        yield from self.notes
        sd = np.sqrt(np.diag(self.S))[:most]
        R = self.S[:most, :most] / np.outer(sd, sd)
        names = self.names[:most]
        rows = []
        for i, name in enumerate(names):
            numbers = [sd[i]] if self.mean is None else [self.mean[i], sd[i]]
            correlations = [f"{r:.2f}" for r in R[i, :i]] + [""] * (len(names) - 1 - i)
            rows.append((name, *(f"{x:.4g}" for x in numbers), *correlations))
        mean = () if self.mean is None else ("mean",)
        yield Table(("variable", *mean, "sd", *names[:-1]), rows)
        if len(self.names) > most:
            yield f"... and {len(self.names) - most} more variables (see `names`, `mean`, `S`)"
