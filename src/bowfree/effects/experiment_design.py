"""Which experiment to do next: :func:`bowfree.design`.

Data without interventions leave a whole class of equivalent graphs. An experiment on x splits it:
members in which x affects y and members in which it does not predict different data. The split
depends on the graphs only (:mod:`bowfree.equivalence.targets`), so that it is computed in advance.

Members need not be compared in pairs. All have the same model, so one covariance matrix of this
model belongs to all of them, each with its own parameters. An intervention turns these parameters
into one matrix for each member, and members with equal matrices remain equivalent
(``cpp/equivalence/splitting.cpp``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.equivalence.class_members import EquivalenceClass, class_components
from bowfree.equivalence.classes import class_by_components
from bowfree.equivalence.decision import algebra_seed
from bowfree.equivalence.targets import (
    Targets,
    TargetSets,
    informative,
    read_targets,
    target_set,
    targets_of,
)
from bowfree.errors import BowfreeError
from bowfree.graph.encodings import BACKWARD, FORWARD
from bowfree.graph.mixed_graph import GraphLike, MixedGraph, graph_of
from bowfree.graph.text import quote_names
from bowfree.model.context import context_of
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import Kind, Rng, public
from bowfree.results.display import Table, count
from bowfree.results.rows import Cell, Row, RowTable, row_table
from bowfree.results.serialization import ToDict
from bowfree.space.search_space import SearchSpace
from bowfree.text_reading import short_repr
from bowfree.validation import as_list, check_count

if TYPE_CHECKING:
    from bowfree.uncertainty.average_result import AveragedEffects

MAX_MEMBERS = 100_000  # of a component of a class
MAX_MEMBERS_AVERAGED = 2_000  # of a component of each class of an average
MAX_EXPERIMENTS = 10_000
MAX_BATCH = 2_000_000  # members times experiments in one call of the core: 40 MB

Names = tuple[str, ...]


class Split(NamedTuple):
    """Classes after an experiment: their number, and expectations over them."""

    n_classes: float
    resolved_ends: float
    members_left: float


@dataclass(frozen=True, repr=False)
class Design(RowTable, ToDict):
    """Experiments, the most informative first.

    All members of the present class are assumed to be equally probable. An experiment splits the
    class into smaller ones, and its numbers are expectations over these. For an average
    (:func:`bowfree.averaged_effects`) all numbers are weighted means over its classes.

    Attributes
    ----------
    names : tuple of str
        The variables.
    experiments : tuple of Row
        The experiments, by decreasing expected number of resolved ends, then by the number of
        remaining members, then by the number of targets. Each has ``targets`` (the nodes intervened
        on), ``n_targets``, ``n_classes`` (the number of classes after the experiment),
        ``resolved_ends`` (the expected number of edge ends on which all remaining members agree) and
        ``members_left`` (the expected number of remaining members).
    n_members : float
        Number of members of the present class.
    resolved_ends, n_ends : float
        Number of edge ends on which the members agree now, and of all ends: two for each edge.
    targets : tuple of tuple of str
        The targets of the present conditions; ``((),)`` for one without intervention.
    kind : {"perfect", "mechanism", "activity", "noise"}
        What the experiments would do to their targets.
    n_averaged : int
        Number of classes that the numbers are means over.
    complete : bool
        False if `limit` or `time_limit` left out members or experiments.
    """

    names: tuple[str, ...]
    experiments: tuple[Row, ...]
    n_members: float
    resolved_ends: float
    n_ends: float
    targets: tuple[tuple[str, ...], ...]
    kind: Kind
    n_averaged: int
    complete: bool
    _columns: ClassVar = ("targets", "n_targets", *Split._fields)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The experiments."""
        return self.experiments

    @property
    def best(self) -> Row:
        """The most informative experiment."""
        if not self.experiments:
            raise BowfreeError("time was up before the first experiment: raise `time_limit`")
        return self.experiments[0]

    def experiment(self, *targets: str) -> Row:
        """Return the experiment on these nodes, which must be among the candidates."""
        wanted = target_set(targets, self.names)
        for experiment in self.experiments:
            if experiment.targets == wanted:
                return experiment
        raise BowfreeError(
            f"the experiment on {short_repr(wanted)} was not considered; add it to the "
            "`candidates` of design, or raise `max_targets`"
        )

    def _headline(self) -> str:
        first = f", best: {quote_names(self.best.targets)}" if self.experiments else ""
        return f"{count(len(self), 'experiment')}{first}" + ", not complete" * (not self.complete)

    def _sections(self) -> Iterator[str | Table]:
        over = f", means over {self.n_averaged:,} classes" if self.n_averaged > 1 else ""
        yield (
            f"now: {_number(self.n_members)} members, {_number(self.resolved_ends)} of "
            f"{_number(self.n_ends)} ends of edges resolved{over}"
        )
        if not self.complete:
            yield "NOT COMPLETE: `limit` or `time_limit` left out members or experiments"
        if self.n_members == 1 and self.resolved_ends == self.n_ends:
            yield "the class has a single member: no experiment is needed"
        cells: dict[str, Cell] = {
            f"experiment ({self.kind})": lambda row: quote_names(row.targets),
            "classes": lambda row: _number(row.n_classes),
            "resolved ends": lambda row: _number(row.resolved_ends),
            "members left": lambda row: _number(row.members_left),
        }
        yield row_table(self.experiments, cells)


