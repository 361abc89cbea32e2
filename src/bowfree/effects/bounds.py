"""Total causal effects that the data allow: bounds over the members of a class (section 4.1).

Equivalent graphs fit the data equally well, but their effects differ: the effect of x on y is 2 in
one member and 0 in another, where the edge points the other way. What can be said is a range:
:func:`effect_bounds` fits every member and keeps, for every ordered pair, the smallest and the
largest effect. The smallest *absolute* effect is what the paper ranks pairs by: if it is not zero,
every member agrees that there is an effect.

A class is a product over the connected components of its skeleton, and an effect stays inside a
component. So bounds are worked out component by component, members as they come: a class of 10^12
members takes no more than its components do, and the memory is that of a few matrices. With several
conditions the class of a search is that of their interventions, which is smaller, and every member
is fitted to all conditions.

Next: :mod:`bowfree.effects.intervention` for what would happen under an intervention,
:mod:`bowfree.uncertainty.averaging` for effects over the classes of all graphs that come close to
the best.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Unpack, get_args

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.joint_moments import JointMoments
from bowfree.data.loader import read_moments
from bowfree.data.missing_values import IncompleteRows
from bowfree.data.moments import Moments
from bowfree.effects.bounds_result import EffectBounds, Formula
from bowfree.equivalence.class_components import (
    batch_size,
    class_components,
    count_options,
    member_batches,
)
from bowfree.equivalence.class_members import EquivalenceClass, marks_of
from bowfree.equivalence.classes import class_by_components
from bowfree.equivalence.decision import aligned
from bowfree.errors import BowfreeError, FitWarning, warn
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fitting import fit_cells, fit_moments
from bowfree.parallel.budget import Budget
from bowfree.search.exhaustive import ExhaustiveResult
from bowfree.search.result import SearchResult
from bowfree.text_reading import short_repr, truncate
from bowfree.validation import (
    DataOptions,
    TimeOptions,
    check_choice,
    check_count,
    check_nonnegative,
    split_options,
)

Floats = npt.NDArray[np.float64]

ZERO = 1e-8
"""Effects up to this size are zero, as in the paper's simulations."""

MAX_MEMBERS = 1_000_000
"""Most members of one component that are looked at, unless the caller says otherwise."""

_MAX_DISTRICTS = 200_000  # fits remembered at a time
_MOST_WORK = 200_000_000  # of `prompt_bounds`, as the core counts it: a few seconds


class EffectBoundsOptions(DataOptions, TimeOptions, total=False):
    """All options of :func:`bowfree.effect_bounds` that are not said in its own signature."""


def effect_bounds(
    graphs: EquivalenceClass | SearchResult | ExhaustiveResult | Iterable[MixedGraph],
    data: Any = None,
    *,
    effects: Formula = "corrected",
    limit: int | None = None,
    zero: float = ZERO,
    **options: Unpack[EffectBoundsOptions],
) -> EffectBounds:
    """Bound the total effects over the members of a class, or over any graphs.

    The bounds are about one kind of doubt, which of these graphs is true. After a search there are
    two more, whether it chose the right class and how exact the estimates are:
    :func:`bowfree.averaged_effects` has all three, and is the answer to report.

    Parameters
    ----------
    graphs : EquivalenceClass, EmpiricalClass, result of a search, or iterable of MixedGraph
        The members. The result of a search stands for the exact class of its best graph, as far as
        the search left it open (see :func:`bowfree.equivalence_class`), and brings its own data.
        Graphs of an iterable are taken as they come and not kept.
    data : array_like of shape (n, d), data frame or Moments, optional
        Observations in rows.
    effects : {"corrected", "as-published"}
        ``(I - B)^-1``, which is what a total effect is, or ``(I + B)^-1``, which the program behind
        the paper's figures computed: paths with an odd number of edges enter with the wrong sign.
    limit : int, optional
        At most this many members of each connected component of the skeleton (of an iterable, in
        all); by default 1,000,000. The result says if more exist.
    zero : float
        Effects with an absolute value up to this count as none.
    **options
        ``cov``, ``n``, ``ddof``, ``shrinkage``: a covariance matrix in place of `data`
        (:class:`~bowfree.validation.DataOptions`); ``time_limit``, ``progress``: what may be spent
        (:class:`~bowfree.validation.TimeOptions`). When the time is up, the bounds are those of the
        members seen so far, at least one of each component.

    Returns
    -------
    EffectBounds

    Raises
    ------
    BowfreeError
        No members at all, or a single graph instead of several.

    Warns
    -----
    FitWarning
        When a district's fit is not certified to be a maximum.

    Examples
    --------
    In the class of a chain, an effect of x on y cannot be told from the reverse:

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

    A collider is the same in all members, and so are the effects on it:

    >>> members = bf.equivalence_class(bf.parse("x -> y <- z, y -> w"))
    >>> S = [[1, .5, 0, .3], [.5, 1, .5, .6], [0, .5, 1, .3], [.3, .6, .3, 1]]
    >>> bounds = bf.effect_bounds(members, cov=S, n=1000)
    >>> print(bounds.effect(of="y", on="w"))
    y on w: 0.6000 to 0.6000, mean 0.6000, non-zero in 100 %

    References
    ----------
    Sections 3.3 and 4.1 of the paper, equation (causaleffect) of section 2.2.
    """
    data_options, time_options = split_options("effect_bounds", options, DataOptions, TimeOptions)
    budget = Budget(**time_options)
    check_choice("effects", effects, get_args(Formula))
    zero = check_nonnegative("zero", zero)
    most = MAX_MEMBERS if limit is None else check_count("limit", limit, 1)
    members: Any = (
        class_by_components(graphs, most, budget.seconds_left)
        if isinstance(graphs, SearchResult | ExhaustiveResult)
        else given_iterable(graphs)
    )
    if isinstance(members, EquivalenceClass):
        graph = members.graph
    else:
        graph, members = given_first(members)
    moments = read_given(graphs, graph, data, data_options)
    if isinstance(members, EquivalenceClass) and members.method != "empirical":
        moments = _regular(moments, graph)
    else:
        moments._require_definite("districts of other graphs may be larger")
    counter = effect_counter(moments, effects, zero)
    if isinstance(members, EquivalenceClass):
        bounds = class_bounds(counter, members, most, budget, effects, zero)
    else:
        bounds = _graph_bounds(counter, members, most, budget, effects, zero)
    if isinstance(graphs, SearchResult | ExhaustiveResult):
        bounds = replace(bounds, learned=True)
    if bounds.n_uncertified:
        warn(
            f"{bounds.n_uncertified} of {bounds.n_fits} district fits are not certified to be a "
            "maximum of the likelihood; bounds that rest on them may be off (see bowfree.fit on "
            "a member)",
            FitWarning,
        )
    return bounds


