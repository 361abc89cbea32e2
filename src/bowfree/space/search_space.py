"""The graphs that are considered: a class of graphs, limits, and background knowledge.

A :class:`SearchSpace` is made once and handed on: the search keeps it in its result, and whoever
goes on from there (classes, chains, averages, bootstrap, report) considers the same graphs without
being told again. In a call the fields can be given by themselves, ``greedy_search(data,
graph_class="dag")``, or together, ``greedy_search(data, space=other.space)``; both at once changes
single fields.

Every limit is hereditary (a graph inside stays inside when an edge is taken away), which is why
walks over graphs reach everything from the graph of the required edges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.errors import BowfreeError, DataError, GraphError, KnowledgeError
from bowfree.graph.encodings import BACKWARD, BIDIRECTED, FORWARD
from bowfree.graph.graph_like import graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parameters import GraphClass
from bowfree.space.knowledge import Knowledge
from bowfree.text_reading import join_names, short_repr, truncate
from bowfree.validation import LARGEST_COUNT, as_float, check_choice, check_count, is_number

GRAPH_CLASSES: tuple[GraphClass, ...] = ("bap", "dag", "bidirected", "ancestral", "arid")
_PLURAL = {
    "bap": "BAPs",
    "dag": "DAGs",
    "bidirected": "bidirected graphs",
    "ancestral": "ancestral graphs",
    "arid": "arid graphs",
}


_NOTHING = Knowledge()


@dataclass(frozen=True)
class SearchSpace:
    """A class of graphs, limits, and knowledge; what searches and samplers keep to.

    Parameters
    ----------
    graph_class : {"bap", "dag", "bidirected", "ancestral", "arid"}
        Every graph is of this class.
    max_in_degree : int, optional
        Largest number of arrowheads (parents and spouses) at a node.
    max_district : int, optional
        Largest number of nodes in a district.
    max_edges : int, optional
        Largest number of edges.
    knowledge : Knowledge, optional
        Required and forbidden edges, tiers, unconfounded variables.

    Examples
    --------
    >>> import bowfree as bf
    >>> space = bf.SearchSpace(max_in_degree=1, knowledge=bf.Knowledge(unconfounded=["x"]))
    >>> space.permits(bf.parse("x -> y, z")), space.permits(bf.parse("x -> y <-> z"))
    (True, False)
    >>> print(space)
    BAPs with at most 1 arrowhead at a node, within the given knowledge

    References
    ----------
    Section 3.2 of the paper (the in-degree); the classes are those of section 2.1 and of the
    literature it cites.
    """

    graph_class: GraphClass = "bap"
    max_in_degree: int | None = None
    max_district: int | None = None
    max_edges: int | None = None
    knowledge: Knowledge = field(default_factory=Knowledge)

    def __post_init__(self) -> None:
        check_choice("graph_class", self.graph_class, GRAPH_CLASSES)
        for name, least in (("max_in_degree", 0), ("max_district", 1), ("max_edges", 0)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_count(name, getattr(self, name), least))
        object.__setattr__(self, "knowledge", _checked_knowledge(self.knowledge))

    @classmethod
    def of(cls, space: Any, **changes: Any) -> SearchSpace:
        """Return `space` with single fields changed; without one, a space of these fields.

        A change to None is ignored.
        """
        changes = {name: value for name, value in changes.items() if value is not None}
        if space is None:
            return cls(**changes)
        if isinstance(space, SearchSpace):
            return replace(space, **changes) if changes else space
        raise BowfreeError(
            f"space is an object of type {type(space).__name__}; give a bowfree.SearchSpace"
        )

    # --- asked by searches ---

    def permits(self, graph: MixedGraph) -> bool:
        """Say whether a graph is in the space."""
        graph = graph_of(graph)
        return self.rules(graph.nodes).permits(*graph._bits())

    def rules(self, names: tuple[str, ...]) -> _core.Rules:
        """Compile for the given variables, for the core."""
        free = self.knowledge == _NOTHING
        return _core.Rules(
            GRAPH_CLASSES.index(self.graph_class),
            _or_unlimited(self.max_in_degree),
            _or_unlimited(self.max_edges),
            _or_unlimited(self.max_district),
            np.zeros((0, 0), dtype=np.uint8) if free else self.knowledge.masks(names),
        )

    def required_graph(self, names: tuple[str, ...]) -> MixedGraph:
        """Return the graph of the required edges, where chains and searches set out."""
        ground = self.knowledge.required_graph(names)
        if not self.permits(ground):
            raise KnowledgeError(
                f"the required edges ({truncate(str(ground))}) are not possible among "
                f"{self.describe_limits()}; relax one of them"
            )
        return ground

    def check_start(self, graph: MixedGraph, names: tuple[str, ...]) -> None:
        """Raise when a search or a chain may not begin at this graph."""
        if not isinstance(graph, MixedGraph):
            raise GraphError(f"a start must be a MixedGraph, got {type(graph).__name__}")
        data_names = MixedGraph(names).nodes
        if graph.nodes != data_names:
            raise GraphError(
                f"start graph has the nodes {join_names(graph.nodes)}, the data have "
                f"{join_names(data_names)}; they must be the same, in the same order"
            )
        if not self.permits(graph):
            what = "is not a BAP" if not graph.is_bap() else "breaks the knowledge, class or limits"
            raise GraphError(f"start graph {truncate(str(graph))} {what}; drop the edges at fault")

    def with_default_limits(self, n: float) -> SearchSpace:
        """Return the space with limits that keep every district with its parents smaller than n.

        Such a district can be fitted to n observations, however many variables there are in all.
        In a district of k nodes at least 2 (k - 1) arrowheads are of bidirected edges, so that with
        at most m at every node it has no more than k (m - 1) + 2 nodes, parents included. Limits
        that are not given are chosen so that this is n / 2: then a half, or a bootstrap sample, of
        the rows will do as well.

        Examples
        --------
        >>> import bowfree as bf
        >>> print(bf.SearchSpace().with_default_limits(300))
        BAPs with at most 13 arrowheads at a node, at most 12 nodes in a district
        """
        if not is_number(n) or not n >= 2:
            raise BowfreeError(f"n = {short_repr(n)}: must be a number of observations, 2 at least")
        n = as_float(n)
        heads, nodes = self.max_in_degree, self.max_district
        room = max(2, int(min(n, LARGEST_COUNT)) // 2)
        if self.graph_class == "bidirected":
            nodes = room if nodes is None else nodes
        elif self.graph_class == "dag":
            heads = room - 1 if heads is None else heads
        else:
            if heads is None:
                heads = 1 + (math.isqrt(room - 2) if nodes is None else (room - 2) // nodes)
            if nodes is None:
                nodes = max(1, (room - 2) // (heads - 1)) if heads > 1 else 2
        limited = replace(self, max_in_degree=heads, max_district=nodes)
        if limited._largest_family() >= n:
            raise DataError(
                f"n = {n:g} observations do not determine a district with its parents of up to "
                f"{limited._largest_family()} variables, as there may be among "
                f"{limited.describe_limits()}: lower max_in_degree or max_district, take more "
                "observations, or use `shrinkage=`"
            )
        return limited

    def _largest_family(self) -> int:
        """Return how many nodes a district with its parents can have; both limits are there."""
        heads, nodes = self.max_in_degree, self.max_district
        if self.graph_class == "bidirected":
            assert nodes is not None
            return nodes
        assert heads is not None
        if self.graph_class == "dag" or nodes is None:
            return heads + 1
        return nodes * (heads - 1) + 2 if heads else 1

    # --- asked by equivalence classes ---

    def member_masks(self, names: tuple[str, ...]) -> npt.NDArray[np.uint8]:
        """Return what pairs may be in a member of an equivalence class, as ``Knowledge.masks``.

        A search over DAGs takes for granted that nothing is confounded, so the other DAGs are what
        it cannot tell from its result; likewise ``"bidirected"``. The remaining classes are not
        about single pairs and rule nothing out here, nor do the limits: they say where it was worth
        looking, and equivalent graphs outside fit as well.
        """
        masks = self.knowledge.masks(names)
        if self.graph_class == "dag":
            masks &= np.uint8(0b1111 ^ 1 << BIDIRECTED)
        elif self.graph_class == "bidirected":
            masks &= np.uint8(0b1111 ^ (1 << FORWARD | 1 << BACKWARD))
        return masks

    # --- in words ---

    def describe_limits(self) -> str:
        """Return class and limits in words."""
        limits = [
            f"at most {value} {word if value == 1 else words}{where}"
            for value, word, words, where in (
                (self.max_in_degree, "arrowhead", "arrowheads", " at a node"),
                (self.max_district, "node", "nodes", " in a district"),
                (self.max_edges, "edge", "edges", ""),
            )
            if value is not None
        ]
        return _PLURAL[self.graph_class] + (f" with {', '.join(limits)}" if limits else "")

    def __str__(self) -> str:
        known = "" if self.knowledge == _NOTHING else ", within the given knowledge"
        return self.describe_limits() + known

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as for JSON; :meth:`from_dict` reads them back."""
        return asdict(self) | {"knowledge": self.knowledge.to_dict()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> SearchSpace:
        """Read what :meth:`to_dict` wrote."""
        if not isinstance(content, Mapping):
            raise BowfreeError(f"expected the fields of a search space, got {short_repr(content)}")
        known = {entry.name for entry in fields(cls)}
        unknown = [name for name in content if name not in known]
        if unknown:
            raise BowfreeError(f"unknown field {short_repr(unknown[0])} of a search space")
        return cls(**{**content, "knowledge": Knowledge.from_dict(content.get("knowledge", {}))})


def _or_unlimited(limit: int | None) -> int:
    return -1 if limit is None else limit


def _checked_knowledge(given: Any) -> Knowledge:
    if given is None:  # said by a caller who has none
        return Knowledge()
    if isinstance(given, Knowledge):
        return given
    way_out = (
        "write Knowledge.from_dict(...) around it"
        if isinstance(given, Mapping)
        else "make one with bowfree.Knowledge(required=..., forbidden=..., ...)"
    )
    raise KnowledgeError(
        f"knowledge is an object of type {type(given).__name__}, not a Knowledge; {way_out}"
    )