def _number(value: float) -> str:
    """Format integers as such, other numbers with two decimals, large ones with an exponent."""
    if value >= 1e9:
        return f"{value:.3g}"
    whole = round(value)
    if abs(value - whole) < 1e-9:
        return f"{whole:,}"
    return f"{value:,.2f}".rstrip("0").rstrip(".")


@public
def design(
    graph: GraphLike | EquivalenceClass | AveragedEffects,
    *,
    candidates: Iterable[Iterable[str] | str] | None = None,
    max_targets: int = 1,
    kind: Kind = "perfect",
    targets: TargetSets | None = None,
    space: SearchSpace | None = None,
    limit: int | None = None,
    rng: Rng = None,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Design:
    r"""Compare experiments by what they would reveal about the graph.

    Parameters
    ----------
    graph : MixedGraph, result of a search, EquivalenceClass or AveragedEffects
        The graphs that are possible now: those of the equivalence class of a graph, of the best
        graph of a search within its space, or of all classes of an average, weighted by their
        probabilities.
    candidates : iterable of str or of sets of str, optional
        The variables that can be intervened on, by default all; or the experiments themselves, each
        a set of variables.
    max_targets : int
        Consider all experiments on up to this number of variables.
    kind : {"perfect", "mechanism", "activity", "noise"}
        What an experiment does to its targets (:mod:`bowfree.equivalence.targets`).
    targets : sequence of sets of str, optional
        The targets of the present conditions, with interventions of the same kind, as in
        :func:`bowfree.equivalence_class`. By default those of the data behind a search result or an
        average, those of an equivalence class, or one condition without intervention for a graph.
    limit : int, optional
        Largest number of members of each connected component of the skeleton; by default 100,000,
        or 2,000 for each class of an average. The result says whether there are more.
    rng : int or numpy.random.Generator, optional
        The result does not depend on it; see :func:`bowfree.equivalent`.
    time_limit : float, optional
        Seconds after which the experiments considered so far are returned.

    Notes
    -----
    With N members in classes of sizes :math:`N_1, N_2, \ldots` after the experiment, the expected
    number of remaining members is :math:`\sum N_k^2 / N`: each member is the true graph with
    probability 1 / N. The numbers hold for unlimited data; sampling error is not accounted for.

    Examples
    --------
    The class of a chain leaves all edges undirected. An experiment in the middle is best:

    >>> import bowfree as bf
    >>> print(bf.design(bf.parse("x -> y -> z")))
    now: 5 members, 0 of 4 ends of edges resolved
    experiment (perfect)  classes  resolved ends  members left
    y                           3            3.2           1.8
    x                           2            1.6           3.4
    z                           2            1.6           3.4
    """
    budget = Budget(rng, n_jobs, time_limit, progress)
    from bowfree.uncertainty.average_result import AveragedEffects  # of a higher layer

    average: Any = graph if isinstance(graph, AveragedEffects) else None
    nodes = graph_of(graph).nodes if average is None else average.names
    default = MAX_MEMBERS if average is None else MAX_MEMBERS_AVERAGED
    limit = default if limit is None else check_count("limit", limit, 1)
    present = _present_conditions(graph, average, targets, kind, nodes)
    experiments = _experiments(candidates, check_count("max_targets", max_targets, 1), nodes)
    heads = (
        [(1.0, graph)] if average is None else [(row.weight, row.graph) for row in average.classes]
    )
    weights, classes, complete = _classes(heads, present, space, limit, budget)
    now = _mean(weights, [_combine(part.now for part in parts) for parts in classes])
    n_members = sum(len(part.marks) for parts in classes for part in parts)
    batch = max(1, MAX_BATCH // max(n_members, 1))
    found: list[Row] = []
    budget.report_progress("experiments", 0, len(experiments))
    for begin in range(0, len(experiments), batch):
        sets = experiments[begin : begin + batch]
        splits = _split_classes(classes, sets, kind, budget)
        if splits is None:
            break  # time is up
        for k, names in enumerate(sets):
            split = _mean(weights, [of_class[k] for of_class in splits])
            found.append(Row(targets=names, n_targets=len(names), **split._asdict()))
        budget.report_progress("experiments", len(found), len(experiments))
    complete &= len(found) == len(experiments)
    # Rounded, because the last digits of a sum depend on the order of its terms.
    found.sort(key=lambda e: (-round(e.resolved_ends, 9), round(e.members_left, 9), e.n_targets))
    return Design(
        names=nodes,
        experiments=tuple(found),
        n_members=now.members_left,
        resolved_ends=now.resolved_ends,
        n_ends=_weighted(weights, [sum(p.heads.shape[1] for p in parts) for parts in classes]),
        targets=present.sets,
        kind=kind,
        n_averaged=len(classes),
        complete=complete,
    )


# --- input ----------------------------------------------------------------------------------------


def _present_conditions(
    graph: Any,
    average: AveragedEffects | None,
    targets: TargetSets | None,
    kind: Kind,
    nodes: Names,
) -> Targets:
    """Return the conditions that the user names, or those of the class, the average or the data."""
    found = read_targets(targets, kind, nodes)
    if isinstance(graph, EquivalenceClass):
        if graph.method == "empirical":
            raise BowfreeError(
                "the members of an empirical class have different models, which observational data "
                "distinguish; pass an equivalence class, or an average for several of them"
            )
        if targets is not None:
            raise BowfreeError(
                f"the class was computed for targets = {short_repr(graph.targets)}: omit "
                "`targets`, or pass its graph"
            )
        return Targets(nodes, graph.targets, graph.kind)
    if targets is None and average is not None:
        found = Targets(nodes, average.targets, average.kind)
    elif targets is None:
        found = targets_of(context_of(graph).moments, nodes)
    found.check_identified_skeleton("a design")
    return found


def _experiments(candidates: Any, max_targets: int, nodes: Names) -> list[Names]:
    """Return the distinct sets of targets to consider."""
    if isinstance(candidates, str):
        raise BowfreeError(
            f"candidates is {short_repr(candidates)}: pass a list of variables, such as "
            "['x', 'y'], or of sets of variables"
        )
    items = nodes if candidates is None else as_list("candidates", candidates, "variables or sets")
    sets = [target_set(item, nodes) for item in items]
    if not sets or not all(sets):
        raise BowfreeError("an experiment needs at least one target")
    singles = all(isinstance(item, str) for item in items)
    if max_targets > 1 and not singles:
        raise BowfreeError(
            f"max_targets = {max_targets} requires single variables as candidates; omit it if "
            "candidates are sets"
        )
    if not singles:
        return list(dict.fromkeys(sets))
    names = [name for name in nodes if (name,) in set(sets)]
    sizes = range(1, min(max_targets, len(names)) + 1)
    if (n := sum(math.comb(len(names), size) for size in sizes)) > MAX_EXPERIMENTS:
        raise BowfreeError(
            f"there are {n:,} experiments on up to {max_targets} of {len(names)} variables, and at "
            f"most {MAX_EXPERIMENTS:,} can be compared: lower max_targets or name candidates"
        )
    return [chosen for size in sizes for chosen in combinations(names, size)]


def _classes(
    heads: Sequence[tuple[float, Any]],
    present: Targets,
    space: SearchSpace | None,
    limit: int,
    budget: Budget,
) -> tuple[list[float], list[list[Component]], bool]:
    """Return the weights and the components of all classes, and whether these are complete.

    Half of the time is for this.
    """
    weights: list[float] = []
    classes: list[list[Component]] = []
    half, complete = budget.with_share(0.5), True
    for weight, head in heads:
        if classes and half.expired:
            complete = False  # the least probable classes of an average are left out
            break
        members = (
            head
            if isinstance(head, EquivalenceClass)
            else class_by_components(head, limit, half.seconds_left, conditions=present)
        )
        if space is not None:
            members = members.permitted_by(SearchSpace.of(space))
        if members.size:
            weights.append(weight)
            classes.append(list(_components(members, present, limit)))
    if not classes:
        raise BowfreeError("no member of the class is in the search space")
    total = sum(weights)
    complete &= all(part.complete for parts in classes for part in parts)
    return [weight / total for weight in weights], classes, complete


# --- components of a class ------------------------------------------------------------------------


class Component(NamedTuple):
    """The members of one connected component of a class, whose nodes are numbered from 0."""

    graph: MixedGraph
    marks: npt.NDArray[np.uint8]  # (members, edges)
    heads: npt.NDArray[np.bool_]  # (members, ends): whether there is an arrowhead
    now: Split  # before any experiment
    present: list[tuple[int, list[int]]]  # kind and targets of the present conditions
    numbers: dict[str, int]  # of the nodes
    complete: bool


def _components(members: EquivalenceClass, present: Targets, limit: int) -> Iterator[Component]:
    graph = members.graph
    for part in class_components(members):
        marks = np.concatenate(list(part.batches(limit)))
        names = [graph.nodes[v] for v in sorted({v for pair in part.pairs for v in pair})]
        index = {name: i for i, name in enumerate(names)}
        conditions = informative(
            (kind, tuple(name for name in targets if name in index))
            for kind, targets in zip(present.kinds, present.sets, strict=True)
        )
        # There is an arrowhead at b of (a, b) unless the edge is a <- b, and likewise at a.
        heads = np.concatenate([marks != BACKWARD, marks != FORWARD], axis=1)
        yield Component(
            graph.subgraph(names),
            marks,
            heads,
            _split(heads, np.zeros(len(heads), dtype=np.int32)),
            [(get_args(Kind).index(kind), [index[v] for v in at]) for kind, at in conditions],
            index,
            members.complete and part.size <= limit,
        )


def _split_classes(
    classes: list[list[Component]], sets: list[Names], kind: Kind, budget: Budget
) -> list[list[Split]] | None:
    """Return the splits of each class by each experiment, or None if time is up."""
    found = []
    for parts in classes:
        by_part = [_split_component(part, sets, kind, budget) for part in parts]
        splits = [part for part in by_part if part is not None]
        if len(splits) < len(parts):
            return None
        found.append([_combine(part[k] for part in splits) for k in range(len(sets))])
    return found


def _split_component(
    part: Component, sets: list[Names], kind: Kind, budget: Budget
) -> list[Split] | None:
    local = [tuple(part.numbers[name] for name in names if name in part.numbers) for names in sets]
    # Experiments that differ outside this component only are the same here.
    distinct = [targets for targets in dict.fromkeys(local) if targets]
    splits: dict[tuple[int, ...], Split] = {(): part.now}
    if distinct:
        number = get_args(Kind).index(kind)
        classes = _core.split_members(
            *part.graph._bits(),
            part.marks,
            part.present,
            [(number, list(targets)) for targets in distinct],
            algebra_seed(budget.rng),
            budget.n_threads,
            budget.seconds_left,
        )
        if classes is None:
            return None
        for k, targets in enumerate(distinct):
            splits[targets] = _split(part.heads, classes[:, k])
    return [splits[targets] for targets in local]


def _split(heads: npt.NDArray[np.bool_], classes: npt.NDArray[np.int32]) -> Split:
    """Return the split of members into classes, given by their numbers."""
    order = np.argsort(classes, kind="stable")
    sizes = np.bincount(classes)
    starts = np.cumsum(sizes) - sizes
    counts = np.add.reduceat(heads[order], starts, axis=0, dtype=np.int64)
    resolved = ((counts == 0) | (counts == sizes[:, None])).sum(axis=1)
    shares = sizes / len(heads)
    return Split(float(len(sizes)), float(shares @ resolved), float(shares @ sizes))


def _combine(parts: Iterable[Split]) -> Split:
    """Combine the splits of components, which vary independently."""
    splits = list(parts)
    return Split(
        math.prod(split.n_classes for split in splits),
        math.fsum(split.resolved_ends for split in splits),
        math.prod(split.members_left for split in splits),
    )


def _mean(weights: Sequence[float], splits: Sequence[Split]) -> Split:
    return Split(*(_weighted(weights, values) for values in zip(*splits, strict=True)))


def _weighted(weights: Sequence[float], values: Sequence[float]) -> float:
    return math.fsum(weight * value for weight, value in zip(weights, values, strict=True))
