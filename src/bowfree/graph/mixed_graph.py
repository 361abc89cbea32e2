"""Mixed graphs: nodes, directed edges ``a -> b`` and bidirected edges ``a <-> b`` (section 2.1).

A directed edge is a direct effect, a bidirected edge a hidden common cause. Most methods of the
class are defined as functions, with the parameter ``self``, in the other modules of the package.
Models with parameters are in :class:`bowfree.LinearSEM`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from bowfree.errors import GraphError
from bowfree.graph import edits, identification, separation, structure, text
from bowfree.graph import pag as _pag
from bowfree.graph import paths as _paths
from bowfree.graph.encodings import closure, members, transpose, union
from bowfree.graph.names import unknown_node
from bowfree.parameters import public
from bowfree.text_reading import load_json, short_repr, truncate
from bowfree.validation import as_list

_SURROGATE = re.compile("[\ud800-\udfff]")

NodeSet = str | Iterable[str]
"""A set of nodes as an argument: one name, or several."""


class MixedGraph:
    """An immutable mixed graph with named nodes.

    Parameters
    ----------
    nodes : iterable of str
        The names, in the order of the rows and columns of all matrices that belong to the graph.
        Names are strings and unique.
    directed : iterable of pairs of str
        ``("x", "y")`` is the edge x -> y.
    bidirected : iterable of pairs of str
        ``("y", "z")`` is the edge y <-> z, and the same as ``("z", "y")``.

    Raises
    ------
    GraphError
        If a node is unknown, an edge is a self-loop, or a name is empty, repeated or not a string.

    Notes
    -----
    Cycles and bows are allowed; functions that require a bow-free acyclic graph (a BAP) raise an
    error that names the cycle or the bow. Methods accept a set of nodes as one name or an iterable
    of names, and return it as a frozenset.

    Two graphs are equal if their nodes, node order and edges are equal; ``g <= h`` tests whether g
    is a subgraph of h.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.MixedGraph(["x", "y", "z"], directed=[("x", "y")], bidirected=[("y", "z")])
    >>> g == bf.parse("x -> y <-> z")
    True
    >>> g.parents("y"), g.spouses("y"), g.in_degree("y")
    (frozenset({'x'}), frozenset({'z'}), 2)
    >>> print(g.add("x -> z"))
    x -> y <-> z <- x
    """

    __slots__ = ("_children_masks", "_index", "_nodes", "_parents", "_peeled", "_spouses")

    _nodes: tuple[str, ...]
    _index: dict[str, int]
    _parents: tuple[int, ...]
    _spouses: tuple[int, ...]
    _children_masks: tuple[int, ...] | None
    _peeled: tuple[tuple[int, ...], int] | None  # see `peel_sources`

    def __init__(
        self,
        nodes: Iterable[str],
        directed: Iterable[tuple[str, str]] = (),
        bidirected: Iterable[tuple[str, str]] = (),
    ) -> None:
        names = _checked_names(nodes)
        self._set(names, {name: i for i, name in enumerate(names)})
        parents, spouses = [0] * len(names), [0] * len(names)
        for pair in as_list("directed", directed, "pairs of nodes", GraphError):
            a, b = self._pair(pair)
            parents[b] |= 1 << a
        for pair in as_list("bidirected", bidirected, "pairs of nodes", GraphError):
            a, b = self._pair(pair)
            spouses[b] |= 1 << a
            spouses[a] |= 1 << b
        self._set(names, self._index, parents, spouses)

    # -- constructors for modules of this package, and encodings --

    def _set(
        self,
        nodes: tuple[str, ...],
        index: dict[str, int],
        parents: Sequence[int] = (),
        spouses: Sequence[int] = (),
    ) -> MixedGraph:
        put = object.__setattr__  # the class itself is immutable
        put(self, "_nodes", nodes)
        put(self, "_index", index)
        put(self, "_parents", tuple(parents))
        put(self, "_spouses", tuple(spouses))
        put(self, "_children_masks", None)
        put(self, "_peeled", None)
        return self

    @classmethod
    def _from_masks(
        cls, nodes: tuple[str, ...], parents: Sequence[int], spouses: Sequence[int]
    ) -> MixedGraph:
        """Build a graph from valid bit masks: bit ``j`` of ``parents[i]`` is j -> i."""
        index = {name: i for i, name in enumerate(nodes)}
        return cls.__new__(cls)._set(nodes, index, parents, spouses)

    def _with(self, parents: Sequence[int], spouses: Sequence[int]) -> MixedGraph:
        """Build a graph on the same nodes."""
        return self.__class__.__new__(self.__class__)._set(
            self._nodes, self._index, parents, spouses
        )

    def _bits(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Return parents and spouses as the core stores them, uint64 of shape (d, words)."""
        d = len(self._nodes)
        words = (d + 63) // 64
        content = b"".join(
            [mask.to_bytes(8 * words, "little") for mask in (*self._parents, *self._spouses)]
        )
        both = np.frombuffer(content, dtype="<u8").astype(np.uint64).reshape(2, d, words)
        return both[0], both[1]

    def _children(self) -> tuple[int, ...]:
        """Return one mask of children for each node; cached."""
        if self._children_masks is None:
            object.__setattr__(self, "_children_masks", tuple(transpose(self._parents)))
        return self._children_masks  # type: ignore[return-value]  # set just above

    # -- names and indices --

    def _node(self, name: str) -> int:
        """Return the index of a node."""
        try:
            return self._index[name]
        except (KeyError, TypeError):
            raise GraphError(unknown_node(name, self._nodes)) from None

    def _pair(self, pair: Iterable[str]) -> tuple[int, int]:
        """Return the indices of the two ends of an edge."""
        ends = tuple(pair) if isinstance(pair, tuple | list) else ()
        if len(ends) != 2:
            raise GraphError(
                f"an edge is a pair of node names, such as ('x', 'y'), not {short_repr(pair)}"
            )
        a, b = self._node(ends[0]), self._node(ends[1])
        if a == b:
            raise GraphError(
                f"self-loop at {truncate(text.quote(ends[0]))}: an edge joins two different nodes; "
                "drop this edge"
            )
        return a, b

    def _mask(self, nodes: NodeSet) -> int:
        """Return the mask of a set of nodes; a string is one node."""
        if isinstance(nodes, str):
            return 1 << self._node(nodes)
        mask = 0
        for name in as_list("nodes", nodes, "names", GraphError):
            mask |= 1 << self._node(name)
        return mask

    def _names(self, mask: int) -> frozenset[str]:
        return frozenset(self._nodes[v] for v in members(mask))

    # -- nodes and edges --

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return self._nodes

    @property
    def directed(self) -> tuple[tuple[str, str], ...]:
        """The directed edges as pairs (parent, child), in node order."""
        return tuple(
            (a, self._nodes[j])
            for a, mask in zip(self._nodes, self._children(), strict=True)
            for j in members(mask)
        )

    @property
    def bidirected(self) -> tuple[tuple[str, str], ...]:
        """The bidirected edges as pairs, each once, the earlier node first."""
        return tuple(
            (a, self._nodes[j])
            for i, (a, mask) in enumerate(zip(self._nodes, self._spouses, strict=True))
            for j in members(mask >> i << i)
        )

    @property
    def edges(self) -> tuple[tuple[str, str, str], ...]:
        """All edges as (a, mark, b) with mark ``"->"`` or ``"<->"``, directed edges first."""
        return tuple((a, "->", b) for a, b in self.directed) + tuple(
            (a, "<->", b) for a, b in self.bidirected
        )

    @property
    def n_edges(self) -> int:
        """The number of edges, directed and bidirected."""
        return self.n_directed + self.n_bidirected

    @property
    def n_directed(self) -> int:
        """The number of directed edges."""
        return sum(map(int.bit_count, self._parents))

    @property
    def n_bidirected(self) -> int:
        """The number of bidirected edges."""
        return sum(map(int.bit_count, self._spouses)) // 2

    def adjacent(self, a: str, b: str) -> bool:
        """Test whether there is an edge of any kind between two nodes."""
        i, j = self._node(a), self._node(b)
        return bool((self._parents[i] | self._spouses[i]) >> j & 1 or self._parents[j] >> i & 1)

    # -- relatives of one node, or of a set S of nodes (section 2.1) --

    def parents(self, nodes: NodeSet) -> frozenset[str]:
        """Return the parents pa(S): all j with j -> i for some i in S. They can belong to S."""
        return self._names(union(self._parents, self._mask(nodes)))

    def children(self, nodes: NodeSet) -> frozenset[str]:
        """Return the children: all j with i -> j for some i in S."""
        return self._names(union(self._children(), self._mask(nodes)))

    def spouses(self, nodes: NodeSet) -> frozenset[str]:
        """Return the spouses: all j with i <-> j for some i in S."""
        return self._names(union(self._spouses, self._mask(nodes)))

    def neighbors(self, nodes: NodeSet) -> frozenset[str]:
        """Return the neighbors: all j with an edge of any kind to some i in S."""
        mask = self._mask(nodes)
        return self._names(
            union(self._parents, mask) | union(self._children(), mask) | union(self._spouses, mask)
        )

    def ancestors(self, nodes: NodeSet) -> frozenset[str]:
        """Return the ancestors an(S): S and all nodes with a directed path into S."""
        return self._names(closure(self._parents, self._mask(nodes)))

    def descendants(self, nodes: NodeSet) -> frozenset[str]:
        """Return the descendants: S and all nodes with a directed path from S."""
        return self._names(closure(self._children(), self._mask(nodes)))

    def in_degree(self, node: str) -> int:
        """Return the number of arrowheads at a node: parents plus spouses; a bow counts twice."""
        v = self._node(node)
        return self._parents[v].bit_count() + self._spouses[v].bit_count()

    # -- methods defined in other modules --

    add = edits.add
    remove = edits.remove
    replace = edits.replace
    subgraph = edits.subgraph
    reorder = edits.reorder
    relabel = edits.relabel
    has_edge = edits.has_edge

    districts = structure.districts
    skeleton = structure.skeleton
    collider_triples = structure.collider_triples
    v_structures = structure.v_structures
    topological_order = structure.topological_order
    find_cycle = structure.find_cycle
    bows = structure.bows
    is_acyclic = structure.is_acyclic
    is_bow_free = structure.is_bow_free
    is_bap = structure.is_bap
    is_dag = structure.is_dag
    is_ancestral = structure.is_ancestral
    is_arid = structure.is_arid
    check_acyclic = structure.check_acyclic
    check_bap = structure.check_bap

    paths = _paths.paths
    directed_paths = _paths.directed_paths
    treks = _paths.treks
    m_separated = separation.m_separated
    independencies = separation.independencies
    latent_projection = separation.latent_projection
    identified = identification.identified
    mag = separation.mag
    pag = _pag.pag

    to_dict = text.to_dict
    to_json = text.to_json

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> MixedGraph:
        """Build a graph from the dictionary of :meth:`to_dict`."""
        text.check_dict(data)
        return cls(data["nodes"], data["directed"], data["bidirected"])

    @classmethod
    def from_json(cls, source: str | bytes) -> MixedGraph:
        """Build a graph from the JSON of :meth:`to_json`, or raise a ParseError."""
        return cls.from_dict(load_json(source))

    @public
    def to_svg(self, *, layout: str = "auto") -> str:
        """Return a drawing of the graph as a complete ``<svg>`` element.

        Directed edges are black arrows, bidirected edges red arcs with two arrowheads.

        Parameters
        ----------
        layout : {"auto", "layered", "circle", "waves"}
            Layers from causes to effects, a circle in node order, or a column for each wave of a
            panel (the number at the end of ``x_1, x_2``). "auto" is "layered" for an acyclic graph
            with directed edges, and "circle" otherwise.
        """
        from bowfree.visualization.svg import graph_svg

        return graph_svg(self, layout=layout)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    # -- comparison, hashing, pickling --

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __contains__(self, node: object) -> bool:
        return isinstance(node, str) and node in self._index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MixedGraph):
            return NotImplemented
        return (
            self._parents == other._parents
            and self._spouses == other._spouses
            and self._nodes == other._nodes
        )

    def __hash__(self) -> int:
        return hash((self._nodes, self._parents, self._spouses))

    def __le__(self, other: MixedGraph) -> bool:
        if not isinstance(other, MixedGraph):
            return NotImplemented
        return set(self._nodes) <= set(other._nodes) and (
            set(self.directed) <= set(other.directed)
            and {frozenset(e) for e in self.bidirected} <= {frozenset(e) for e in other.bidirected}
        )

    def __lt__(self, other: MixedGraph) -> bool:
        if not isinstance(other, MixedGraph):
            return NotImplemented
        return self <= other and (len(self), self.n_edges) != (len(other), other.n_edges)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._from_masks, (self._nodes, self._parents, self._spouses)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"cannot set {name!r}: a MixedGraph is immutable; "
            "add(), remove() and replace() return a changed copy"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"cannot delete {name!r}: a MixedGraph is immutable")

    def __str__(self) -> str:
        return text.to_text(self)

    def __repr__(self) -> str:
        return f"parse({str(self)!r})"


