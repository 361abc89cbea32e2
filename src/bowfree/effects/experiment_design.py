"""Which experiment to do next: what an intervention would tell about the graphs left open.

Data without interventions leave a whole class of graphs. An experiment on x splits it: graphs in
which y hangs on x and graphs in which it does not will disagree about what happens to y. The split
is known beforehand, from the graphs alone, because equivalence under interventions is decided
exactly (:mod:`bowfree.equivalence.targets`). So for each possible experiment we can say into how
many classes the present one would fall, how many members would be left, and how many ends of edges
would be settled.

Members need not be compared in pairs. All have one model, so that one covariance matrix Sigma of it
belongs to all of them, each with its own parameters; what an intervention makes of these is one
matrix for each member, and equal matrices are one class (``cpp/equivalence/splitting.cpp``).

Next: :func:`bowfree.equivalence_class` with ``targets=``, for the class that is left after an
experiment.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, get_args

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.effects.design_result import Design, Experiment
from bowfree.equivalence.class_components import class_components, count_options, member_batches
from bowfree.equivalence.class_members import EquivalenceClass, marks_of
from bowfree.equivalence.classes import class_by_components
from bowfree.equivalence.decision import algebra_seed
from bowfree.equivalence.targets import (
    Kind,
    Targets,
    TargetSets,
    given_targets,
    target_set,
    targets_of,
    telling,
)
from bowfree.errors import BowfreeError
from bowfree.graph.encodings import BACKWARD, FORWARD
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parallel.budget import Budget
from bowfree.space.search_space import SearchSpace
from bowfree.text_reading import short_repr
from bowfree.validation import LocalBudgetOptions, as_list, check_count, split_options

if TYPE_CHECKING:
    from bowfree.uncertainty.average_result import AveragedEffects

MOST_MEMBERS = 100_000
"""Members of a component that are looked at, unless the caller says otherwise."""

MOST_AVERAGED = 2_000
"""The same for each class of an average, of which there may be hundreds."""

MOST_EXPERIMENTS = 10_000
_AT_ONCE = 2_000_000  # members times experiments in one call of the core: 40 MB

Names = tuple[str, ...]


def design(
    graph: GraphLike | EquivalenceClass | AveragedEffects,
    *,
    candidates: Iterable[Iterable[str] | str] | None = None,
    max_targets: int = 1,
    kind: Kind = "perfect",
    targets: TargetSets | None = None,
    space: SearchSpace | None = None,
    limit: int | None = None,
    **options: Unpack[LocalBudgetOptions],
) -> Design:
    r"""Say what each possible experiment would tell about the graphs that are still open.

    Parameters
    ----------
    graph : MixedGraph, result of a search, EquivalenceClass or AveragedEffects
        What is known. A graph stands for its class, the result of a search for the class of its
        best graph as far as the search left it open. An average stands for all its classes, each
        with its weight.
    candidates : iterable of str or of sets of str, optional
        The variables that can be intervened on, by default all; or the experiments themselves, each
        a set of variables.
    max_targets : int
        Look at all experiments on up to this many of the variables at once.
    kind : {"perfect", "mechanism", "activity", "noise"}
        What an experiment would do to its targets (:mod:`bowfree.equivalence.targets`).
    targets : sequence of sets of str, optional
        The conditions there are already, of the same kind, as for
        :func:`bowfree.equivalence_class`; by default those of the data that a search or an average
        is about, and one without interventions for a graph. A class brings its own. What is brought
        along may be of other kinds.
    space : SearchSpace, optional
        Which members count; the result of a search brings its own.
    limit : int, optional
        At most this many members of each connected component of the skeleton, by default 100,000
        (2,000 for each class of an average). The result says if there were more.
    **options
        ``rng``, ``n_jobs``, ``time_limit``, ``progress``: what may be spent
        (:class:`~bowfree.validation.LocalBudgetOptions`). The answer does not depend on `rng`, see
        :func:`bowfree.equivalent`. When the time is up, the experiments looked at so far are
        returned.

    Returns
    -------
    Design

    Raises
    ------
    BowfreeError
        No member, no candidate, or options that make no sense.
    GraphError
        A candidate that is no node.

    Notes
    -----
    With N members in classes of sizes :math:`N_1, N_2, \ldots` after the experiment, the expected
    number of members left is :math:`\sum N_k^2 / N`: each member is the truth with probability
    1 / N. Sampling error is not in these numbers: they are what unlimited data would tell.

    Examples
    --------
    Of a chain nothing but its skeleton is known. An experiment in the middle tells most:

    >>> import bowfree as bf
    >>> print(bf.design(bf.parse("x -> y -> z")))
    now: 5 members, 0 of 4 ends settled
    experiment (perfect)  classes  settled ends  members left
    y                           3           3.2           1.8
    x                           2           1.6           3.4
    z                           2           1.6           3.4
    """
    from bowfree.uncertainty.average_result import AveragedEffects

    (budget_options,) = split_options("design", options, LocalBudgetOptions)
    budget = Budget(**budget_options)
    most = MOST_AVERAGED if isinstance(graph, AveragedEffects) else MOST_MEMBERS
    most = most if limit is None else check_count("limit", limit, 1)
    nodes = graph.names if isinstance(graph, AveragedEffects) else graph_of(graph).nodes
    known = _conditions_at_hand(graph, targets, kind, nodes)
    experiments = _experiments(candidates, check_count("max_targets", max_targets, 1), nodes)
    weights, classes, complete = _classes(graph, known, space, most, budget)
    now = _mean(weights, [_together(part.now for part in parts) for parts in classes])
    n_members = sum(len(part.marks) for parts in classes for part in parts)
    at_once = max(1, _AT_ONCE // max(n_members, 1))
    found: list[Experiment] = []
    budget.report_progress("experiments", 0, len(experiments))
    for begin in range(0, len(experiments), at_once):
        sets = experiments[begin : begin + at_once]
        left = _split_classes(classes, sets, kind, budget)
        if left is None:
            break  # the time is up
        found += [
            Experiment(names, *_mean(weights, [of_class[k] for of_class in left]))
            for k, names in enumerate(sets)
        ]
        budget.report_progress("experiments", len(found), len(experiments))
    complete &= len(found) == len(experiments)
    found.sort(key=_rank)
    return Design(
        names=nodes,
        experiments=tuple(found),
        n_members=now.members,
        settled_ends=now.settled,
        n_ends=_weighted(weights, [sum(part.n_ends for part in parts) for parts in classes]),
        targets=known.sets,
        kind=kind,
        n_averaged=len(classes),
        complete=complete,
    )


def _rank(experiment: Experiment) -> tuple[float, float, int]:
    """Say which experiment comes first; where all is equal, the one named first."""
    # Sums in another order differ in their last digits only, and should not decide.
    return (
        -round(experiment.settled_ends, 9),
        round(experiment.members_left, 9),
        len(experiment.targets),
    )


# --- what was given -------------------------------------------------------------------------------


def _conditions_at_hand(
    graph: Any, targets: TargetSets | None, kind: Kind, nodes: Names
) -> Targets:
    """Return the conditions there are; a class brings its own, and so do data."""
    from bowfree.uncertainty.average_result import AveragedEffects

    given = given_targets(targets, kind, nodes)
    if isinstance(graph, EquivalenceClass) and graph.method == "empirical":
        raise BowfreeError(
            "an empirical class holds graphs with different models, which more of the same data "
            "tell apart; give an equivalence class, or an average for several of them"
        )
    if isinstance(graph, EquivalenceClass):
        if targets is not None:
            raise BowfreeError(
                f"the class was made for targets = {short_repr(graph.targets)}: leave out `targets`, or "
                "give its graph instead"
            )
        return Targets(nodes, graph.targets, graph.kind)
    if targets is None and isinstance(graph, AveragedEffects):
        given = Targets(nodes, graph.targets, graph.kind)
    elif targets is None:
        given = targets_of(getattr(graph, "moments", None), nodes)
    given.check_seen("a design")
    return given


def _experiments(candidates: Any, max_targets: int, nodes: Names) -> list[Names]:
    """Return the target sets to look at, each once."""
    if isinstance(candidates, str):
        raise BowfreeError(
            f"candidates is {short_repr(candidates)}: give a list of variables, as in ['x', 'y'], or of "
            "sets of them"
        )
    given = nodes if candidates is None else as_list("candidates", candidates, "variables or sets")
    sets = [target_set(item, nodes) for item in given]
    if not sets or not all(sets):
        raise BowfreeError("an experiment needs a target: name at least one variable to act on")
    singles = all(isinstance(item, str) for item in given)
    if max_targets > 1 and not singles:
        raise BowfreeError(
            f"max_targets = {max_targets}: give single variables as candidates to have them "
            "combined, or the sets themselves and no max_targets"
        )
    if not singles:
        return list(dict.fromkeys(sets))
    names = [name for name in nodes if (name,) in set(sets)]
    sizes = range(1, min(max_targets, len(names)) + 1)
    if (n := sum(math.comb(len(names), size) for size in sizes)) > MOST_EXPERIMENTS:
        raise BowfreeError(
            f"{n:,} experiments on up to {max_targets} of {len(names)} variables: at most "
            f"{MOST_EXPERIMENTS:,} are looked at; lower max_targets or name candidates"
        )
    return [chosen for size in sizes for chosen in combinations(names, size)]


def _classes(
    graph: Any, known: Targets, space: SearchSpace | None, most: int, budget: Budget
) -> tuple[list[float], list[list[Part]], bool]:
    """Return what is open now: weights, classes taken apart, and whether these are all.

    Half of the time is for this.
    """
    from bowfree.uncertainty.average_result import AveragedEffects

    if space is not None and not isinstance(space, SearchSpace):
        raise BowfreeError(f"space is {short_repr(space)}: give a bowfree.SearchSpace")
    heads: Sequence[tuple[float, Any]] = (
        [(one.weight, one.graph) for one in graph.classes]
        if isinstance(graph, AveragedEffects)
        else [(1.0, graph)]
    )
    weights: list[float] = []
    classes: list[list[Part]] = []
    half, complete = budget.with_share(0.5), True
    for weight, head in heads:
        if classes and half.expired:
            complete = False  # the lightest of an average are left out
            break
        members = (
            head
            if isinstance(head, EquivalenceClass)
            else class_by_components(head, most, half.seconds_left, conditions=known)
        )
        if space is not None:
            members = members.permitted_by(space)
        if members.size:
            weights.append(weight)
            classes.append(list(_parts(members, known, most)))
    if not classes:
        raise BowfreeError("no member of the class lies in the search space: nothing is open")
    total = sum(weights)
    complete &= all(part.whole for parts in classes for part in parts)
    return [weight / total for weight in weights], classes, complete


# --- one component of a class ---------------------------------------------------------------------


class Left(NamedTuple):
    """What an experiment leaves, expected: as in `Experiment`."""

    classes: float
    settled: float
    members: float


class Part(NamedTuple):
    """The members of one connected component.

    Nodes are numbered within the component; `known` are the conditions at hand, `place` finds the
    number of a name. `heads` tells of each member at which ends of edges it has a head, `now` what
    is open before any experiment, `whole` whether these are all members.
    """

    graph: MixedGraph
    marks: npt.NDArray[np.uint8]
    heads: npt.NDArray[np.bool_]
    now: Left
    known: list[tuple[int, list[int]]]
    place: dict[str, int]
    whole: bool

    @property
    def n_ends(self) -> int:
        return int(self.heads.shape[1])


def _parts(members: EquivalenceClass, known: Targets, most: int) -> Iterator[Part]:
    graph = members.graph
    for edges, factors in class_components(members):
        pairs = [members._edges[e] for e in edges]
        own = np.array(marks_of(graph, pairs), dtype=np.uint8)
        n_options = count_options(factors)
        marks = np.concatenate(list(member_batches(edges, own, factors, min(n_options, most))))
        names = [graph.nodes[v] for v in sorted({v for pair in pairs for v in pair})]
        place = {name: i for i, name in enumerate(names)}
        here = telling(
            (kind, tuple(name for name in names if name in place))
            for kind, names in zip(known.kinds, known.sets, strict=True)
        )
        # A member has a head at b of (a, b) unless it has a <- b there, and likewise at a.
        heads = np.concatenate([marks != BACKWARD, marks != FORWARD], axis=1)
        yield Part(
            graph.subgraph(names),
            marks,
            heads,
            _left(heads, np.zeros(len(heads), dtype=np.int32)),
            [(get_args(Kind).index(kind), [place[name] for name in at]) for kind, at in here],
            place,
            members.complete and n_options <= most,
        )


def _split_classes(
    classes: list[list[Part]], sets: list[Names], kind: Kind, budget: Budget
) -> list[list[Left]] | None:
    """Return of each class what each experiment leaves of it; None when the time is up."""
    found = []
    for parts in classes:
        by_part = []
        for part in parts:
            left = _split_part(part, sets, kind, budget)
            if left is None:
                return None
            by_part.append(left)
        found.append([_together(left[k] for left in by_part) for k in range(len(sets))])
    return found


def _split_part(part: Part, sets: list[Names], kind: Kind, budget: Budget) -> list[Left] | None:
    local = [tuple(part.place[name] for name in names if name in part.place) for names in sets]
    # Experiments on other components, or that differ there only, are one here.
    distinct = [targets for targets in dict.fromkeys(local) if targets]
    left: dict[tuple[int, ...], Left] = {(): part.now}
    if distinct:
        number = get_args(Kind).index(kind)
        classes = _core.split_members(
            *part.graph._bits(),
            part.marks,
            part.known,
            [(number, list(targets)) for targets in distinct],
            algebra_seed(budget.rng),
            budget.n_threads,
            budget.seconds_left,
        )
        if classes is None:
            return None
        for k, targets in enumerate(distinct):
            left[targets] = _left(part.heads, classes[:, k])
    return [left[targets] for targets in local]


def _left(heads: npt.NDArray[np.bool_], classes: npt.NDArray[np.int32]) -> Left:
    """Count what is open after the members have been sorted into classes."""
    order = np.argsort(classes, kind="stable")
    sizes = np.bincount(classes)
    starts = np.cumsum(sizes) - sizes
    counts = np.add.reduceat(heads[order], starts, axis=0, dtype=np.int64)
    settled = ((counts == 0) | (counts == sizes[:, None])).sum(axis=1)
    shares = sizes / len(heads)
    return Left(float(len(sizes)), float(shares @ settled), float(shares @ sizes))


def _together(parts: Iterable[Left]) -> Left:
    """Return what is left of a class, given its components, which vary independently."""
    lefts = list(parts)
    return Left(
        math.prod(left.classes for left in lefts),
        math.fsum(left.settled for left in lefts),
        math.prod(left.members for left in lefts),
    )


def _mean(weights: Sequence[float], lefts: Sequence[Left]) -> Left:
    return Left(*(_weighted(weights, values) for values in zip(*lefts, strict=True)))


def _weighted(weights: Sequence[float], values: Sequence[float]) -> float:
    return math.fsum(weight * value for weight, value in zip(weights, values, strict=True))
