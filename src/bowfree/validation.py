"""The words that many functions share: what each option means, and the checks that go with it.

A search has some thirty options and a bootstrap all of those and its own. They fall into groups,
and a group is said once, here, as a :class:`typing.TypedDict`; a function that takes it says
``**options: Unpack[SearchOptions]`` and editors and type checkers know every word. At run time
:func:`split_options` takes the groups apart again and refuses a word that nobody knows.

===================  ==============================================================
:class:`DataOptions`    gaps, ranks, categories, weights; a covariance matrix in place of data
:class:`SpaceOptions`   class of graphs, limits, knowledge: :class:`bowfree.SearchSpace`
:class:`ScoreOptions`   penalty, converged scores or the paper's
:class:`SolverOptions`  how the maximum of one graph's likelihood is looked for
:class:`InferenceOptions`  what standard errors and tests rely on
:class:`BudgetOptions`  random numbers, threads, time: :class:`bowfree.parallel.budget.Budget`
===================  ==============================================================
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeGuard

from bowfree.errors import BowfreeError
from bowfree.parameters import (
    Correlation,
    GraphClass,
    Means,
    Method,
    Missing,
    Penalty,
    Rng,
    StandardErrorKind,
    TestKind,
)
from bowfree.text_reading import short_repr

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from bowfree.parallel.budget import Progress
    from bowfree.space.knowledge import Knowledge


# Beyond this a score is nearly all penalty: rounding swallows what the likelihood says, and with
# 1e308 the score is no finite number.
LARGEST_PENALTY = 1e6

# Of whatever is counted; the core counts some of it with 32 bits.
LARGEST_COUNT = 2**31 - 1


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
    shrinkage : float or "auto"
        Work with ``(1 - shrinkage) S + shrinkage diag(S)``, which is positive definite also when
        n <= d. "auto" is Ledoit and Wolf's choice, which needs the rows.
    missing : {"fiml", "two-stage", "listwise"}
        What to do about missing values; without it they are an error.
    correlation : {"pearson", "spearman", "kendall"}
        Covariances, or ranks, which see through monotone distortions.
    ordinal : sequence of str
        Columns of ordered categories, by their numbers; those that a data frame declares to be
        ordered need not be named.
    weights : array_like of shape (n,) or str
        Sampling weights, or the column that has them.
    means : {"free", "shared"}
        Of several conditions: each has its own mean, the default, or intercepts are shared except
        where an intervention acts, so that shifts of the mean speak for the graph, too.
    """

    cov: Any
    n: float | None
    ddof: int
    shrinkage: float | Literal["auto"]
    missing: Missing | None
    correlation: Correlation
    ordinal: Sequence[str]
    weights: Any
    means: Means


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


class ScoreOptions(TypedDict, total=False):
    """How graphs are scored.

    Attributes
    ----------
    penalty : float or "ebic"
        Weight of ``log n`` per node and edge: 1, the default, is the paper's, 0.5 the usual BIC.
        "ebic", the extended BIC, is ``0.5 + 2 gamma log d / log n``: an edge costs more where there
        are more variables to choose from.
    gamma : float
        Only for ``penalty="ebic"``: between 0, the usual BIC, and 1; 0.5 unless said otherwise.
    smallest_effect : float
        Smallest partial correlation that is worth an edge, 0 unless said otherwise: whatever n is,
        an edge costs at least what it gains, ``-log(1 - smallest_effect**2) / 2`` per observation.
    method : {"newton", "ricf"}
        Converged scores, or those after `max_iter` sweeps of the paper's algorithm.
    max_iter : int
        Only for ``"ricf"``: 10 is the paper's program.
    """

    penalty: Penalty
    gamma: float | None
    smallest_effect: float
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


class InferenceOptions(TypedDict, total=False):
    """What standard errors and tests of a fit rely on.

    Attributes
    ----------
    se : {"standard", "robust", "robust-huber-white", "bootstrap"}
        Standard errors: those of normal theory; sandwiches around expected or observed information,
        which need no normality; or the spread over resampled rows. By default the first where
        the rows are complete and count once, else the second.
    test : {"standard", "satorra-bentler", "yuan-bentler"}
        The chi-square statistic as it is, or scaled for data that are not normal.
    n_bootstrap : int
        Number of samples for ``se="bootstrap"``, 1000 unless said otherwise; `rng` draws them.
    """

    se: StandardErrorKind | None
    test: TestKind | None
    n_bootstrap: int


class GraphScoreOptions(DataOptions, ScoreOptions, SolverOptions, total=False):
    """All options of :func:`bowfree.score`."""


class FitOptions(GraphScoreOptions, InferenceOptions, total=False):
    """All options of :func:`bowfree.fit`."""


