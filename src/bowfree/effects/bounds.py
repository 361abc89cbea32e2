"""Bounds of total causal effects over an equivalence class (section 4.1 of the paper).

Equivalent graphs fit the data equally well, but their total effects differ. :func:`effect_bounds`
fits every member and returns, for every ordered pair, the smallest and the largest effect. The
paper ranks pairs by the smallest *absolute* effect: if it is not zero, all members have the effect.

A class is a product over the connected components of its skeleton, and effects stay inside a
component. Bounds are therefore computed component by component, in batches of members: the time for
a class of 10^12 members is that of its components, and the memory that of a few matrices.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.joint_moments import JointMoments
from bowfree.data.missing_values import IncompleteRows
from bowfree.data.moments import Moments
from bowfree.data.nominal import split_blocks, to_columns, with_columns
from bowfree.data.options import DataOptions
from bowfree.equivalence.class_members import EquivalenceClass, batch_size, class_components
from bowfree.equivalence.classes import class_by_components
from bowfree.equivalence.decision import aligned
from bowfree.errors import BowfreeError, FitWarning, warn
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.context import context_of
from bowfree.model.effect_tables import (
    Column,
    EffectMatrices,
    effect_pairs,
    effect_table,
    quantities,
)
from bowfree.model.fitting import fit_cells, fit_moments
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import Correlation, Means, Missing, public
from bowfree.results.display import Table, count, percent
from bowfree.results.frozen import Frozen
from bowfree.search.result import LearnedGraph
from bowfree.text_reading import short_repr, truncate
from bowfree.validation import as_list, check_choice, check_count, check_nonnegative

Floats = npt.NDArray[np.float64]

ZERO = 1e-8
"""Default of `zero`, as in the paper's simulations."""

MAX_DISTRICTS = 200_000  # fits that are cached
MAX_WORK = 200_000_000  # of `quick_bounds`, in units of the core: a few seconds

EXTREMES = ("lower", "upper", "min_abs", "max_abs")
MATRICES = (*EXTREMES, "sum", "sum_abs", "positive", "negative")


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
        The variables, in the order of rows and columns; a nominal variable of three or more
        categories is replaced by its indicators, such as "team=b".
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
    n_fits, n_uncertified : int
        Number of fitted districts, and of fits that are not certified to be a maximum.
    formula : {"corrected", "as-published"}
        ``(I - B)^-1``, or the authors' ``(I + B)^-1``.
    zero : float
        Largest absolute effect, in standard deviations, that counts as no effect.
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
    n_fits: int
    n_uncertified: int
    formula: Formula = "corrected"
    zero: float = ZERO
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
        return np.add(self.positive, self.negative)

    @property
    def sign_agreement(self) -> Floats:
        """Share of members with the most frequent sign (+, - or no effect), shape (d, d)."""
        return np.maximum(np.maximum(self.positive, self.negative), 1.0 - self.nonzero)

    @property
    def sign(self) -> npt.NDArray[np.int8]:
        """1 or -1 if all members have a positive or a negative effect, else 0; shape (d, d)."""
        sign: npt.NDArray[np.int8] = (self.positive == 1.0).astype(np.int8)
        sign[self.negative == 1.0] = -1
        return sign

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
        sign, nonzero, noise = self.sign, self.nonzero, 1e-10 * self.max_abs
        pairs = effect_pairs(nonzero > 0)
        if not pairs:
            yield "no member has an effect of one variable on another"
            return
        columns: dict[str, Column] = {
            "lower": quantities(self.lower, 4, noise),
            "upper": quantities(self.upper, 4, noise),
            "min |.|": quantities(self.min_abs, 4, noise),
            "mean": quantities(self.mean, 4, noise),
            "non-zero in": lambda i, j: percent(float(nonzero[i, j])),
            "sign": lambda i, j: "-?+"[sign[i, j] + 1],
        }
        yield effect_table("effect", self.names, pairs, columns, size=self.max_abs)
        without = len(self.names) * (len(self.names) - 1) - len(pairs)
        if without:
            yield f"{count(without, 'other pair')} without an effect in any member"


