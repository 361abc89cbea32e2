"""Distributional equivalence of two BAPs (section 2.4).

The paper has necessary and sufficient conditions; an algebraic test is exact::

    distinguishing_subgraph          necessary   (Theorem: equivalent in all induced subgraphs)
    same_skeleton_and_v_structures   necessary   (Corollary: the same for two and three nodes)
    markov_equivalent                necessary   (Lemma: the same m-separations)
    equivalent                       exact
    same_skeleton_and_colliders      sufficient  (Theorem, from Wright's formula)

The exact test draws random parameters of G in the field of p = 2^61 - 1 elements and computes Sigma
there. The parameters of H that belong to Sigma follow node by node, parents first: row v of I - B
is the combination of v and its parents that is uncorrelated with the errors of the parents. H
contains the model of G if and only if these errors are uncorrelated at every non-adjacent pair of H.
The answer is wrong with a probability of about d^3 / p for one draw, and two draws are made. Graphs
with the same skeleton have the same dimension, so that one inclusion implies equality. Under
interventions there is one Sigma for each condition, and the parameters of H that follow from them
have to agree (:mod:`bowfree.equivalence.targets`).

Equality is that of the algebraic models (Zariski closures): almost every covariance matrix of one
model is in the other, with a positive definite Omega; exceptions have measure zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from bowfree import _core
from bowfree.equivalence.targets import Targets, TargetSets, read_targets, target_names
from bowfree.errors import GraphError
from bowfree.graph.mixed_graph import GraphLike, MixedGraph, graph_of
from bowfree.graph.separation import minimal_separator, separable
from bowfree.graph.text import quote
from bowfree.parallel.budget import Budget
from bowfree.parameters import Kind, Rng, public
from bowfree.results.display import TextDisplay
from bowfree.results.serialization import ToDict
from bowfree.validation import check_count


@public
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
        The nodes intervened on in each condition, ``()`` for an observational one: ``[(), ("x",)]``
        are observational data, and data with an intervention on x. By default one observational
        condition; with targets, it must be listed if there is one.
    kind : {"perfect", "mechanism", "activity", "noise"} or sequence of them
        Kind of the interventions (:mod:`bowfree.equivalence.targets`), one for all conditions or
        one for each. A perfect intervention removes all edges with an arrowhead at the target.
    rng : int or numpy.random.Generator, optional
        Source of the random parameters. The answer depends on it with a probability of about
        d^6 / 10^36.

    Examples
    --------
    The direction of x -> y in x -> y -> z is not identified. An experiment on y identifies it,
    because x is then independent of y:

    >>> import bowfree as bf
    >>> bf.equivalent(bf.parse("x -> y -> z"), bf.parse("x <- y -> z"))
    True
    >>> targets = [(), ("y",)]
    >>> bf.equivalent(bf.parse("x -> y -> z"), bf.parse("x <- y -> z"), targets=targets)
    False

    References
    ----------
    Section 2.4 of the paper; T. van Ommen, Efficiently deciding algebraic equivalence of bow-free
    acyclic path diagrams, UAI 2024.
    """
    g, h = graph_of(graph), graph_of(other)
    conditions = _conditions(targets, kind, g)
    return decide(g, h, rng, equivalence=True, conditions=conditions)[0] == 1


