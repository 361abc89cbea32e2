"""How a graph is scored: the penalty, and whether fits are converged or the paper's.

A search keeps its rule in its result, so that whoever goes on from there scores graphs alike.
"""

from __future__ import annotations

from dataclasses import dataclass

from bowfree.errors import BowfreeError
from bowfree.options import Method, at_least, checked_penalty, one_of

__all__ = ["DEFAULT_RULE", "ScoringRule"]


@dataclass(frozen=True)
class ScoringRule:
    """The options of :class:`bowfree.options.ScoreOptions`, checked.

    Parameters
    ----------
    penalty : float
        Weight of ``log n`` per node and edge: 1 is the paper's, 0.5 the usual BIC.
    method : {"newton", "ricf"}
        Converged scores, or those after `max_iter` sweeps of the paper's algorithm.
    max_iter : int, optional
        Only for ``"ricf"``: largest number of sweeps, by default 1000.
    """

    penalty: float = 1.0
    method: Method = "newton"
    max_iter: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "penalty", checked_penalty(self.penalty))
        one_of("method", self.method, ("newton", "ricf"))
        if self.method == "newton" and self.max_iter is not None:
            raise BowfreeError(
                "max_iter is an option of method='ricf'; 'newton' runs until it is certified"
            )
        if self.max_iter is not None:
            at_least("max_iter", self.max_iter, 1)

    @property
    def sweeps(self) -> int:
        """The number of RICF sweeps behind a score, 0 for a converged one."""
        if self.method == "newton":
            return 0
        return 1000 if self.max_iter is None else int(self.max_iter)


DEFAULT_RULE = ScoringRule()
