"""All BAPs on a few labeled nodes, classified into exact equivalence classes.

Equivalent BAPs have the same skeleton, and renaming nodes maps classes to classes. Therefore one
skeleton of each isomorphism class is examined, and counted as often as it can be labeled. With
targets, only renamings that map targets to targets are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, compress, product
from typing import Any

from bowfree import _core
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.classes import equivalence_class
from bowfree.equivalence.decision import algebra_seed
from bowfree.equivalence.targets import OBSERVED, Kinds, Targets, TargetSets, read_targets
from bowfree.errors import BowfreeError
from bowfree.graph.encodings import EDGES, masks_of_states
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parallel.budget import Budget
from bowfree.parameters import Kind, Rng, public
from bowfree.results.display import count
from bowfree.results.rows import Row, RowTable
from bowfree.results.serialization import ToDict
from bowfree.validation import check_count

LARGEST = 5
_COUNTS = ("orbit", "n_baps", "n_classes", "largest_class", "n_split")


@dataclass(frozen=True, repr=False)
class Atlas(RowTable, ToDict):
    """All labeled BAPs on d nodes by skeleton and class.

    Attributes
    ----------
    d : int
        Number of nodes; they are called x1, x2, ...
    rows : tuple of Row
        One for each unlabeled skeleton, by number of edges: ``skeleton`` (the edges of one labeled
        skeleton), ``orbit`` (number of labeled skeletons), ``n_baps``, ``n_classes``,
        ``largest_class`` and ``n_split`` (classes that single-edge changes do not connect), all per
        labeled skeleton, and ``split_example`` (a member of such a class, or None).
    targets : tuple of tuple of str
        The nodes intervened on in each condition; ``((),)`` is one observational condition.
    kind : {"perfect", "mechanism", "activity", "noise"} or tuple of them
        Kind of the interventions; one for each condition if they differ.
    """

    d: int
    rows: tuple[Row, ...]
    targets: tuple[tuple[str, ...], ...] = field(default=OBSERVED, kw_only=True)
    kind: Kinds = field(default="perfect", kw_only=True)

    @property
    def n_baps(self) -> int:
        """The number of labeled BAPs."""
        return sum(entry.orbit * entry.n_baps for entry in self.rows)

    @property
    def n_classes(self) -> int:
        """The number of exact equivalence classes."""
        return sum(entry.orbit * entry.n_classes for entry in self.rows)

    @property
    def n_split(self) -> int:
        """The number of classes that single-edge changes do not connect."""
        return sum(entry.orbit * entry.n_split for entry in self.rows)

    def classes(self) -> Iterator[EquivalenceClass]:
        """Yield all classes, one labeled skeleton after the other; 87,219 for d = 5."""
        empty = MixedGraph(_names(self.d))
        pairs = list(combinations(range(self.d), 2))
        for present in product((False, True), repeat=len(pairs)):
            edges = list(compress(pairs, present))
            seen: set[MixedGraph] = set()
            for marks in product(EDGES, repeat=len(edges)):
                graph = empty._with(*masks_of_states(self.d, marks, edges))
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
            f"{self._headline()} ({count(len(self.rows), 'skeleton')} up to renaming; "
            f"{self.n_split} classes not connected by single-edge changes)"
        )
        conditions = Targets(_names(self.d), self.targets, self.kind)
        if conditions.any:
            yield conditions.describe()

    def _content(self) -> Any:
        totals = {name: getattr(self, name) for name in ("d", "n_baps", "n_classes", "n_split")}
        conditions = {"targets": self.targets, "kind": self.kind}
        return {**totals, **conditions, "skeletons": self.rows}


@public
def atlas(
    d: int,
    *,
    targets: TargetSets | None = None,
    kind: Kind | Sequence[Kind] = "perfect",
    rng: Rng = None,
    n_jobs: int | None = None,
) -> Atlas:
    """Classify all labeled BAPs on d nodes into exact equivalence classes.

    Parameters
    ----------
    d : int
        Number of nodes, 1 to 5. They are called x1, x2, ...
    targets, kind, rng
        As for :func:`bowfree.equivalence_class`.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.equivalence.atlas(3))  # doctest: +ELLIPSIS
    62 BAPs on 3 labeled nodes in 11 classes (4 skeletons up to renaming; 0 classes ...)

    An experiment on one node distinguishes more of them:

    >>> bf.equivalence.atlas(3, targets=[(), ("x1",)]).n_classes
    26
    """
    d = check_count("d", d, 1)
    if d > LARGEST:
        raise BowfreeError(
            f"d = {d}: there are too many BAPs to classify; d is at most {LARGEST}, and "
            "equivalence_class lists the class of one graph"
        )
    names = _names(d)
    conditions = read_targets(targets, kind, names)
    conditions.check_identified_skeleton("an atlas")
    given, empty = conditions.core, MixedGraph(names)
    entries = []
    for row in _core.atlas(d, algebra_seed(rng), Budget(n_jobs=n_jobs).n_threads, given):
        edges, *counts, example = row
        entries.append(
            Row(
                skeleton=tuple((names[i], names[j]) for i, j in edges),
                **dict(zip(_COUNTS, counts, strict=True)),
                split_example=empty._with(*masks_of_states(d, example, edges)) if example else None,
            )
        )
    return Atlas(d, tuple(entries), targets=conditions.sets, kind=conditions.kind)


def _names(d: int) -> tuple[str, ...]:
    return tuple(f"x{i + 1}" for i in range(d))
