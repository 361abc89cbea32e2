"""Search spaces: a graph class, limits, and background knowledge.

A search stores its :class:`SearchSpace` in its result, and the functions that continue from there
consider the same graphs. A space can be passed by its fields, ``graph_class="dag"``, as an object,
``space=other.space``, or both, which changes single fields.

All classes and limits are hereditary: a graph stays in the space if an edge that is not required is
removed. Therefore walks that add and remove edges reach every graph of the space from the graph of
the required edges. :func:`random_bap` draws graphs uniformly by such a walk (section 3.2 of the
paper). The printed step removes a directed edge twice as often as it adds one, so that its limit is
proportional to ``2**-n_directed``. Here an edge ``i -> j`` is removed only if the ordered pair
``(i, j)`` is drawn, which makes the step symmetric.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.errors import BowfreeError, DataError, GraphError, KnowledgeError
from bowfree.graph.encodings import BACKWARD, BIDIRECTED, FORWARD, graphs_of_bits
from bowfree.graph.mixed_graph import MixedGraph, graph_of
from bowfree.parallel.budget import Budget
from bowfree.parameters import GraphClass, Rng, complete_docstring, public
from bowfree.space.knowledge import Knowledge
from bowfree.text_reading import join_names, short_repr, truncate
from bowfree.validation import LARGEST_COUNT, as_float, check_choice, check_count, is_number

_PLURALS: dict[GraphClass, str] = {
    "bap": "BAPs",
    "dag": "DAGs",
    "bidirected": "bidirected graphs",
    "ancestral": "ancestral graphs",
    "arid": "arid graphs",
}
GRAPH_CLASSES = tuple(_PLURALS)
_NO_KNOWLEDGE = Knowledge()


@dataclass(frozen=True)
class SearchSpace:
    """A graph class, limits and knowledge that restrict searches and samplers.

    Parameters
    ----------
    graph_class : {"bap", "dag", "bidirected", "ancestral", "arid"}
        Class of all graphs.

    Examples
    --------
    >>> import bowfree as bf
    >>> space = bf.SearchSpace(max_in_degree=1, knowledge=bf.Knowledge(unconfounded=["x"]))
    >>> space.permits(bf.parse("x -> y, z")), space.permits(bf.parse("x -> y <-> z"))
    (True, False)
    >>> print(space)
    BAPs with at most 1 arrowhead at a node, with background knowledge
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
        known: Any = self.knowledge
        known = _NO_KNOWLEDGE if known is None else known
        object.__setattr__(self, "knowledge", known)
        if not isinstance(known, Knowledge):
            raise KnowledgeError(
                f"knowledge is an object of type {type(known).__name__}, not a Knowledge; "
                "use bowfree.Knowledge(required=..., forbidden=..., ...) or Knowledge.from_dict(...)"
            )

    @classmethod
    def of(cls, space: Any, *values: Any, bows: bool = False) -> SearchSpace:
        """Return `space`, or a new space if it is None, with the values of fields that are not None.

        Unless the caller is for graphs with `bows`, a bow in the knowledge raises an error.
        """
        names = [entry.name for entry in fields(cls)]
        changes = {k: v for k, v in zip(names, values, strict=False) if v is not None}
        if not isinstance(space, SearchSpace | None):
            raise BowfreeError(
                f"space is an object of type {type(space).__name__}; pass a bowfree.SearchSpace"
            )
        found = replace(space or cls(), **changes)
        if found.knowledge.bows and not bows:
            raise bow_error(found.knowledge, "only greedy_search and fit (bowfree learn)")
        return found

    # --- for searches and samplers ---

    def permits(self, graph: MixedGraph) -> bool:
        """Test whether a graph is in the space."""
        graph = graph_of(graph)
        return self.rules(graph.nodes).permits(*graph._bits())

    def rules(self, names: tuple[str, ...]) -> _core.Rules:
        """Return the space for these variables as the core stores it."""
        in_degree, edges, district = (
            -1 if limit is None else limit
            for limit in (self.max_in_degree, self.max_edges, self.max_district)
        )
        known = self.knowledge != _NO_KNOWLEDGE
        masks = self.knowledge.masks(names) if known else np.zeros((0, 0), dtype=np.uint8)
        graph_class = GRAPH_CLASSES.index(self.graph_class)
        return _core.Rules(graph_class, in_degree, edges, district, masks)

    def required_graph(self, names: tuple[str, ...]) -> MixedGraph:
        """Return the graph of the required edges, at which chains and searches start."""
        graph = self.knowledge.required_graph(names)
        if not self.permits(graph):
            raise KnowledgeError(
                f"the required edges ({truncate(str(graph))}) are not possible among "
                f"{self.describe_limits()}; relax one of them"
            )
        return graph

    def check_start(self, graph: MixedGraph, names: tuple[str, ...]) -> None:
        """Raise a GraphError unless a search or chain on these variables may start at the graph."""
        if not isinstance(graph, MixedGraph):
            raise GraphError(f"a start must be a MixedGraph, got {type(graph).__name__}")
        expected = MixedGraph(names).nodes
        if graph.nodes != expected:
            raise GraphError(
                f"start graph has the nodes {join_names(graph.nodes)}, the data have "
                f"{join_names(expected)}; they must be the same, in the same order"
            )
        if not self.permits(graph):
            problem = (
                "violates the knowledge, class or limits" if graph.is_bap() else "is not a BAP"
            )
            raise GraphError(
                f"start graph {truncate(str(graph))} {problem}; drop the edges at fault"
            )

    def with_default_limits(self, n: float, distinct: float = math.inf) -> SearchSpace:
        """Return the space with limits that keep every district with its parents smaller than n.

        Such a district can be fitted to n observations, for any number of variables. In a district
        of k nodes at least 2 (k - 1) arrowheads belong to bidirected edges. So with at most m
        arrowheads at every node, the district and its parents have at most k (m - 1) + 2 nodes.
        Limits that are None are chosen such that this is n / 2, so that half of the rows, or a
        bootstrap sample, are enough as well; with fewer `distinct` rows, they must be enough.
        """
        for name, value in (("n", n), ("distinct", distinct)):
            if not is_number(value) or not value >= 2:
                raise BowfreeError(
                    f"{name} = {short_repr(value)}: must be a number of observations, at least 2"
                )
        n, distinct = as_float(n), as_float(distinct)
        heads, nodes = self.max_in_degree, self.max_district
        largest = max(2, int(min(n, 2 * distinct - 2, LARGEST_COUNT)) // 2)
        if self.graph_class == "bidirected":
            nodes = largest if nodes is None else nodes
        elif self.graph_class == "dag":
            heads = largest - 1 if heads is None else heads
        else:
            if heads is None:
                heads = 1 + (math.isqrt(largest - 2) if nodes is None else (largest - 2) // nodes)
            if nodes is None:
                nodes = max(1, (largest - 2) // (heads - 1)) if heads > 1 else 2
        limited = replace(self, max_in_degree=heads, max_district=nodes)
        # The largest size of a district with its parents.
        if self.graph_class == "bidirected":
            family = nodes or 0
        elif self.graph_class == "dag" or not nodes or not heads:
            family = 1 + (heads or 0)
        else:
            family = nodes * (heads - 1) + 2
        if family >= min(n, distinct):
            raise DataError(
                f"n = {min(n, distinct):g} observations do not determine a district with its "
                f"parents of up to {family} variables, as there may be among "
                f"{limited.describe_limits()}: lower max_in_degree or max_district, use more "
                "observations, or pass `shrinkage=`"
            )
        return limited

    # --- for equivalence classes ---

    def member_masks(self, names: tuple[str, ...]) -> npt.NDArray[np.uint8]:
        """Return the permitted states of pairs in members of a class, as ``Knowledge.masks``.

        A search over DAGs assumes that nothing is confounded, so the members of the class of its
        result are DAGs; the same holds for "bidirected". The other classes are not about single
        pairs, and limits restrict the search but not the models: both are ignored here.
        """
        masks = self.knowledge.masks(names)
        if self.graph_class == "dag":
            masks &= np.uint8(0b1111 ^ 1 << BIDIRECTED)
        elif self.graph_class == "bidirected":
            masks &= np.uint8(0b1111 ^ (1 << FORWARD | 1 << BACKWARD))
        return masks

    # --- display and serialization ---

    def describe_limits(self) -> str:
        """Return a phrase with the class and the limits."""
        limits = [
            f"at most {value} {noun}{'' if value == 1 else 's'}{where}"
            for value, noun, where in (
                (self.max_in_degree, "arrowhead", " at a node"),
                (self.max_district, "node", " in a district"),
                (self.max_edges, "edge", ""),
            )
            if value is not None
        ]
        return _PLURALS[self.graph_class] + (f" with {', '.join(limits)}" if limits else "")

    def __str__(self) -> str:
        known = "" if self.knowledge == _NO_KNOWLEDGE else ", with background knowledge"
        return self.describe_limits() + known

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; :meth:`from_dict` is the inverse."""
        return asdict(self) | {"knowledge": self.knowledge.to_dict()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> SearchSpace:
        """Build a space from the dictionary of :meth:`to_dict`."""
        if not isinstance(content, Mapping):
            raise BowfreeError(f"expected the fields of a search space, got {short_repr(content)}")
        known = {entry.name for entry in fields(cls)}
        unknown = [name for name in content if name not in known]
        if unknown:
            raise BowfreeError(f"unknown field {short_repr(unknown[0])} of a search space")
        return cls(**{**content, "knowledge": Knowledge.from_dict(content.get("knowledge", {}))})


SearchSpace.__doc__ = complete_docstring(SearchSpace).replace("; overrides that of `space`", "")


def bow_error(knowledge: Knowledge, supported: str) -> KnowledgeError:
    """Return an error about a bow that the knowledge requires."""
    x, y = map(truncate, knowledge.bows[0])
    return KnowledgeError(
        f"the knowledge requires both {x} -> {y} and {x} <-> {y} (a bow), which {supported} "
        "can use; drop one of the two"
    )


Method = Literal["mcmc", "mcmc-printed", "naive"]


@public
def random_bap(
    nodes: int | Sequence[str],
    *,
    size: int | None = None,
    space: SearchSpace | None = None,
    graph_class: GraphClass | None = None,
    max_in_degree: int | None = None,
    max_district: int | None = None,
    max_edges: int | None = None,
    knowledge: Knowledge | None = None,
    method: Method = "mcmc",
    burn_in: int | None = None,
    thin: int | None = None,
    rng: Rng = None,
) -> Any:
    """Draw graphs uniformly at random from all BAPs, or from a smaller space.

    Parameters
    ----------
    nodes : int or sequence of str
        Names of the nodes, or their number; then the names are ``x1, x2, ...``.
    size : int, optional
        Number of graphs, which are returned in a list. By default one graph, not in a list.
    space : SearchSpace, optional
        The graphs to draw from; by default all BAPs.
    method : {"mcmc", "mcmc-printed", "naive"}
        "mcmc" is the corrected chain, uniform in the limit. "mcmc-printed" is the step as printed
        in the paper and "naive" the triangular sampler (without limits and knowledge, for the
        classes bap, dag and bidirected); these two are not uniform.
    burn_in : int, optional
        Number of steps before the first sample, from the graph of the required edges. By default
        ``d**4``, the paper's choice, but at most 20 million.
    thin : int, optional
        Draw all samples from one chain, this many steps apart. By default every sample has its own
        chain, and the samples are independent.

    Returns
    -------
    MixedGraph or list of MixedGraph
        A list if `size` is given.

    Examples
    --------
    >>> import bowfree as bf
    >>> graphs = bf.random_bap(["x", "y", "z"], max_in_degree=1, size=3, rng=7)
    >>> [len(g.nodes) for g in graphs]
    [3, 3, 3]
    """
    names = _node_names(nodes)
    d, n_samples = len(names), 1 if size is None else check_count("size", size, 0)
    within = SearchSpace.of(space, graph_class, max_in_degree, max_district, max_edges, knowledge)
    start, rules, seed = within.required_graph(names), within.rules(names), Budget(rng).seed()
    check_choice("method", method, get_args(Method))
    if method == "naive":
        plain = SearchSpace(within.graph_class)
        if within != plain or within.graph_class in ("ancestral", "arid"):
            raise BowfreeError(
                "method='naive' supports the classes bap, dag and bidirected, without limits or "
                "knowledge; use method='mcmc'"
            )
        bits = _core.sample_triangular(d, rules, n_samples, seed)
    else:
        bits = _core.sample_mcmc(
            *start._bits(),
            rules,
            n_samples,
            default_burn_in(d) if burn_in is None else check_count("burn_in", burn_in, 0),
            0 if thin is None else check_count("thin", thin, 1),
            method == "mcmc-printed",
            seed,
        )
    graphs = graphs_of_bits(names, *bits)
    return graphs[0] if size is None else graphs


def default_burn_in(d: int) -> int:
    """Return the number of burn-in steps of a chain on d nodes; ``d**4`` would take minutes."""
    return min(d**4, 20_000_000)


def _node_names(nodes: int | Sequence[str]) -> tuple[str, ...]:
    if isinstance(nodes, str):
        raise BowfreeError(
            f"nodes must be a number or a sequence of names, got the string {short_repr(nodes)}"
        )
    if isinstance(nodes, Sequence):
        return MixedGraph(nodes).nodes
    return tuple(f"x{i + 1}" for i in range(check_count("number of nodes", nodes, 1)))