@public
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
    targets, kind, rng
        As for :func:`equivalent`.

    Examples
    --------
    >>> import bowfree as bf
    >>> chain, full = bf.parse("x -> y -> z"), bf.parse("x -> y -> z <- x")
    >>> bf.is_submodel(chain, full), bf.is_submodel(full, chain)
    (True, False)

    An instrument z with confounded x and y imposes no equation on the covariances:

    >>> bf.is_submodel(bf.parse("x, y, z -> x -> y, x <-> y"), bf.parse("x -> y -> z <- x"))
    True
    """
    g, h = graph_of(graph), graph_of(other)
    conditions = _conditions(targets, kind, g)
    return decide(g, h, rng, equivalence=False, conditions=conditions)[0] == 1


@public
def same_skeleton_and_v_structures(graph: GraphLike, other: GraphLike) -> bool:
    """Return whether two BAPs have the same skeleton and v-structures.

    This is necessary for equivalence (corollary "necessary" of section 2.4).

    Examples
    --------
    Figure "counterexample" (a) and (b) of the paper agree in both, but are not equivalent:

    >>> import bowfree as bf
    >>> a = bf.parse("x1 <-> x2 <- x4 <-> x3 <- x1 <-> x4")
    >>> b = a.replace("x1 <-> x4", "x1 -> x4")
    >>> bf.equivalence.same_skeleton_and_v_structures(a, b), bf.equivalent(a, b)
    (True, False)
    """
    g, h = aligned_baps(graph, other)
    return adjacency(g) == adjacency(h) and g.v_structures() == h.v_structures()


@public
def same_skeleton_and_colliders(graph: GraphLike, other: GraphLike) -> bool:
    """Return whether two BAPs have the same skeleton and collider triples.

    This is sufficient for equivalence (theorem "sufficient" of section 2.4).

    Examples
    --------
    All BAPs with three edges on three nodes are equivalent, whatever their collider triples:

    >>> import bowfree as bf
    >>> g, h = bf.parse("x -> y -> z <- x"), bf.parse("x <-> y <-> z <-> x")
    >>> bf.equivalence.same_skeleton_and_colliders(g, h), bf.equivalent(g, h)
    (False, True)
    """
    g, h = aligned_baps(graph, other)
    return adjacency(g) == adjacency(h) and g.collider_triples() == h.collider_triples()


@public
def distinguishing_subgraph(
    graph: GraphLike, other: GraphLike, *, size: int | None = None, rng: Rng = None
) -> tuple[str, ...] | None:
    """Find a set of nodes on which the induced subgraphs of two BAPs are not equivalent.

    Parameters
    ----------
    graph, other : MixedGraph, or results that have one
        BAPs on the same nodes.
    size : int, optional
        Examine all sets of up to this many nodes, the smaller ones first. By default nodes are
        removed from the whole set one by one, which takes one test per node.
    rng
        As for :func:`equivalent`.

    Returns
    -------
    tuple of str or None
        A minimal set of nodes; None if there is none (of the given size). Without `size`, None
        means that the graphs are equivalent.

    Examples
    --------
    >>> import bowfree as bf
    >>> g, h = bf.parse("w -> x -> y -> z"), bf.parse("w -> x -> y <- z")
    >>> bf.equivalence.distinguishing_subgraph(g, h), bf.equivalence.distinguishing_subgraph(g, h, size=2)
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
    # By the theorem a superset of a differing set differs, so a node that cannot be removed once
    # never can.
    nodes = g.nodes
    for node in g.nodes:
        fewer = tuple(v for v in nodes if v != node)
        if not equivalent(g.subgraph(fewer), h.subgraph(fewer), rng=seed):
            nodes = fewer
    return nodes


@public
def markov_equivalent(graph: GraphLike, other: GraphLike) -> bool:
    """Return whether two acyclic graphs have the same m-separations.

    This is necessary for equivalence, but not sufficient, because BAPs also impose constraints that
    are not independences.

    Parameters
    ----------
    graph, other : MixedGraph, or results that have one
        Acyclic graphs on the same nodes; bows are allowed.

    Notes
    -----
    Some set that contains k separates nodes a and b if and only if the ancestors of a, b and k do.
    If two graphs agree on this for all k that may be the middle of a triple or the end of a
    discriminating path, their maximal ancestral graphs have the same adjacencies, unshielded
    colliders, and colliders at the ends of discriminating paths, and therefore the same
    m-separations (Spirtes and Richardson 1996).

    Examples
    --------
    Figure "counterexample" (a) and (c): no m-separations at all in either, and not equivalent:

    >>> import bowfree as bf
    >>> a = bf.parse("x1 <-> x2 <- x4 <-> x3 <- x1 <-> x4")
    >>> c = a.add("x2 <-> x3")
    >>> bf.equivalence.markov_equivalent(a, c), bf.equivalent(a, c)
    (True, False)
    """
    g, h = graph_of(graph), graph_of(other)
    g.check_acyclic()
    h.check_acyclic()
    return separation_difference(g, aligned(g, h)) is None