# --- what was given -------------------------------------------------------------------------------


def given_iterable(graphs: Any) -> Any:
    """Return the graphs, or say why they are none."""
    if isinstance(graphs, MixedGraph):
        raise BowfreeError(
            f"a single graph ({truncate(str(graphs))}) was given: pass "
            "bowfree.equivalence_class(graph) for its class, or [graph] for its own effects"
        )
    if hasattr(type(graphs), "__iter__") and not isinstance(graphs, str):
        with suppress(TypeError):  # an array of no dimension
            iter(graphs)
            return graphs
    raise BowfreeError(
        f"graphs is {short_repr(graphs)}: give an equivalence class, a search result, or graphs"
    )


def given_first(graphs: Iterable[MixedGraph]) -> tuple[MixedGraph, Iterator[MixedGraph]]:
    """Look at the first graph, whose nodes are those of the result."""
    rest = iter(graphs)
    first = next(rest, None)
    if first is None:
        raise BowfreeError("no graphs were given: bounds need at least one member")
    if not isinstance(first, MixedGraph):
        raise BowfreeError(f"graphs holds {short_repr(first)}: every member must be a MixedGraph")
    return first, itertools.chain([first], rest)


def given_moments(
    graphs: Any, graph: MixedGraph, data: Any, data_options: Mapping[str, Any]
) -> Moments:
    """Return the moments of graphs of all kinds, so that all of S must be regular."""
    moments = read_given(graphs, graph, data, data_options)
    moments._require_definite("districts of other graphs may be larger")
    return moments


def read_given(
    graphs: Any, graph: MixedGraph, data: Any, data_options: Mapping[str, Any]
) -> Moments:
    """Return the moments; the result of a search brings its own."""
    if data is None and data_options.get("cov") is None:
        data = getattr(graphs, "moments", None)
    moments = read_moments(data, graph=graph, **data_options)
    if isinstance(moments, JointMoments):
        moments._check(None)  # districts of the other members are not known yet
    return moments


def _regular(moments: Moments, graph: MixedGraph) -> Moments:
    """Return moments that all members of a graph's class can be fitted to, with the same outcome.

    With n <= d other members may have districts too large for S, which is singular; and with gaps
    the maximum is that of the cells, not of S. But equivalent graphs have the same maximum, and
    every one of them fits that exactly.
    """
    cells = isinstance(moments.sample, IncompleteRows) and moments.sample.approach == "fiml"
    if moments.definite and not cells:
        return moments
    fit = fit_moments(graph, moments)
    return Moments._unchecked(graph.nodes, (fit_cells(fit) if cells else fit).Sigma, moments.n)


def effect_counter(
    moments: Moments, formula: Formula, zero: float, *, variances: bool = False
) -> _core.EffectCounter:
    """Return the core's accumulator; its fits are shared by all that is counted with it."""
    sign = 1.0 if formula == "corrected" else -1.0
    return _core.EffectCounter(moments._core_data(), sign, zero, _MAX_DISTRICTS, variances)


