"""The range of every total effect over several graphs; made by :func:`bowfree.effect_bounds`.

It reads like :class:`bowfree.AveragedEffects`, the answer with all doubts in it: the same matrices
by the same names, ``effect(of=, on=)``, ``to_frame()``, and `covers`, which says what the distance
from `lower` to `upper` accounts for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree.graph.names import node_index
from bowfree.graph.text import quote
from bowfree.model.effect_tables import effect_frame, effect_pairs, effect_table, quantities
from bowfree.results.display import Table, TextDisplay, count, percent
from bowfree.results.frozen import Frozen
from bowfree.results.serialization import ToDict

Floats = npt.NDArray[np.float64]
Formula = Literal["corrected", "as-published"]
Doubt = Literal["estimates", "members", "classes"]
"""Where a number may be wrong: other rows would give another estimate, an equivalent graph another
effect, and another class may be the true one."""

_MATRICES = ("lower", "upper", "min_abs", "max_abs", "mean", "mean_abs", "positive", "negative")


@dataclass(frozen=True, repr=False)
class EffectRange(TextDisplay, ToDict):
    """The total effect of one variable on another, over several graphs.

    Attributes
    ----------
    of, on : str
        The cause and what it acts on.
    lower, upper : float
        Smallest and largest effect.
    min_abs, max_abs : float
        Smallest and largest absolute effect.
    mean, mean_abs : float
        Mean effect and mean absolute effect, every member counted once.
    positive, negative : float
        Share of members with a positive, and with a negative effect.
    """

    of: str
    on: str
    lower: float
    upper: float
    min_abs: float
    max_abs: float
    mean: float
    mean_abs: float
    positive: float
    negative: float

    def _headline(self) -> str:
        return (
            f"{quote(self.of)} on {quote(self.on)}: {self.lower:.4f} to {self.upper:.4f}, "
            f"mean {self.mean:.4f}, non-zero in {percent(self.positive + self.negative)}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class EffectBounds(TextDisplay, ToDict, Frozen):
    """Total effects over several graphs; entry ``[i, j]`` is about the effect of j on i.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of rows and columns.
    lower, upper : ndarray of shape (d, d)
        Smallest and largest effect.
    min_abs, max_abs : ndarray of shape (d, d)
        Smallest and largest absolute effect.
    mean, mean_abs : ndarray of shape (d, d)
        Mean effect and mean absolute effect, every member counted once.
    positive, negative : ndarray of shape (d, d)
        Share of members with an effect above ``zero``, and below ``-zero``.
    n_members : int
        Number of members.
    complete : bool
        False when a limit kept members out: the true bounds may be wider.
    formula : {"corrected", "as-published"}
        ``(I - B)^-1``, or the authors' ``(I + B)^-1``.
    zero : float
        Largest absolute effect that counts as none.
    n_fits, n_uncertified : int
        Districts fitted, and how many of these fits are not certified to be a maximum.
    learned : bool
        Whether the members are those of a graph that a search has chosen.
    """

    names: tuple[str, ...]
    lower: Floats
    upper: Floats
    min_abs: Floats
    max_abs: Floats
    mean: Floats
    mean_abs: Floats
    positive: Floats
    negative: Floats
    n_members: int
    complete: bool
    formula: Formula
    zero: float
    n_fits: int
    n_uncertified: int
    learned: bool = False

    @property
    def covers(self) -> tuple[Doubt, ...]:
        """The doubts that are in `lower` and `upper`: which of the members is true, no other."""
        return ("members",)

    @property
    def nonzero(self) -> Floats:
        """Share of members with an effect, shape (d, d)."""
        share: Floats = self.positive + self.negative
        return share

    @property
    def sign_agreement(self) -> Floats:
        """Share of members that have the most frequent sign (+, - or no effect), (d, d)."""
        share: Floats = np.maximum.reduce([self.positive, self.negative, 1.0 - self.nonzero])
        return share

    @property
    def sign(self) -> npt.NDArray[np.int8]:
        """1 or -1 where all members have a positive or a negative effect, else 0; (d, d)."""
        signs: npt.NDArray[np.int8] = np.subtract(
            self.positive == 1.0, self.negative == 1.0, dtype=np.int8
        )
        return signs

    def effect(self, *, of: str, on: str) -> EffectRange:
        """Return the range of the effect of one variable on another.

        Raises
        ------
        GraphError
            A name that is unknown.

        Examples
        --------
        >>> import bowfree as bf
        >>> S = [[1.0, 0.5], [0.5, 1.0]]
        >>> members = bf.equivalence_class(bf.parse("x -> y"))
        >>> bounds = bf.effect_bounds(members, cov=S, n=100)
        >>> print(bounds.effect(of="x", on="y"))
        x on y: 0.0000 to 0.5000, mean 0.1667, non-zero in 33 %
        """
        at = node_index(on, self.names), node_index(of, self.names)
        return EffectRange(of, on, *(float(getattr(self, name)[at]) for name in _MATRICES))

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each ordered pair of variables.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns of, on, lower, upper, min_abs, max_abs, mean, mean_abs, positive,
            negative.
        """
        return effect_frame(self.names, {name: getattr(self, name) for name in _MATRICES}, backend)

    def _content(self) -> Any:
        names = ("n_members", "complete", "formula", "zero", "n_fits", "n_uncertified", "learned")
        return {
            "names": self.names,
            **{name: getattr(self, name) for name in (*_MATRICES, "sign_agreement", *names)},
            "covers": self.covers,
        }

    def _headline(self) -> str:
        some = f"{count(len(self.names), 'variable')}, {count(self.n_members, 'member')}"
        return some if self.complete else f"{some}, not complete"

    def _sections(self) -> Iterator[str | Table]:
        head = f"total effects over {count(self.n_members, 'member')}"
        if not self.complete:
            head += ", NOT COMPLETE: more members exist, bounds may be wider"
        yield head
        if self.learned:
            yield (
                "these graphs were chosen by a search: neither the doubt about that choice nor the "
                "error of the estimates is in the bounds; averaged_effects has both"
            )
        pairs = effect_pairs(self.nonzero > 0)
        if not pairs:
            yield "no member has an effect of one variable on another"
            return
        numbers = {
            "lower": self.lower,
            "upper": self.upper,
            "min |.|": self.min_abs,
            "mean": self.mean,
        }
        sign, nonzero = self.sign, self.nonzero
        yield effect_table(
            "effect",
            self.names,
            pairs,
            {
                **{heading: quantities(matrix, 4) for heading, matrix in numbers.items()},
                "non-zero in": lambda i, j: percent(float(nonzero[i, j])),
                "sign": lambda i, j: "-?+"[sign[i, j] + 1],
            },
            size=self.max_abs,
        )
        without = len(self.names) * (len(self.names) - 1) - len(pairs)
        if without:
            yield f"no effect in any member: the other {without} pairs"
