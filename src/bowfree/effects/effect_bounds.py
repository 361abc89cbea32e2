"""The range of every total effect over several graphs; made by :func:`bowfree.effect_bounds`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree.graph.text import quote

__all__ = ["EffectBounds"]

Floats = npt.NDArray[np.float64]
Formula = Literal["corrected", "as-published"]


@dataclass(frozen=True, eq=False)
class EffectBounds:
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, as for JSON."""
        matrices = ("lower", "upper", "min_abs", "max_abs", "mean", "mean_abs")
        return {
            "names": list(self.names),
            **{name: getattr(self, name).tolist() for name in matrices},
            "positive": self.positive.tolist(),
            "negative": self.negative.tolist(),
            "sign_agreement": self.sign_agreement.tolist(),
            "n_members": self.n_members,
            "complete": self.complete,
            "formula": self.formula,
            "zero": self.zero,
            "n_fits": self.n_fits,
            "n_uncertified": self.n_uncertified,
        }

    def __str__(self) -> str:
        count = f"{self.n_members:,} member{'s' * (self.n_members != 1)}"
        head = f"total effects over {count}"
        if not self.complete:
            head += ", NOT COMPLETE: more members exist, bounds may be wider"
        rows: list[tuple[str, ...]] = [
            ("effect", "lower", "upper", "min |.|", "mean", "non-zero in", "sign")
        ]
        d = len(self.names)
        pairs = [(j, i) for j in range(d) for i in range(d) if i != j and self.nonzero[i, j] > 0]
        for j, i in pairs:
            numbers = (self.lower, self.upper, self.min_abs, self.mean)
            rows.append(
                (
                    f"{quote(self.names[j])} on {quote(self.names[i])}",
                    *(f"{matrix[i, j]:.4f}" for matrix in numbers),
                    f"{100 * self.nonzero[i, j]:.0f} %",
                    {1: "+", -1: "-", 0: "?"}[int(self.sign[i, j])],
                )
            )
        width = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = [
            "  ".join([row[0].ljust(width[0]), *map(str.rjust, row[1:], width[1:])]) for row in rows
        ]
        if not pairs:
            return f"{head}\nno member has an effect of one variable on another"
        without = d * (d - 1) - len(pairs)
        tail = [f"no effect in any member: the other {without} pairs"] if without else []
        return "\n".join([head, *lines, *tail])

    def __repr__(self) -> str:
        return f"<EffectBounds: {self.n_members} members, complete={self.complete}>"
