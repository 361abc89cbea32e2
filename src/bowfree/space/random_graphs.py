"""Random graphs, uniform over all bow-free acyclic path diagrams (section 3.2 of the paper).

The chain of section 3.2 adds and removes single edges. As printed it removes a directed edge twice
as often as it adds one, so that its limit is not uniform but proportional to ``2**-n_directed``;
here an edge ``i -> j`` is removed only when the ordered pair drawn is exactly ``(i, j)``, which
makes the step symmetric. The printed step and the naive sampler (a random triangular matrix with
its nodes shuffled) are kept, to be compared with.

Random graphs start the searches of :mod:`bowfree.search.greedy` and are the ground truths of the
simulations in :mod:`bowfree.experiments`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.errors import BowfreeError, KnowledgeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.options import at_least
from bowfree.space.knowledge import Knowledge

__all__ = ["GraphClass", "random_bap"]

GraphClass = Literal["bap", "dag", "bidirected", "ancestral", "arid"]
Method = Literal["mcmc", "mcmc-printed", "naive"]

GRAPH_CLASSES: tuple[GraphClass, ...] = ("bap", "dag", "bidirected", "ancestral", "arid")


@overload
def random_bap(
    nodes: int | Sequence[str],
    *,
    max_in_degree: int | None = ...,
    max_edges: int | None = ...,
    graph_class: GraphClass = ...,
    knowledge: Knowledge | None = ...,
    size: None = ...,
    method: Method = ...,
    burn_in: int | None = ...,
    thin: int | None = ...,
    rng: int | np.random.Generator | None = ...,
) -> MixedGraph: ...
@overload
def random_bap(
    nodes: int | Sequence[str],
    *,
    max_in_degree: int | None = ...,
    max_edges: int | None = ...,
    graph_class: GraphClass = ...,
    knowledge: Knowledge | None = ...,
    size: int,
    method: Method = ...,
    burn_in: int | None = ...,
    thin: int | None = ...,
    rng: int | np.random.Generator | None = ...,
) -> list[MixedGraph]: ...


def random_bap(
    nodes: int | Sequence[str],
    *,
    max_in_degree: int | None = None,
    max_edges: int | None = None,
    graph_class: GraphClass = "bap",
    knowledge: Knowledge | None = None,
    size: int | None = None,
    method: Method = "mcmc",
    burn_in: int | None = None,
    thin: int | None = None,
    rng: int | np.random.Generator | None = None,
) -> MixedGraph | list[MixedGraph]:
    """Draw graphs uniformly at random from all BAPs, or from those within the limits.

    Parameters
    ----------
    nodes : int or sequence of str
        Names of the nodes, or their number; then they are called ``x1, x2, ...``.
    max_in_degree : int, optional
        Largest number of arrowheads (parents and spouses) at a node.
    max_edges : int, optional
        Largest number of edges.
    graph_class : {"bap", "dag", "bidirected", "ancestral", "arid"}
        Which graphs to draw from.
    knowledge : Knowledge, optional
        Draw from the graphs that agree with it. Its names are those of `nodes`.
    size : int, optional
        How many; a list is returned. By default one graph, not in a list.
    method : {"mcmc", "mcmc-printed", "naive"}
        ``"mcmc"`` is the corrected chain, uniform in the limit. ``"mcmc-printed"`` is the step as
        the paper prints it and ``"naive"`` the triangular sampler (no limits, no knowledge;
        classes bap, dag and bidirected): neither is uniform, both are here for comparison.
    burn_in : int, optional
        Steps to the first sample from the empty graph, or from the one with the required edges
        only; by default ``d**4``, the paper's choice.
    thin : int, optional
        With ``thin``, all samples come from one chain, so many steps apart. By default every
        sample has its own chain and the samples are independent.
    rng : int or numpy.random.Generator, optional
        Anything :func:`numpy.random.default_rng` takes.

    Returns
    -------
    MixedGraph or list of MixedGraph

    References
    ----------
    Section 3.2 (Algorithm 1) and appendix A.3 of the paper.

    Examples
    --------
    >>> import bowfree as bf
    >>> graphs = bf.random_bap(["x", "y", "z"], max_in_degree=1, size=3, rng=7)
    >>> [len(g.nodes) for g in graphs]
    [3, 3, 3]
    >>> known = bf.Knowledge(required=["x -> y"], unconfounded=["z"])
    >>> graphs = bf.random_bap(["x", "y", "z"], knowledge=known, size=9, rng=7)
    >>> all(known.permits(g) for g in graphs)
    True
    """
    names = node_names(nodes)
    seed = draw_seed(rng)
    n_samples = 1 if size is None else at_least("size", size, 0)
    rules = graph_rules(
        len(names),
        graph_class,
        max_in_degree=max_in_degree,
        max_edges=max_edges,
        knowledge=None if knowledge is None else knowledge.masks(names),
    )
    known = Knowledge() if knowledge is None else knowledge
    parents, spouses = _sample(
        permitted_ground(known, names, rules, graph_class),
        n_samples,
        rules,
        method=method,
        limited=any(limit is not None for limit in (max_in_degree, max_edges, knowledge)),
        graph_class=graph_class,
        burn_in=burn_in,
        thin=thin,
        seed=seed,
    )
    graphs = [MixedGraph._from_bits(names, p, s) for p, s in zip(parents, spouses, strict=True)]
    return graphs[0] if size is None else graphs


def _sample(
    start: MixedGraph,
    size: int,
    limits: _core.Rules,
    *,
    method: Method,
    limited: bool,
    graph_class: GraphClass,
    burn_in: int | None,
    thin: int | None,
    seed: int,
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Bits of ``size`` graphs, each array of shape (size, d, words)."""
    d = len(start)
    if method == "naive":
        if limited or graph_class in ("ancestral", "arid"):
            raise BowfreeError(
                "the naive sampler knows no limits, no knowledge, and no class but bap, dag and "
                "bidirected; use method='mcmc' for them"
            )
        return _core.sample_triangular(d, limits, size, seed)
    if method not in ("mcmc", "mcmc-printed"):
        raise BowfreeError(
            f"unknown method {method!r}; choose one of 'mcmc', 'mcmc-printed', 'naive'"
        )
    return _core.sample_mcmc(
        *start._bits(),
        limits,
        size,
        d**4 if burn_in is None else at_least("burn_in", burn_in, 0),
        0 if thin is None else at_least("thin", thin, 1),
        method == "mcmc-printed",
        seed,
    )