def _checked_names(nodes: Iterable[str]) -> tuple[str, ...]:
    if isinstance(nodes, str):
        raise GraphError(
            f"nodes is the string {short_repr(nodes)}; give a list of names, such as ['x', 'y'], "
            "or use bowfree.parse for a graph written as text"
        )
    names = tuple(as_list("nodes", nodes, "names, such as ['x', 'y']", GraphError))
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise GraphError(
                f"node names are strings, but {short_repr(name)} is of type {type(name).__name__}; "
                "convert it with str()"
            )
        if not name:
            raise GraphError("a node has an empty name; every node needs a name")
        if name in seen:
            raise GraphError(f"node {short_repr(name)} is listed twice; node names must be unique")
        if not name.isascii() and _SURROGATE.search(name):
            raise GraphError(
                f"node name {short_repr(name)} contains a lone surrogate, which cannot be "
                "written to a file; rename it"
            )
        seen.add(name)
    return tuple(str(name) for name in names)  # plain strings in place of NumPy's


class HasGraph(Protocol):
    """A result with a graph: of a search, a fit, an equivalence class."""

    @property
    def graph(self) -> MixedGraph: ...


GraphLike = MixedGraph | HasGraph


def graph_of(value: GraphLike | Any) -> MixedGraph:
    """Return the graph, or the graph of the result; raise a GraphError if it is neither."""
    if isinstance(value, MixedGraph):
        return value
    graph = getattr(value, "graph", None)
    if isinstance(graph, MixedGraph):
        return graph
    found = (
        f"the string {value[:60]!r}; convert it with bowfree.parse"
        if isinstance(value, str)
        else f"an object of type {type(value).__name__}"
    )
    raise GraphError(f"expected a graph or a result that has one, got {found}")
