"""How a graph is scored: the price of an edge, and whether fits are converged or the paper's.

A search keeps its rule in its result, so that whoever goes on from there scores graphs alike.

There is one price of an edge, ``penalty * log n``, and there are three ways to say it: a number;
``penalty="ebic"``, for many variables; ``smallest_effect=``, for many observations. The last two
depend on the data, and become a number when these are known (:meth:`ScoringRule.settled`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from bowfree.errors import BowfreeError
from bowfree.parameters import Method, Penalty
from bowfree.text_reading import short_repr
from bowfree.validation import check_choice, check_count, check_penalty, is_number

DEFAULT_GAMMA = 0.5


@dataclass(frozen=True)
class ScoringRule:
    """The options of :class:`bowfree.validation.ScoreOptions`, checked.

    Parameters
    ----------
    penalty : float or "ebic"
        Weight of ``log n`` per node and edge: 1 is the paper's, 0.5 the usual BIC, "ebic" the
        extended BIC.
    method : {"newton", "ricf"}
        Converged scores, or those after `max_iter` sweeps of the paper's algorithm.
    max_iter : int, optional
        Only for ``"ricf"``: largest number of sweeps, by default 1000.
    gamma : float, optional
        Only for ``penalty="ebic"``: between 0 and 1, by default 0.5.
    smallest_effect : float
        Smallest partial correlation that is worth an edge.

    Attributes
    ----------
    origin : str
        What the penalty of a settled rule comes from, where it is not the number that was given.

    References
    ----------
    Section 2.3 of the paper. R. Foygel and M. Drton, Extended Bayesian information criteria for
    Gaussian graphical models, *NIPS 23* (2010).
    """

    penalty: Penalty = 1.0
    method: Method = "newton"
    max_iter: int | None = None
    gamma: float | None = None
    smallest_effect: float = 0.0
    origin: str = field(default="", init=False)

    def __post_init__(self) -> None:
        extended = isinstance(self.penalty, str) and self.penalty == "ebic"
        if not extended:
            object.__setattr__(self, "penalty", check_penalty(self.penalty, also=", or 'ebic'"))
        if self.gamma is not None and not extended:
            raise BowfreeError("gamma is an option of penalty='ebic'; leave it out with a number")
        if self.gamma is not None and not (is_number(self.gamma) and 0 <= self.gamma <= 1):
            raise BowfreeError(
                f"gamma = {short_repr(self.gamma)}: must be a number between 0 and 1"
            )
        if not is_number(self.smallest_effect) or not 0 <= self.smallest_effect < 1:
            raise BowfreeError(
                f"smallest_effect = {short_repr(self.smallest_effect)}: must be a partial correlation, "
                "a number of at least 0 (no edge is too weak) and less than 1"
            )
        check_choice("method", self.method, ("newton", "ricf"))
        if self.method == "newton" and self.max_iter is not None:
            raise BowfreeError(
                "max_iter is an option of method='ricf'; 'newton' runs until it is certified"
            )
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter, 1)

    @property
    def sweeps(self) -> int:
        """The number of RICF sweeps behind a score, 0 for a converged one."""
        if self.method == "newton":
            return 0
        return 1000 if self.max_iter is None else int(self.max_iter)

    @property
    def weight(self) -> float:
        """The penalty as a number; the rule must have been settled."""
        if isinstance(self.penalty, str):
            raise TypeError(f"penalty {self.penalty!r} hangs on the data: settle the rule first")
        return self.penalty

    def settled(self, n: float, d: int) -> ScoringRule:
        """Return the rule with a number for its penalty, for n observations of d variables.

        Examples
        --------
        >>> from bowfree.model.scoring_rule import ScoringRule
        >>> rule = ScoringRule("ebic", smallest_effect=0.01).settled(1000, 50)
        >>> round(rule.weight, 4), rule.origin
        (1.0663, "that of penalty='ebic' with gamma = 0.5 and 50 variables")
        """
        if self.origin:
            return self
        weight, origin = self.penalty, ""
        if isinstance(weight, str):
            gamma = DEFAULT_GAMMA if self.gamma is None else float(self.gamma)
            weight = 0.5 + 2 * gamma * math.log(d) / math.log(n)
            origin = f"that of penalty='ebic' with gamma = {gamma:g} and {d} variables"
        if self.smallest_effect and math.isfinite(n):
            least = -0.5 * math.log1p(-(self.smallest_effect**2)) * n / math.log(n)
            if least > weight:
                weight = least
                origin = f"the price of smallest_effect = {self.smallest_effect:g}"
        if not origin:
            return self
        made = replace(self, penalty=1.0, gamma=None, smallest_effect=0.0)
        # Past the check: the price of a smallest effect may be larger than a penalty by hand.
        vars(made).update(penalty=weight, origin=origin)
        return made


DEFAULT_RULE = ScoringRule()