class TimeOptions(TypedDict, total=False):
    """How long it may take, and who is told meanwhile; a part of :class:`BudgetOptions`.

    Attributes
    ----------
    time_limit : float
        Seconds after which the function returns what it has, marked as incomplete.
    progress : callable
        Called with a :class:`bowfree.Progress` several times a second.
    """

    time_limit: float | None
    progress: Callable[[Progress], None] | None


class LocalBudgetOptions(TimeOptions, total=False):
    """What may be spent by work that stays in this process; a part of :class:`BudgetOptions`.

    Attributes
    ----------
    time_limit, progress
        As in :class:`TimeOptions`.
    rng : int or numpy.random.Generator
        Anything :func:`numpy.random.default_rng` takes. The same `rng` gives the same result, bit
        for bit, whatever the rest of this group says, unless a time limit strikes.
    n_jobs : int
        Threads; None is one, -1 one for each core.
    """

    rng: Rng
    n_jobs: int | None


class BudgetOptions(LocalBudgetOptions, total=False):
    """What may be spent, and where; the fields of :class:`bowfree.parallel.budget.Budget`.

    Attributes
    ----------
    rng, n_jobs, time_limit, progress
        As in :class:`LocalBudgetOptions`.
    executor : concurrent.futures.Executor
        Where independent pieces of work are done instead of threads of this process.
    """

    executor: Executor | None


def split_options(
    function: str, options: Mapping[Any, Any], *groups: type
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
            close = get_close_matches(name, known, n=1) if isinstance(name, str) else []
            hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(sorted(known))}"
            raise BowfreeError(f"{function} has no option {short_repr(name)}; {hint}")
    return tuple({name: options[name] for name in group if name in options} for group in words)


def check_count(name: str, value: int, least: int) -> int:
    """Return ``value`` as an int, or raise when it is not a whole number >= ``least``."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least:
        raise BowfreeError(
            f"{name} must be a whole number of at least {least}, got {short_repr(value)}"
        )
    if number > LARGEST_COUNT:
        raise BowfreeError(f"{name} = {short_repr(value)} is too large: at most {LARGEST_COUNT:,}")
    return number


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether this is a real number of Python or numpy; True and False are not."""
    # `Real` is an abstract class, and asking it takes long; most numbers are these.
    return type(value) in (int, float) or (isinstance(value, Real) and not isinstance(value, bool))


def check_penalty(value: object, *, also: str = "") -> float:
    """Return the penalty of a score as a float, or raise when it is not a sensible number.

    The error names what is `also` permitted, such as ", or 'ebic'".
    """
    number = as_float(value) if is_number(value) else math.nan
    if not 0.0 <= number <= LARGEST_PENALTY:
        raise BowfreeError(
            f"penalty = {short_repr(value)}: must be a finite number >= 0 and at most "
            f"{LARGEST_PENALTY:g} (1 is the paper's, 0.5 the usual BIC){also}"
        )
    return number


def check_choice(
    name: str,
    value: object,
    choices: Sequence[str],
    error: type[BowfreeError] = BowfreeError,
) -> int:
    """Return the index of ``value`` in ``choices``, or raise an error."""
    if not isinstance(value, str) or value not in choices:
        raise error(f"unknown {name} {short_repr(value)}; choose one of {', '.join(choices)}")
    return choices.index(value)


def check_positive(name: str, value: float) -> float:
    """Return ``value`` as a float, or raise when it is not a positive number (NaN is not)."""
    if not is_number(value) or not value > 0:
        raise BowfreeError(f"{name} must be positive, got {short_repr(value)}")
    return as_float(value)


def check_nonnegative(name: str, value: float) -> float:
    """Return ``value`` as a float, or raise when it is not a number of at least 0."""
    if not is_number(value) or not value >= 0:
        raise BowfreeError(f"{name} = {short_repr(value)}: must be a number of at least 0")
    return as_float(value)


def check_fraction(name: str, value: float) -> float:
    """Return ``value`` as a float, or raise when it does not lie between 0 and 1."""
    if not is_number(value) or not 0 < value < 1:
        raise BowfreeError(f"{name} = {short_repr(value)}: must be a number between 0 and 1")
    return as_float(value)


def as_float(value: float) -> float:
    """Return the number as a float, infinity for one that is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def as_list(
    name: str, values: Any, what: str, error: type[BowfreeError] = BowfreeError
) -> list[Any]:
    """Return a list of what is in a collection, or raise when it is none; `what` it should hold.

    A text passes: whether its letters will do is for the caller to say.
    """
    try:
        return list(values)
    except TypeError:
        raise error(f"{name} is {short_repr(values)}; give a list of {what}") from None


def check_path(name: str, value: object) -> str:
    """Return the path of a file as text, or raise when it cannot be one."""
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    try:
        usable = isinstance(path, str) and b"\0" not in os.fsencode(path) and path != ""
    except UnicodeEncodeError:
        usable = False
    if not isinstance(path, str) or not usable:
        raise BowfreeError(
            f"{name} = {short_repr(value)}: give the path of a file, such as 'out.html'"
        )
    return path