def separation_difference(
    g: MixedGraph, h: MixedGraph
) -> tuple[str, str, tuple[str, ...], bool] | None:
    """Return an m-separation of only one of the graphs, as (a, b, given, whether of the first)."""
    near: dict[str, set[str]] = {v: set() for v in g.nodes}  # nodes that no set separates from v
    apart = []
    for a, b in combinations(g.nodes, 2):
        if found := _difference(g, h, a, b):
            return found
        if separable(g, a, b):
            apart.append((a, b))
        else:
            near[a].add(b)
            near[b].add(a)
    for a, b in apart:
        # The middle of an unshielded triple is near both ends. On a discriminating path from a to
        # b, all nodes but the last are parents of b, so the one next to a is near both, too.
        if near[a].isdisjoint(near[b]):
            continue
        for k in sorted(near[a] | near[b], key=g._node):
            if found := _difference(g, h, a, b, k):
                return found
    return None


def _difference(
    g: MixedGraph, h: MixedGraph, a: str, b: str, *including: str
) -> tuple[str, str, tuple[str, ...], bool] | None:
    """Return a set with these nodes that separates a and b, if there is one in one graph only."""
    in_g = separable(g, a, b, *including)
    if in_g == separable(h, a, b, *including):
        return None
    given = minimal_separator(g if in_g else h, a, b, including=including)
    assert given is not None
    return a, b, given, in_g


# --- calls of the core ---


def _conditions(targets: TargetSets | None, kind: Any, graph: MixedGraph) -> Targets | None:
    """Return the conditions; None, quickly, for a single one without targets."""
    if targets is None and isinstance(kind, str) and kind == "perfect":
        return None
    return read_targets(targets, kind, graph.nodes)


def decide(
    g: MixedGraph, h: MixedGraph, rng: Any, *, equivalence: bool, conditions: Targets | None = None
) -> tuple[int, int, int, int, int, int]:
    """Decide equivalence or inclusion: (answer, difference, condition, other, a, b).

    The core detects cycles and bows.
    """
    h = aligned(g, h)
    given = conditions.core if conditions is not None and conditions.any else []
    seed = algebra_seed(rng)
    decision = _core.decide(len(g), *_words(g), *_words(h), given, seed, equivalence)
    if decision[0] == -1:
        g.check_bap() if equivalence else g.check_acyclic()
    if decision[0] == -2:
        h.check_bap()
    return decision


def _words(graph: MixedGraph) -> tuple[Sequence[int], Sequence[int]]:
    """Return parents and spouses as 64-bit words; up to 64 nodes these are the masks."""
    if len(graph._nodes) <= 64:
        return graph._parents, graph._spouses
    parents, spouses = graph._bits()
    return parents.ravel().tolist(), spouses.ravel().tolist()


def algebra_seed(rng: Rng) -> int:
    """Return the seed of an exact test: fixed by default, because drawing one takes longer."""
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
            f"{only_h}; use add(nodes=...) or subgraph"
        )
    return h.reorder(g.nodes)


def aligned_baps(graph: GraphLike, other: GraphLike) -> tuple[MixedGraph, MixedGraph]:
    """Return two BAPs with the same order of nodes."""
    g, h = graph_of(graph), graph_of(other)
    g.check_bap()
    h.check_bap()
    return g, aligned(g, h)