# --- an equivalence class, component by component -------------------------------------------------


def prompt_bounds(members: EquivalenceClass, moments: Moments, limit: int) -> EffectBounds:
    """Bound the effects over a class within seconds, and to the same numbers on every machine.

    A member whose districts have all been met before costs next to nothing, while a large new one
    takes a millisecond: members are left out, as with a limit, once the fits have taken so much.
    """
    counter = effect_counter(_regular(moments, members.graph), "corrected", ZERO)
    return class_bounds(counter, members, limit, Budget(), "corrected", ZERO, _MOST_WORK)


def class_bounds(
    counter: _core.EffectCounter,
    members: EquivalenceClass,
    limit: int,
    budget: Budget,
    formula: Formula,
    zero: float,
    most_work: float = math.inf,
) -> EffectBounds:
    """Bound the effects over a class by way of its components."""
    d = len(members.graph)
    total = {name: np.zeros((d, d)) for name in _MATRICES}
    for name in ("lower", "upper", "min_abs", "max_abs", "sum", "sum_abs", "positive"):
        np.fill_diagonal(total[name], 1.0)
    size, complete = 1, members.complete
    components = list(class_components(members))
    planned = sum(min(count_options(factors), limit) for _, factors in components)
    done = 0
    for edges, factors in components:
        own = np.array(marks_of(members.graph, [members._edges[e] for e in edges]), dtype=np.uint8)
        options = count_options(factors)
        size *= options
        counter.reset()
        ends, seen = [members._edges[e] for e in edges], 0
        for marks in member_batches(edges, own, factors, min(options, limit)):
            seen += counter.add_marks(ends, marks, budget.seconds_left if seen else None)
            budget.report_progress("members", done + seen, planned)
            if budget.expired or counter.work >= most_work:
                break
        done += seen
        complete &= seen == options
        tally = counter.tally()
        nodes = sorted({v for e in edges for v in members._edges[e]})
        block = np.ix_(nodes, nodes)
        for name in _MATRICES:
            share = 1.0 if name in _EXTREMES else tally["n_members"]
            total[name][block] = tally[name][block] / share
    if size == 0:
        raise BowfreeError(
            "no member of the class satisfies the knowledge of the search: nothing to bound"
        )
    return _bounds(members.graph.nodes, total, size, complete, formula, zero, counter)


_EXTREMES = ("lower", "upper", "min_abs", "max_abs")
_MATRICES = (*_EXTREMES, "sum", "sum_abs", "positive", "negative")


# --- any graphs, as they come ---------------------------------------------------------------------


def _graph_bounds(
    counter: _core.EffectCounter,
    graphs: Iterator[MixedGraph],
    limit: int,
    budget: Budget,
    formula: Formula,
    zero: float,
) -> EffectBounds:
    first, size, in_time = None, 0, True
    while in_time and (
        batch := list(itertools.islice(graphs, min(batch_size(size), limit - size)))
    ):
        first = first or batch[0]
        bits = zip(*(given_checked(graph, first)._bits() for graph in batch), strict=True)
        parents, spouses = (np.stack(rows) for rows in bits)
        added = counter.add_graphs(parents, spouses, budget.seconds_left if size else None)
        in_time = added == len(batch)
        size += added
        budget.report_progress("members", size, size)
    complete = in_time and next(graphs, None) is None
    tally = counter.tally()
    total = {name: tally[name] / (1.0 if name in _EXTREMES else size) for name in _MATRICES}
    assert first is not None  # `given_first` has seen to it
    return _bounds(first.nodes, total, size, complete, formula, zero, counter)


def given_checked(graph: MixedGraph, first: MixedGraph) -> MixedGraph:
    """Return a member with the nodes in the order of the first."""
    if not isinstance(graph, MixedGraph):
        raise BowfreeError(f"graphs holds {short_repr(graph)}: every member must be a MixedGraph")
    graph.check_bap()
    return aligned(first, graph)


def _bounds(
    names: tuple[str, ...],
    total: dict[str, Floats],
    size: int,
    complete: bool,
    formula: Formula,
    zero: float,
    counter: _core.EffectCounter,
) -> EffectBounds:
    for matrix in total.values():
        matrix.setflags(write=False)
    return EffectBounds(
        names=names,
        lower=total["lower"],
        upper=total["upper"],
        min_abs=total["min_abs"],
        max_abs=total["max_abs"],
        mean=total["sum"],
        mean_abs=total["sum_abs"],
        positive=total["positive"],
        negative=total["negative"],
        n_members=size,
        complete=complete,
        formula=formula,
        zero=zero,
        n_fits=counter.n_fits,
        n_uncertified=counter.n_uncertified,
    )