def node_names(nodes: int | Sequence[str]) -> tuple[str, ...]:
    """Return the given names, or ``x1, x2, ...`` for a number of nodes."""
    if isinstance(nodes, str):
        raise BowfreeError(f"nodes must be a number or a sequence of names, got the text {nodes!r}")
    if isinstance(nodes, Sequence):
        return MixedGraph(nodes).nodes
    return tuple(f"x{i + 1}" for i in range(at_least("number of nodes", nodes, 1)))


def draw_seed(rng: int | np.random.Generator | None) -> int:
    """Draw the 64-bit seed that the core's streams grow from."""
    return int(np.random.default_rng(rng).integers(0, 2**64, dtype=np.uint64))


def graph_rules(
    d: int,
    graph_class: GraphClass,
    *,
    max_in_degree: int | None = None,
    max_edges: int | None = None,
    max_district: int | None = None,
    knowledge: npt.NDArray[np.uint8] | None = None,
) -> _core.Rules:
    """Pack class and limits for the core."""
    if graph_class not in GRAPH_CLASSES:
        raise BowfreeError(
            f"unknown graph_class {graph_class!r}; choose one of {', '.join(GRAPH_CLASSES)}"
        )

    def limit(name: str, value: int | None, least: int) -> int:
        return -1 if value is None else at_least(name, value, least)

    return _core.Rules(
        GRAPH_CLASSES.index(graph_class),
        limit("max_in_degree", max_in_degree, 0),
        limit("max_edges", max_edges, 0),
        limit("max_district", max_district, 1),
        np.zeros((0, 0), dtype=np.uint8) if knowledge is None else knowledge,
    )


def permitted_ground(
    knowledge: Knowledge, names: tuple[str, ...], rules: _core.Rules, graph_class: str
) -> MixedGraph:
    """Return the graph of the required edges, where chains and searches set out."""
    ground = knowledge.ground(names)
    if not rules.permits(*ground._bits()):
        raise KnowledgeError(
            f"the required edges ({ground}) are not possible in graph_class {graph_class!r} with "
            "these limits on in-degree, edges and districts; relax one of them"
        )
    return ground
