"""The words that many functions share: what each option means, and the checks that go with it.

A search has some thirty options and a bootstrap all of those and its own. They fall into groups,
and a group is said once, here, as a :class:`typing.TypedDict`; a function that takes it says
``**options: Unpack[SearchOptions]`` and editors and type checkers know every word. At run time
:func:`split_options` takes the groups apart again and refuses a word that nobody knows.

===================  ==============================================================
:class:`DataOptions`    a covariance matrix in place of data, and shrinkage
:class:`SpaceOptions`   class of graphs, limits, knowledge: :class:`bowfree.SearchSpace`
:class:`ScoreOptions`   penalty, converged scores or the paper's
:class:`SolverOptions`  how the maximum of one graph's likelihood is looked for
:class:`BudgetOptions`  random numbers, threads, time: :class:`bowfree.budget.Budget`
===================  ==============================================================
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Real
from reprlib import repr as shown
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeGuard

from bowfree.errors import BowfreeError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import numpy as np

    from bowfree.budget import Progress
    from bowfree.space.knowledge import Knowledge

__all__ = ["BudgetOptions", "DataOptions", "ScoreOptions", "SolverOptions", "SpaceOptions"]

Rng: TypeAlias = "int | np.random.Generator | None"
"""What :func:`numpy.random.default_rng` takes."""

GraphClass = Literal["bap", "dag", "bidirected", "ancestral", "arid"]
Method = Literal["newton", "ricf"]

# Beyond this a score is nearly all penalty: rounding swallows what the likelihood says, and with
# 1e308 the score is no finite number.
LARGEST_PENALTY = 1e6


class DataOptions(TypedDict, total=False):
    """The data, besides `data` itself: observations in rows, or moments made before.

    Attributes
    ----------
    cov : array_like of shape (d, d) or data frame
        Covariance matrix, in place of `data`.
    n : int or inf
        Number of observations behind `cov`; ``inf`` for a population covariance matrix.
    ddof : {1, 0}
        `cov` was computed with divisor ``n - ddof``; 1 unless said otherwise, never guessed.
    shrinkage : float
        Work with ``(1 - shrinkage) S + shrinkage diag(S)``; the way out when n <= d.
    """

    cov: Any
    n: float | None
    ddof: int
    shrinkage: float


class SpaceOptions(TypedDict, total=False):
    """Which graphs are considered; the fields of :class:`bowfree.SearchSpace`.

    Given beside ``space=``, they change single fields of it.

    Attributes
    ----------
    graph_class : {"bap", "dag", "bidirected", "ancestral", "arid"}
        Every graph is of this class.
    max_in_degree : int
        Largest number of arrowheads (parents and spouses) at a node.
    max_district : int
        Largest number of nodes in a district.
    max_edges : int
        Largest number of edges.
    knowledge : Knowledge
        Required and forbidden edges, tiers, unconfounded variables.
    """

    graph_class: GraphClass
    max_in_degree: int | None
    max_district: int | None
    max_edges: int | None
    knowledge: Knowledge | None


class PenaltyOption(TypedDict, total=False):
    """The price of an edge.

    Attributes
    ----------
    penalty : float
        Weight of ``log n`` per node and edge: 1, the default, is the paper's, 0.5 the usual BIC.
    """

    penalty: float


class ScoreOptions(PenaltyOption, total=False):
    """How graphs are scored.

    Attributes
    ----------
    penalty : float
        As in :class:`PenaltyOption`.
    method : {"newton", "ricf"}
        Converged scores, or those after `max_iter` sweeps of the paper's algorithm.
    max_iter : int
        Only for ``"ricf"``: 10 is the paper's program.
    """

    method: Method
    max_iter: int | None


class SolverOptions(TypedDict, total=False):
    """How the maximum of one graph's likelihood is looked for.

    Attributes
    ----------
    tol : float
        Only for ``method="ricf"``: the summed absolute change of B and Omega below which it stops,
        by default 1e-6.
    n_starts : int
        Only for ``method="newton"``: number of starts, 1 by default. The likelihood of some graphs
        has several maxima; the best one found is returned, and the fit's ``certificate`` says how
        many were met.
    rng : int or numpy.random.Generator
        For the starts after the first.
    """

    tol: float | None
    n_starts: int
    rng: Rng


class FitOptions(DataOptions, ScoreOptions, SolverOptions, total=False):
    """All options of :func:`bowfree.fit` and :func:`bowfree.score`."""


class LocalBudgetOptions(TypedDict, total=False):
    """What may be spent by work that stays in this process; a part of :class:`BudgetOptions`.

    Attributes
    ----------
    rng : int or numpy.random.Generator
        Anything :func:`numpy.random.default_rng` takes. The same `rng` gives the same result, bit
        for bit, whatever the rest of this group says, unless a time limit strikes.
    n_jobs : int
        Threads; None is one, -1 one for each core.
    time_limit : float
        Seconds after which the function returns what it has, marked as incomplete.
    progress : callable
        Called with a :class:`bowfree.Progress` several times a second.
    """

    rng: Rng
    n_jobs: int | None
    time_limit: float | None
    progress: Callable[[Progress], None] | None


class BudgetOptions(LocalBudgetOptions, total=False):
    """What may be spent, and where; the fields of :class:`bowfree.budget.Budget`.

    Attributes
    ----------
    rng, n_jobs, time_limit, progress
        As in :class:`LocalBudgetOptions`.
    executor : concurrent.futures.Executor
        Where independent pieces of work are done instead of threads of this process.
    """

    executor: Executor | None


def split_options(
    function: str, options: Mapping[str, Any], *groups: type
) -> tuple[dict[str, Any], ...]:
    """Return the options that belong to each of the groups, in their order.

    Raises
    ------
    BowfreeError
        When an option belongs to none of them; it says what was perhaps meant.
    """
    words = [tuple(group.__annotations__) for group in groups]
    known = [word for group in words for word in group]
    for name in options:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(sorted(known))}"
            raise BowfreeError(f"{function} has no option {name!r}; {hint}")
    return tuple({name: options[name] for name in group if name in options} for group in words)


def at_least(name: str, value: int, least: int) -> int:
    """Return ``value`` as an int, or raise when it is not a whole number >= ``least``."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least:
        raise BowfreeError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return number


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether this is a real number of Python or numpy; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def checked_penalty(value: object) -> float:
    """Return the penalty of a score as a float, or raise when it is not a sensible number."""
    if not is_number(value) or not 0.0 <= value <= LARGEST_PENALTY:
        raise BowfreeError(
            f"penalty = {shown(value)}: must be a finite number >= 0 and at most "
            f"{LARGEST_PENALTY:g} (1 is the paper's, 0.5 the usual BIC)"
        )
    return float(value)


def one_of(name: str, value: str, choices: Sequence[str]) -> int:
    """Return the place of ``value`` among ``choices``, or raise."""
    if value not in choices:
        raise BowfreeError(f"unknown {name} {value!r}; choose one of {', '.join(choices)}")
    return choices.index(value)


def positive(name: str, value: float) -> float:
    """Return ``value``, or raise when it is not a positive number (NaN is not)."""
    try:
        fits = bool(value > 0)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise BowfreeError(f"{name} must be positive, got {value!r}")
    return value