def adjacency(graph: MixedGraph) -> list[int]:
    """Return the skeleton as one mask of neighbors per node."""
    return [
        p | s | c for p, s, c in zip(graph._parents, graph._spouses, graph._children(), strict=True)
    ]


Reason = Literal[
    "identical",
    "skeleton",
    "v-structure",
    "colliders",
    "m-separation",
    "induced subgraph",
    "algebraic",
    "intervention",
    "shared parameters",
    "dimension",
]

# Codes of the core for the difference of two graphs (cpp/equivalence/decision.hpp).
_COEFFICIENT, _ERROR = 2, 3


@dataclass(frozen=True, repr=False)
class EquivalenceVerdict(TextDisplay, ToDict):
    """The answer to "are these graphs equivalent?" with a reason; true if they are.

    Attributes
    ----------
    equivalent : bool
        The answer.
    reason : str
        ``"identical"``, ``"colliders"`` or ``"algebraic"`` for equivalent graphs; ``"skeleton"``,
        ``"v-structure"``, ``"m-separation"``, ``"induced subgraph"`` or ``"algebraic"`` otherwise.
        With targets also ``"intervention"`` (one condition with targets distinguishes the graphs),
        ``"shared parameters"`` (two conditions do) and ``"dimension"``.
    text : str
        The reason in words.
    evidence : tuple of str
        The nodes involved: an edge, a triple, a separated pair followed by its separating set, the
        nodes of an induced subgraph, or the pair whose constraint fails. With ``"intervention"`` the
        targets come first.
    reference : str
        The theorem used.
    """

    equivalent: bool
    reason: Reason
    text: str
    evidence: tuple[str, ...]
    reference: str

    def __bool__(self) -> bool:
        return self.equivalent

    def _headline(self) -> str:
        answer = "equivalent" if self.equivalent else "not equivalent"
        return f"{answer}: {self.text} ({self.reference})"


@public
def explain_equivalence(
    graph: GraphLike,
    other: GraphLike,
    *,
    targets: TargetSets | None = None,
    kind: Kind | Sequence[Kind] = "perfect",
    rng: Rng = None,
) -> EquivalenceVerdict:
    """Decide whether two BAPs are equivalent, and say why.

    The reasons are tried in the order skeleton, v-structures, collider triples, m-separations,
    exact test. If only the exact test distinguishes the graphs, the verdict names a minimal induced
    subgraph that differs. With targets the conditions are examined one by one, then together.

    Parameters
    ----------
    graph, other : MixedGraph, or results that have one
        BAPs on the same nodes.
    targets, kind, rng
        As for :func:`equivalent`.

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.explain_equivalence(bf.parse("x -> y -> z"), bf.parse("x -> y <- z")))
    not equivalent: x, y, z is a v-structure in the second graph only (Corollary "necessary")
    >>> print(bf.explain_equivalence(bf.parse("x -> y -> z"), bf.parse("x <-> y -> z")))
    equivalent: the same skeleton and collider triples (Theorem "sufficient")
    >>> g, h = bf.parse("x -> y"), bf.parse("x <-> y")
    >>> print(bf.explain_equivalence(g, h, targets=[(), ("x",)]).text)
    with x intervened on, x and y are adjacent in the first graph only
    """
    g, h = aligned_baps(graph, other)
    conditions = read_targets(targets, kind, g.nodes)
    return _explain_under(conditions, g, h, rng) if conditions.any else _explain(g, h, rng)


