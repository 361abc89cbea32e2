"""All BAPs on a few labeled nodes, sorted into exact equivalence classes.

Equivalent BAPs have the same skeleton, and renaming nodes maps classes to classes. So one skeleton
of each shape is looked at, and counted as often as it can be labeled. With targets only those
renamings count that map the targets to each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from math import comb
from typing import Any

from bowfree import _core
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.classes import equivalence_class
from bowfree.equivalence.decision import algebra_seed
from bowfree.equivalence.targets import OBSERVED, Kind, Kinds, Targets, TargetSets, given_targets
from bowfree.errors import BowfreeError
from bowfree.graph.encodings import BIDIRECTED, EDGES, FORWARD
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parallel.budget import Budget
from bowfree.parameters import Rng
from bowfree.results.display import TextDisplay, count
from bowfree.results.serialization import ToDict
from bowfree.validation import check_count

LARGEST = 5


@dataclass(frozen=True, repr=False)
class SkeletonEntry(TextDisplay, ToDict):
    """The BAPs of one skeleton up to renaming of nodes.

    Attributes
    ----------
    skeleton : tuple of pairs of str
        The edges of one labeled skeleton of this shape.
    orbit : int
        How many labeled skeletons have this shape.
    n_baps, n_classes, largest_class : int
        BAPs, classes, and the size of the largest one, per labeled skeleton.
    n_split : int
        Classes that single-edge changes do not connect, per labeled skeleton.
    split_example : MixedGraph or None
        A member of such a class.
    """

    skeleton: tuple[tuple[str, str], ...]
    orbit: int
    n_baps: int
    n_classes: int
    largest_class: int
    n_split: int
    split_example: MixedGraph | None

    def _headline(self) -> str:
        edges = ", ".join(f"{a} - {b}" for a, b in self.skeleton) or "no edges"
        return (
            f"{count(self.n_baps, 'BAP')} in {count(self.n_classes, 'class', 'classes')} "
            f"({count(self.orbit, 'labeling')}): {edges}"
        )


@dataclass(frozen=True, repr=False)
class Atlas(TextDisplay, ToDict):
    """All labeled BAPs on d nodes by skeleton and class.

    Attributes
    ----------
    d : int
        Number of nodes; they are called x1, x2, ...
    skeletons : tuple of SkeletonEntry
        One per unlabeled skeleton, by number of edges.
    targets : tuple of tuple of str
        The nodes intervened on in each condition; ``((),)`` for one without.
    kind : {"perfect", "mechanism", "activity", "noise"} or tuple of them
        What the interventions do; one for each condition where they differ.
    """

    d: int
    skeletons: tuple[SkeletonEntry, ...]
    targets: tuple[tuple[str, ...], ...] = field(default=OBSERVED, kw_only=True)
    kind: Kinds = field(default="perfect", kw_only=True)

    @property
    def n_baps(self) -> int:
        """The number of labeled BAPs."""
        return sum(entry.orbit * entry.n_baps for entry in self.skeletons)

    @property
    def n_classes(self) -> int:
        """The number of exact equivalence classes."""
        return sum(entry.orbit * entry.n_classes for entry in self.skeletons)

    @property
    def n_split(self) -> int:
        """The number of classes that single-edge changes do not connect."""
        return sum(entry.orbit * entry.n_split for entry in self.skeletons)

    def classes(self) -> Iterator[EquivalenceClass]:
        """Yield all classes, one labeled skeleton after the other.

        For d = 5 these are 87,219 classes; take what you need.
        """
        names = _names(self.d)
        pairs = list(combinations(names, 2))
        for present in product((False, True), repeat=len(pairs)):
            edges = [pair for pair, there in zip(pairs, present, strict=True) if there]
            seen: set[MixedGraph] = set()
            for marks in product(EDGES, repeat=len(edges)):
                graph = _marked(names, edges, marks)
                if graph in seen or not graph.is_acyclic():
                    continue
                found = equivalence_class(graph, targets=self.targets, kind=self.kind)
                seen.update(found)
                yield found

    def _headline(self) -> str:
        return (
            f"{count(self.n_baps, 'BAP')} on {count(self.d, 'labeled node')} in "
            f"{count(self.n_classes, 'class', 'classes')}"
        )

    def _sections(self) -> Iterator[str]:
        yield (
            f"{self._headline()} ({count(len(self.skeletons), 'skeleton')} up to renaming; "
            f"{self.n_split} classes not connected by single-edge changes)"
        )
        conditions = Targets(_names(self.d), self.targets, self.kind)
        if conditions.any:
            yield conditions.words()

    def _content(self) -> Any:
        totals = {name: getattr(self, name) for name in ("d", "n_baps", "n_classes", "n_split")}
        conditions = {"targets": self.targets, "kind": self.kind}
        return {**totals, **conditions, "skeletons": self.skeletons}


def atlas(
    d: int,
    *,
    targets: TargetSets | None = None,
    kind: Kind | Sequence[Kind] = "perfect",
    rng: Rng = None,
    n_jobs: int | None = None,
) -> Atlas:
    """Sort all labeled BAPs on d nodes into exact equivalence classes.

    Parameters
    ----------
    d : int
        Number of nodes, 1 to 5.
    targets, kind
        As for :func:`bowfree.equivalence_class`: graphs are sorted by what data from these
        conditions could tell apart. The nodes are called x1, x2, ...
    rng : int or numpy.random.Generator, optional
        As for :func:`bowfree.equivalent`.
    n_jobs : int, optional
        Threads; None is one, -1 one for each core.

    Returns
    -------
    Atlas

    Raises
    ------
    BowfreeError
        When d is too large; the message tells the number of BAPs.

    Examples
    --------
    >>> import bowfree as bf
    >>> [bf.atlas(d).n_classes for d in (1, 2, 3, 4)]
    [1, 2, 11, 368]
    >>> str(bf.atlas(3)).split(" (")[0]
    '62 BAPs on 3 labeled nodes in 11 classes'

    One experiment on one node tells more of them apart:

    >>> bf.atlas(3, targets=[(), ("x1",)]).n_classes
    26
    """
    d = check_count("d", d, 1)
    if d > LARGEST:
        raise BowfreeError(
            f"d = {d}: there are {_how_many(d)} BAPs on {d} labeled nodes, too many to sort; "
            f"atlas goes up to d = {LARGEST}, and equivalence_class lists the class of one graph"
        )
    names = _names(d)
    conditions = given_targets(targets, kind, names)
    conditions.check_seen("an atlas")
    given = conditions.core
    entries = []
    for row in _core.atlas(d, algebra_seed(rng), Budget(n_jobs=n_jobs).n_threads, given):
        edges, orbit, n_baps, n_classes, largest_class, n_split, example = row
        named = tuple((names[i], names[j]) for i, j in edges)
        split = _marked(names, named, example) if example else None
        entries.append(
            SkeletonEntry(named, orbit, n_baps, n_classes, largest_class, n_split, split)
        )
    return Atlas(d, tuple(entries), targets=conditions.sets, kind=conditions.kind)


def _names(d: int) -> tuple[str, ...]:
    return tuple(f"x{i + 1}" for i in range(d))


def count_baps(d: int) -> int:
    """Count the labeled BAPs on d nodes.

    Notes
    -----
    Robinson's recurrence for acyclic graphs, with weights: k nodes are chosen that no other node
    points to, with alternating signs because there may be more such nodes. A pair of them is joined
    by <-> or not at all (2 ways), a pair of one of them and another node by <->, by an edge out of
    the chosen one, or not at all (3 ways)::

        a(d) = sum over k = 1..d of (-1)^(k+1) binomial(d, k) 2^(k(k-1)/2) 3^(k(d-k)) a(d-k).

    Examples
    --------
    >>> from bowfree.equivalence.atlas import count_baps
    >>> [count_baps(d) for d in range(1, 7)]
    [1, 4, 62, 3608, 765664, 577696816]
    """
    counts = [1]
    for m in range(1, d + 1):
        counts.append(
            sum(
                (-1) ** (k + 1) * comb(m, k) * 2 ** comb(k, 2) * 3 ** (k * (m - k)) * counts[m - k]
                for k in range(1, m + 1)
            )
        )
    return counts[d]


def _how_many(d: int) -> str:
    if d > 100:  # the exact number takes seconds, and nobody needs it
        return "an astronomical number of"
    exact = count_baps(d)
    return f"{exact:,}" if d <= 12 else f"about 10^{len(str(exact)) - 1}"


def _marked(
    names: tuple[str, ...],
    edges: list[tuple[str, str]] | tuple[tuple[str, str], ...],
    marks: tuple[int, ...] | list[int],
) -> MixedGraph:
    """Return the graph whose edges have these marks, see `bowfree.graph.encodings`."""
    marked = list(zip(edges, marks, strict=True))
    return MixedGraph(
        names,
        directed=[
            (a, b) if mark == FORWARD else (b, a) for (a, b), mark in marked if mark != BIDIRECTED
        ],
        bidirected=[pair for pair, mark in marked if mark == BIDIRECTED],
    )
