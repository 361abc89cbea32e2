"""Bounds of total effects over several graphs; computed by :func:`bowfree.effect_bounds`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from bowfree.model.effect_tables import EffectMatrices, effect_pairs, effect_table, quantities
from bowfree.results.display import Table, count, percent
from bowfree.results.frozen import Frozen

Floats = npt.NDArray[np.float64]
Formula = Literal["corrected", "as-published"]
Uncertainty = Literal["estimates", "members", "classes"]
"""Sources of uncertainty about an effect: sampling error, the member of the equivalence class, and
the class."""


@dataclass(frozen=True, eq=False, repr=False)
class EffectBounds(EffectMatrices, Frozen):
    """Total effects over several graphs; entry ``[i, j]`` is about the effect of j on i.

    ``effect(of=, on=)`` returns one pair, ``to_frame()`` all of them. The matrices have the same
    names as those of :class:`bowfree.AveragedEffects`; `covers` names the sources of uncertainty
    that the distance from `lower` to `upper` accounts for.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of rows and columns.
    lower, upper : ndarray of shape (d, d)
        Smallest and largest effect.
    min_abs, max_abs : ndarray of shape (d, d)
        Smallest and largest absolute effect.
    mean, mean_abs : ndarray of shape (d, d)
        Mean of the effect, and of its absolute value, over the members.
    positive, negative : ndarray of shape (d, d)
        Share of members with a positive and with a negative effect.
    n_members : int
        Number of members.
    complete : bool
        False if a limit left out members; the true bounds may be wider.
    formula : {"corrected", "as-published"}
        ``(I - B)^-1``, or the authors' ``(I + B)^-1``.
    zero : float
        Largest absolute effect, in standard deviations, that counts as no effect.
    n_fits, n_uncertified : int
        Number of fitted districts, and of fits that are not certified to be a maximum.
    learned : bool
        Whether the class was chosen by a search.
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

    _columns: ClassVar = (
        "lower", "upper", "min_abs", "max_abs", "mean", "mean_abs", "positive", "negative"
    )  # fmt: skip

    @property
    def covers(self) -> tuple[Uncertainty, ...]:
        """Sources of uncertainty that `lower` and `upper` account for: only the member."""
        return ("members",)

    @property
    def nonzero(self) -> Floats:
        """Share of members with an effect, shape (d, d)."""
        share: Floats = self.positive + self.negative
        return share

    @property
    def sign_agreement(self) -> Floats:
        """Share of members with the most frequent sign (+, - or no effect), shape (d, d)."""
        share: Floats = np.maximum.reduce([self.positive, self.negative, 1.0 - self.nonzero])
        return share

    @property
    def sign(self) -> npt.NDArray[np.int8]:
        """1 or -1 if all members have a positive or a negative effect, else 0; shape (d, d)."""
        signs: npt.NDArray[np.int8] = np.subtract(
            self.positive == 1.0, self.negative == 1.0, dtype=np.int8
        )
        return signs

    def _content(self) -> Any:
        names = ("n_members", "complete", "formula", "zero", "n_fits", "n_uncertified", "learned")
        return {
            "names": self.names,
            **{name: getattr(self, name) for name in (*self._columns, "sign_agreement", *names)},
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
                "the class was chosen by a search: the bounds account neither for this choice nor "
                "for sampling error; averaged_effects does"
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
            yield f"{count(without, 'other pair')} without an effect in any member"
