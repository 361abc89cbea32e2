"""When two BAPs describe the same distributions (section 2.4).

The paper gives conditions from both sides, and the model itself an exact answer between them::

    distinguishing_subgraph          necessary   (Theorem: equivalent in all induced subgraphs)
    same_skeleton_and_v_structures   necessary   (Corollary: the same for two and three nodes)
    markov_equivalent                necessary   (Lemma: the same m-separations)
    equivalent                       exact
    same_skeleton_and_colliders      sufficient  (Theorem, from Wright's formula)

The exact answer compares the polynomial equations that the covariance matrices of the two models
satisfy. Draw random parameters of G in the field of p = 2^61 - 1 elements and compute Sigma there.
If H can produce Sigma, its parameters follow node by node, parents first: row v of I - B is the
combination of v and its parents that is uncorrelated with the errors of the parents. H contains the
model of G exactly when these errors are uncorrelated at every pair that H does not join. A wrong
answer has probability about d^3 / p for one draw, and two are made. Graphs of one skeleton have one
dimension, so for them one inclusion decides equality.

Under interventions there is one Sigma for each condition, and the parameters that H finds in them
have to agree (:mod:`bowfree.equivalence.targets`): ``equivalent``, ``is_submodel`` and
``explain_equivalence`` take the targets of each condition.

Equality is that of the algebraic models (Zariski closures). Almost every covariance matrix of the
one model is then one of the other, with a positive definite Omega; exceptions have measure zero.

Next: :mod:`bowfree.equivalence.explanation` for the reasons, :mod:`bowfree.equivalence.markov` for
m-separations, :mod:`bowfree.equivalence.classes` for all graphs equivalent to one,
:mod:`bowfree.equivalence.equations` for the equations themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from bowfree import _core
from bowfree.equivalence.targets import Kind, Targets, TargetSets, given_targets
from bowfree.errors import GraphError
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parallel.budget import Budget
from bowfree.parameters import Rng
from bowfree.validation import check_count


def equivalent(
    graph: GraphLike,
    other: GraphLike,
    *,
    targets: TargetSets | None = None,
    kind: Kind | Sequence[Kind] = "perfect",
    rng: Rng = None,
) -> bool:
    """Decide whether two BAPs are distributionally equivalent.

    Parameters
    ----------
    graph, other : MixedGraph, or results that have one
        BAPs on the same nodes, in any order.
    targets : sequence of sets of str, optional
        The nodes intervened on in each condition under which data could be had, ``()`` for none:
        ``[(), ("x",)]`` means undisturbed, and with x intervened on. By default one condition
        without targets. Say ``()`` if there is such a condition; it is not taken for granted.
    kind : {"perfect", "mechanism", "activity", "noise"} or sequence of them
        What an intervention does (:mod:`bowfree.equivalence.targets`): by default a target loses
        every edge with a head at it. A sequence has one for each condition.
    rng : int or numpy.random.Generator, optional
        Where the random parameters come from. The answer does not depend on it, except with a
        probability of about d^6 / 10^36.

    Returns
    -------
    bool

    Raises
    ------
    GraphError
        When the graphs have different nodes, or one of them has a directed cycle or a bow.

    Examples
    --------
    Which of x and y comes first cannot be seen in x -> y -> z, but a collider can:

    >>> import bowfree as bf
    >>> bf.equivalent(bf.parse("x -> y -> z"), bf.parse("x <- y -> z"))
    True
    >>> bf.equivalent(bf.parse("x -> y -> z"), bf.parse("x -> y <- z"))
    False

    An experiment on y sees it, as x no longer goes along with y:

    >>> targets = [(), ("y",)]
    >>> bf.equivalent(bf.parse("x -> y -> z"), bf.parse("x <- y -> z"), targets=targets)
    False

    References
    ----------
    Section 2.4 of the paper; T. van Ommen, Efficiently deciding algebraic equivalence of bow-free
    acyclic path diagrams, UAI 2024.
    """
    g, h = graph_of(graph), graph_of(other)
    conditions = _asked_for(targets, kind, g)
    if conditions is not None:
        return decide_under(conditions, g, h, rng, equivalence=True)[0]
    return decide(g, h, rng, equivalence=True)[0] == 1


def is_submodel(
    graph: GraphLike,
    other: GraphLike,
    *,
    targets: TargetSets | None = None,
    kind: Kind | Sequence[Kind] = "perfect",
    rng: Rng = None,
) -> bool:
    """Decide whether the model of `graph` lies inside the model of `other`.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        An acyclic graph; bows are allowed.
    other : MixedGraph, or a result that has one
        A BAP on the same nodes.
    targets, kind
        As for :func:`equivalent`.
    rng : int or numpy.random.Generator, optional
        As for :func:`equivalent`.

    Returns
    -------
    bool

    Examples
    --------
    >>> import bowfree as bf
    >>> chain, full = bf.parse("x -> y -> z"), bf.parse("x -> y -> z <- x")
    >>> bf.is_submodel(chain, full), bf.is_submodel(full, chain)
    (True, False)

    An instrument z, with x and y confounded, puts no equation on the covariances:

    >>> bf.is_submodel(bf.parse("x, y, z -> x -> y, x <-> y"), bf.parse("x -> y -> z <- x"))
    True

    References
    ----------
    Section 2.4 of the paper; van Ommen (2024).
    """
    g, h = graph_of(graph), graph_of(other)
    conditions = _asked_for(targets, kind, g)
    if conditions is not None:
        return decide_under(conditions, g, h, rng, equivalence=False)[0]
    return decide(g, h, rng, equivalence=False)[0] == 1


def same_skeleton_and_v_structures(graph: GraphLike, other: GraphLike) -> bool:
    """Tell whether two BAPs have the same skeleton and v-structures: necessary for equivalence.

    Examples
    --------
    Figure "counterexample" (a) and (b) of the paper agree in both, and yet are not equivalent:

    >>> import bowfree as bf
    >>> a = bf.parse("x1 <-> x2 <- x4 <-> x3 <- x1 <-> x4")
    >>> b = a.replace("x1 <-> x4", "x1 -> x4")
    >>> bf.same_skeleton_and_v_structures(a, b), bf.equivalent(a, b)
    (True, False)

    References
    ----------
    Corollary "necessary" of section 2.4.
    """
    g, h = aligned_baps(graph, other)
    return adjacency(g) == adjacency(h) and g.v_structures() == h.v_structures()


def same_skeleton_and_colliders(graph: GraphLike, other: GraphLike) -> bool:
    """Tell whether two BAPs have the same skeleton and collider triples: enough for equivalence.

    Examples
    --------
    All BAPs with an edge at each of three pairs are equivalent, whatever their collider triples:

    >>> import bowfree as bf
    >>> g, h = bf.parse("x -> y -> z <- x"), bf.parse("x <-> y <-> z <-> x")
    >>> bf.same_skeleton_and_colliders(g, h), bf.equivalent(g, h)
    (False, True)

    References
    ----------
    Theorem "sufficient" of section 2.4.
    """
    g, h = aligned_baps(graph, other)
    return adjacency(g) == adjacency(h) and g.collider_triples() == h.collider_triples()


def distinguishing_subgraph(
    graph: GraphLike, other: GraphLike, *, size: int | None = None, rng: Rng = None
) -> tuple[str, ...] | None:
    """Find nodes on which the induced subgraphs of two BAPs are not equivalent, if there are some.

    Parameters
    ----------
    graph, other : MixedGraph, or results that have one
        BAPs on the same nodes.
    size : int, optional
        Look at all sets of up to this many nodes, the smaller ones first. By default nodes are left
        out of the whole set one by one, which takes one test per node.
    rng : int or numpy.random.Generator, optional
        As for :func:`equivalent`.

    Returns
    -------
    tuple of str or None
        Nodes of which none can be left out; None when there are none (of the given size). Without
        `size`, None means that the graphs are equivalent.

    Examples
    --------
    >>> import bowfree as bf
    >>> g, h = bf.parse("w -> x -> y -> z"), bf.parse("w -> x -> y <- z")
    >>> bf.distinguishing_subgraph(g, h), bf.distinguishing_subgraph(g, h, size=2)
    (('x', 'y', 'z'), None)

    References
    ----------
    Theorem "subgraph" of section 2.4: induced subgraphs of equivalent BAPs are equivalent.
    """
    g, h = aligned_baps(graph, other)
    seed = algebra_seed(rng)
    if size is not None:
        for k in range(2, min(check_count("size", size, 1), len(g)) + 1):
            for nodes in combinations(g.nodes, k):
                if not equivalent(g.subgraph(nodes), h.subgraph(nodes), rng=seed):
                    return nodes
        return None
    if equivalent(g, h, rng=seed):
        return None
    # By the theorem a set that contains a differing subgraph differs itself, so a node that cannot
    # be left out once never can.
    nodes = g.nodes
    for node in g.nodes:
        fewer = tuple(v for v in nodes if v != node)
        if not equivalent(g.subgraph(fewer), h.subgraph(fewer), rng=seed):
            nodes = fewer
    return nodes


# -- how the graphs reach the core --


def _asked_for(targets: TargetSets | None, kind: Any, graph: MixedGraph) -> Targets | None:
    """Return conditions with targets; None where there are none, soon found out in most calls."""
    if targets is None and isinstance(kind, str) and kind == "perfect":
        return None
    conditions = given_targets(targets, kind, graph.nodes)
    return conditions if conditions.any else None


def decide_under(
    conditions: Targets, g: MixedGraph, h: MixedGraph, rng: Rng, *, equivalence: bool
) -> tuple[bool, int, int, int, int, int]:
    """Ask the core about several conditions: (answer, clash, condition, other, a, b)."""
    if equivalence:
        g.check_bap()
    g.check_acyclic()
    h = aligned(g, h)
    h.check_bap()
    return _core.decide_under(
        *g._bits(), *h._bits(), conditions.core, algebra_seed(rng), equivalence
    )


def decide(g: MixedGraph, h: MixedGraph, rng: Any, *, equivalence: bool) -> tuple[int, int, int]:
    """Ask the core; cycles and bows are noticed there, and named here."""
    h = aligned(g, h)
    decision = _core.decide(len(g), *_words(g), *_words(h), algebra_seed(rng), equivalence)
    if decision[0] == -1:
        g.check_bap() if equivalence else g.check_acyclic()
    if decision[0] == -2:
        h.check_bap()
    return decision


def _words(graph: MixedGraph) -> tuple[Sequence[int], Sequence[int]]:
    """Return parents and spouses as the words of all rows; up to 64 nodes these are the masks."""
    if len(graph._nodes) <= 64:
        return graph._parents, graph._spouses
    parents, spouses = graph._bits()
    return parents.ravel().tolist(), spouses.ravel().tolist()


def algebra_seed(rng: Rng) -> int:
    """Return the seed of the parameters behind an exact test.

    The answer depends on it with a probability below 1e-15, so that None may stand for one fixed
    draw: a decision takes microseconds, and a fresh seed would take longer than that.
    """
    if rng is None:
        return 0
    return rng % 2**64 if isinstance(rng, int) else Budget(rng).seed()


def aligned(g: MixedGraph, h: MixedGraph) -> MixedGraph:
    """Return h with its nodes in the order of g."""
    if g.nodes == h.nodes:
        return h
    if set(g.nodes) != set(h.nodes):
        only_g = sorted(set(g.nodes) - set(h.nodes))
        only_h = sorted(set(h.nodes) - set(g.nodes))
        raise GraphError(
            f"the graphs have different nodes: only the first has {only_g}, only the second "
            f"{only_h}; compare graphs on one set of nodes (add(nodes=...) or subgraph)"
        )
    return h.reorder(g.nodes)


def aligned_baps(graph: GraphLike, other: GraphLike) -> tuple[MixedGraph, MixedGraph]:
    g, h = graph_of(graph), graph_of(other)
    g.check_bap()
    h.check_bap()
    return g, aligned(g, h)


def adjacency(graph: MixedGraph) -> list[int]:
    """Return the skeleton as one mask of neighbors per node."""
    return [
        p | s | c for p, s, c in zip(graph._parents, graph._spouses, graph._children(), strict=True)
    ]