def _explain(g: MixedGraph, h: MixedGraph, rng: Rng) -> EquivalenceVerdict:
    if g == h:
        return EquivalenceVerdict(True, "identical", "the same graph", (), "by definition")
    if adjacency(g) != adjacency(h):
        a, b = min(sorted(edge, key=g._node) for edge in g.skeleton() ^ h.skeleton())
        where = "first" if g.adjacent(a, b) else "second"
        text = f"{quote(a)} and {quote(b)} are adjacent in the {where} graph only"
        return EquivalenceVerdict(False, "skeleton", text, (a, b), 'Corollary "necessary"')
    triples = g.v_structures()
    if odd := triples ^ h.v_structures():
        triple = min(odd, key=lambda t: tuple(map(g._node, t)))
        where = "first" if triple in triples else "second"
        text = f"{', '.join(map(quote, triple))} is a v-structure in the {where} graph only"
        return EquivalenceVerdict(False, "v-structure", text, triple, 'Corollary "necessary"')
    if g.collider_triples() == h.collider_triples():
        text = "the same skeleton and collider triples"
        return EquivalenceVerdict(True, "colliders", text, (), 'Theorem "sufficient"')
    difference = separation_difference(g, h)
    if difference is not None:
        a, b, given, in_first = difference
        where = "first" if in_first else "second"
        text = (
            f"{quote(a)} and {quote(b)} are m-separated given {{{', '.join(map(quote, given))}}} "
            f"in the {where} graph only"
        )
        return EquivalenceVerdict(False, "m-separation", text, (a, b, *given), 'Lemma "m-sep"')
    answer, *_, i, j = decide(g, h, rng, equivalence=True)
    exact = "exact test, van Ommen 2024"
    if answer == 1:
        text = "every constraint of the one model holds in the other"
        return EquivalenceVerdict(True, "algebraic", text, (), exact)
    nodes = distinguishing_subgraph(g, h, rng=rng)
    assert nodes is not None
    if len(nodes) < len(g):
        text = f"the induced subgraphs on {', '.join(map(quote, nodes))} are not equivalent"
        return EquivalenceVerdict(
            False, "induced subgraph", text, nodes, f'Theorem "subgraph" and {exact}'
        )
    a, b = g.nodes[min(i, j)], g.nodes[max(i, j)]
    text = (
        f"no m-separation and no smaller induced subgraph distinguishes them, but the constraint of "
        f"the second graph at its non-adjacent pair {quote(a)}, {quote(b)} fails in the first"
    )
    return EquivalenceVerdict(False, "algebraic", text, (a, b), exact)


def _explain_under(
    conditions: Targets, g: MixedGraph, h: MixedGraph, rng: Rng
) -> EquivalenceVerdict:
    if g == h:
        return EquivalenceVerdict(True, "identical", "the same graph", (), "by definition")
    exact = "exact test under interventions"
    same, difference, here, there, i, j = decide(g, h, rng, equivalence=True, conditions=conditions)
    if same == 1:
        text = "the same covariance matrices in every condition"
        return EquivalenceVerdict(True, "algebraic", text, (), exact)
    for e, names in enumerate(conditions.sets):
        verdict = _explain(conditions.cut(g, e), conditions.cut(h, e), rng)
        if not verdict.equivalent and not names:
            return verdict
        if not verdict.equivalent:
            return EquivalenceVerdict(
                False,
                "intervention",
                f"with {target_names(names)} intervened on, {verdict.text}",
                (*names, *verdict.evidence),
                verdict.reference,
            )
    if difference not in (_COEFFICIENT, _ERROR):
        text = "the interventions change more parameters in one of the graphs than in the other"
        return EquivalenceVerdict(False, "dimension", text, (), exact)
    a, b = g.nodes[i], g.nodes[j]
    what = (
        f"coefficient of {quote(a)} -> {quote(b)}"
        if difference == _COEFFICIENT
        else f"error covariance of {quote(a)} and {quote(b)}"
        if a != b
        else f"error variance of {quote(a)}"
    )
    where = [
        f"with {target_names(names)} intervened on" if names else "in observational data"
        for names in (conditions.sets[there], conditions.sets[here])
    ]
    text = (
        f"each condition alone allows both graphs, but with data of the first the {what} in the "
        f"second would have different values {where[0]} and {where[1]}"
    )
    return EquivalenceVerdict(False, "shared parameters", text, (a, b), exact)