@public
def effect_bounds(
    graphs: EquivalenceClass | LearnedGraph | Iterable[MixedGraph],
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    shrinkage: float | Literal["auto"] = 0.0,
    missing: Missing | None = None,
    correlation: Correlation = "pearson",
    ordinal: Sequence[str] = (),
    weights: Any = None,
    means: Means = "free",
    nominal: Sequence[str] = (),
    formula: Formula = "corrected",
    limit: int = 1_000_000,
    zero: float = ZERO,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> EffectBounds:
    """Bound the total effects over the members of an equivalence class, or over any graphs.

    The bounds account for one source of uncertainty, which of these graphs is the true one. After a
    search there are two more: whether the search chose the right class, and the sampling error of
    the estimates. :func:`bowfree.averaged_effects` accounts for all three and is the function to
    use for results that are reported.

    Parameters
    ----------
    graphs : EquivalenceClass, EmpiricalClass, result of a search, or iterable of MixedGraph
        The graphs. A search result stands for the equivalence class of its best graph within the
        space of the search (see :func:`bowfree.equivalence_class`), fitted to its own data.
        An iterable is read in batches and not stored.
    limit : int
        Largest number of members of each connected component of the skeleton, or of graphs of an
        iterable. The result says whether there are more.
    time_limit : float, optional
        Seconds after which the bounds of the members fitted so far are returned, at least one of
        each component.

    Warns
    -----
    FitWarning
        If the fit of a district is not certified to be a maximum of the likelihood.

    Examples
    --------
    In the class of a chain, the direction of an effect is not identified:

    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]]
    >>> members = bf.equivalence_class(bf.parse("x -> y -> z"))
    >>> print(bf.effect_bounds(members, cov=S, n=1000))
    total effects over 5 members
    effect   lower   upper  min |.|    mean  non-zero in  sign
    x on y  0.0000  0.5000   0.0000  0.1000         20 %     ?
    x on z  0.0000  0.2000   0.0000  0.0400         20 %     ?
    y on x  0.0000  0.5000   0.0000  0.3000         60 %     ?
    y on z  0.0000  0.4000   0.0000  0.2400         60 %     ?
    z on x  0.0000  0.2000   0.0000  0.0400         20 %     ?
    z on y  0.0000  0.4000   0.0000  0.0800         20 %     ?
    """
    budget = Budget(time_limit=time_limit, progress=progress)
    check_choice("formula", formula, get_args(Formula))
    zero = check_nonnegative("zero", zero)
    check_count("limit", limit, 1)
    members: Any = graphs
    if isinstance(graphs, LearnedGraph):
        members = class_by_components(graphs, limit, budget.seconds_left)
    if isinstance(members, EquivalenceClass):
        graph = members.graph
    else:
        graph, members = read_graphs(members)
    options = DataOptions(
        cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means, nominal
    )
    learned = False
    if isinstance(graphs, LearnedGraph | EquivalenceClass):
        context = context_of(graphs)
        learned = context.learned
        if data is None and cov is None:
            data = context.moments
    moments = read_moments(graph, data, options)
    if isinstance(members, EquivalenceClass) and members.method != "empirical":
        moments = _regular_moments(moments, graph)
    else:
        moments._require_definite("districts of other graphs may be larger")
    counter = effect_counter(moments, formula, zero)
    if isinstance(members, EquivalenceClass):
        bounds = class_bounds(counter, moments, members, limit, budget)
    else:
        bounds = _graph_bounds(counter, moments, members, limit, budget)
    if bounds.n_uncertified:
        warn(
            f"{bounds.n_uncertified} of {bounds.n_fits} district fits are not certified to be a "
            "maximum of the likelihood, and bounds that depend on them may be wrong; see "
            "bowfree.fit on a member",
            FitWarning,
        )
    return replace(bounds, formula=formula, zero=zero, learned=learned)


# --- input ----------------------------------------------------------------------------------------


def read_graphs(graphs: Any) -> tuple[MixedGraph, Iterator[MixedGraph]]:
    """Return the first graph, and an iterator over all with its order of nodes."""
    if isinstance(graphs, MixedGraph):
        raise BowfreeError(
            f"graphs is a single graph ({truncate(str(graphs))}): pass "
            "bowfree.equivalence_class(graph) for its class, or [graph] for its own effects"
        )
    if isinstance(graphs, str) or not isinstance(graphs, Iterable):
        raise BowfreeError(
            f"graphs is {short_repr(graphs)}: pass an equivalence class, a search result, or graphs"
        )
    rest = iter(as_list("graphs", graphs, "graphs") if isinstance(graphs, np.ndarray) else graphs)
    first = next(rest, None)
    if first is None:
        raise BowfreeError("graphs is empty: pass at least one graph")

    def checked(graph: Any) -> MixedGraph:
        if not isinstance(graph, MixedGraph):
            raise BowfreeError(
                f"graphs has {short_repr(graph)}: every element must be a MixedGraph"
            )
        graph.check_bap()
        return aligned(first, graph)

    return checked(first), map(checked, itertools.chain([first], rest))


def read_moments(graph: MixedGraph, data: Any, options: DataOptions) -> Moments:
    """Read the data for graphs whose districts are not known yet."""
    moments = options.read(data, graph)
    if isinstance(moments, JointMoments):
        moments._check(None)
    return moments


def _regular_moments(moments: Moments, graph: MixedGraph) -> Moments:
    """Return moments to which all members of the class of a graph can be fitted.

    With n <= d, other members may have districts that are too large for the singular matrix S, and
    with missing values the likelihood is not a function of S. But equivalent graphs have the same
    fitted covariance matrix, which every one of them fits exactly.
    """
    graph, columns = to_columns(graph, moments)
    fiml = isinstance(columns.sample, IncompleteRows) and columns.sample.approach == "fiml"
    if moments.definite and not fiml:
        return moments
    fit = fit_moments(graph, columns)
    Sigma = (fit_cells(fit) if fiml else fit).Sigma
    return with_columns(moments, Moments._unchecked(graph.nodes, Sigma, moments.n))


def effect_counter(
    moments: Moments,
    formula: Formula,
    zero: float,
    *,
    variances: bool = False,
    Gamma: Floats | None = None,
) -> _core.EffectCounter:
    """Return the accumulator of the core, which caches the fits of districts.

    Variances are those of normal data; with `Gamma`, the covariance matrix of the entries of
    ``sqrt(n) S``, they hold for any distribution.
    """
    sign = 1.0 if formula == "corrected" else -1.0
    columns, sizes = split_blocks(moments)
    data = columns._core_data()
    return _core.EffectCounter(data, sign, zero, MAX_DISTRICTS, variances, Gamma, sizes)


# --- equivalence classes, by component ------------------------------------------------------------


def quick_bounds(members: EquivalenceClass, moments: Moments, limit: int) -> EffectBounds:
    """Bound the effects over a class within a few seconds, with the same result on every machine.

    The work is counted, not timed: after :data:`MAX_WORK` the remaining members are left out.
    """
    moments = _regular_moments(moments, members.graph)
    counter = effect_counter(moments, "corrected", ZERO)
    return class_bounds(counter, moments, members, limit, Budget(), MAX_WORK)


def member_effects(
    graphs: Iterable[MixedGraph], moments: Moments, *, of: str, on: str
) -> Iterator[float]:
    """Yield the total effect of one variable on another in each graph."""
    counter = None
    for graph in graphs:
        if counter is None:
            counter = effect_counter(_regular_moments(moments, graph), "corrected", ZERO)
        counter.reset()
        parents, spouses = graph._bits()
        counter.add_graphs(parents[None], spouses[None], None)
        yield float(counter.tally()["sum"][graph._node(on), graph._node(of)])


def class_bounds(
    counter: _core.EffectCounter,
    moments: Moments,
    members: EquivalenceClass,
    limit: int,
    budget: Budget,
    max_work: float = math.inf,
) -> EffectBounds:
    """Bound the effects over the members of a class, one component at a time."""
    names = split_blocks(moments)[0].names
    d = len(names)
    total = {name: np.zeros((d, d)) if name == "negative" else np.eye(d) for name in MATRICES}
    size, complete, done = 1, members.complete, 0
    components = list(class_components(members))
    planned = sum(min(part.size, limit) for part in components)
    for part in components:
        size *= part.size
        seen = 0
        counter.reset()
        for marks in part.batches(limit):
            seen += counter.add_members(part.pairs, marks, budget.seconds_left if seen else None)
            budget.report_progress("members", done + seen, planned)
            if budget.expired or counter.work >= max_work:
                break
        done += seen
        complete &= seen == part.size
        tally = counter.tally()
        places = counter.columns(sorted({v for pair in part.pairs for v in pair}))
        block = np.ix_(places, places)
        for name in MATRICES:
            divisor = 1.0 if name in EXTREMES else tally["n_members"]
            total[name][block] = tally[name][block] / divisor
    if size == 0:
        raise BowfreeError("no member of the class satisfies the knowledge of the search")
    return _result(names, total, size, complete, counter)


# --- any graphs -----------------------------------------------------------------------------------


def _graph_bounds(
    counter: _core.EffectCounter,
    moments: Moments,
    graphs: Iterator[MixedGraph],
    limit: int,
    budget: Budget,
) -> EffectBounds:
    size, in_time = 0, True
    while in_time and (
        batch := list(itertools.islice(graphs, min(batch_size(size), limit - size)))
    ):
        bits = zip(*(graph._bits() for graph in batch), strict=True)
        parents, spouses = (np.stack(rows) for rows in bits)
        added = counter.add_graphs(parents, spouses, budget.seconds_left if size else None)
        in_time = added == len(batch)
        size += added
        budget.report_progress("members", size, size)
    complete = in_time and next(graphs, None) is None
    tally = counter.tally()
    total = {name: tally[name] / (1.0 if name in EXTREMES else size) for name in MATRICES}
    return _result(split_blocks(moments)[0].names, total, size, complete, counter)


def _result(
    names: tuple[str, ...],
    total: dict[str, Floats],
    size: int,
    complete: bool,
    counter: _core.EffectCounter,
) -> EffectBounds:
    matrices: dict[str, Any] = {name.replace("sum", "mean"): m for name, m in total.items()}
    matrices |= {"n_fits": counter.n_fits, "n_uncertified": counter.n_uncertified}
    return EffectBounds(names=names, n_members=size, complete=complete, **matrices)
