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

Next: :mod:`bowfree.equivalence.classes` for all graphs equivalent to one,
:mod:`bowfree.equivalence.constraints` for the equations themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from bowfree import _core
from bowfree.budget import Budget
from bowfree.display import Shown
from bowfree.equivalence.targets import Kind, Targets, TargetSets, given_targets, said
from bowfree.errors import GraphError
from bowfree.graph.given import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.separation import minimal_separator
from bowfree.graph.text import quote
from bowfree.json_values import Plain
from bowfree.options import Rng, at_least

__all__ = [
    "EquivalenceVerdict",
    "distinguishing_subgraph",
    "equivalent",
    "explain_equivalence",
    "is_submodel",
    "markov_equivalent",
    "same_skeleton_and_colliders",
    "same_skeleton_and_v_structures",
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

# What the core reports when it tells two graphs apart (cpp/equivalence/interventions.hpp).
_COEFFICIENT, _ERROR = 2, 3


def equivalent(
    graph: GraphLike,
    other: GraphLike,
    *,
    targets: TargetSets | None = None,
    kind: Kind = "perfect",
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
    kind : {"perfect", "mechanism", "activity", "noise"}
        What an intervention does (:mod:`bowfree.equivalence.targets`): by default a target loses
        every edge with a head at it.
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
    conditions = given_targets(targets, kind, g.nodes)
    if conditions.any:
        return _decide_under(conditions, g, h, rng, equivalence=True)[0]
    return _decide(g, h, rng, equivalence=True)[0] == 1


def is_submodel(
    graph: GraphLike,
    other: GraphLike,
    *,
    targets: TargetSets | None = None,
    kind: Kind = "perfect",
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
    conditions = given_targets(targets, kind, g.nodes)
    if conditions.any:
        return _decide_under(conditions, g, h, rng, equivalence=False)[0]
    return _decide(g, h, rng, equivalence=False)[0] == 1


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
    g, h = _aligned_baps(graph, other)
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
    g, h = _aligned_baps(graph, other)
    return adjacency(g) == adjacency(h) and g.collider_triples() == h.collider_triples()


def markov_equivalent(graph: GraphLike, other: GraphLike) -> bool:
    """Tell whether two acyclic graphs have the same m-separations: necessary for equivalence.

    Parameters
    ----------
    graph, other : MixedGraph, or results that have one
        Acyclic graphs on the same nodes; bows are allowed.

    Returns
    -------
    bool

    Notes
    -----
    Not all 2^d conditioning sets are looked at. Nodes a and b are separated by some set that
    contains k exactly if the ancestors of a, b and k separate them. If two graphs agree on these
    questions, their maximal ancestral graphs have the same adjacencies, the same unshielded
    colliders, and the same colliders at the ends of discriminating paths; so they have the same
    m-separations (Spirtes and Richardson 1996).

    Examples
    --------
    Figure "counterexample" (a) and (c): no m-separations at all in either, and not equivalent:

    >>> import bowfree as bf
    >>> a = bf.parse("x1 <-> x2 <- x4 <-> x3 <- x1 <-> x4")
    >>> c = a.add("x2 <-> x3")
    >>> bf.markov_equivalent(a, c), bf.equivalent(a, c)
    (True, False)

    References
    ----------
    Section 2.4 of the paper, Lemma "m-sep".
    """
    g, h = graph_of(graph), graph_of(other)
    g.check_acyclic()
    h.check_acyclic()
    return _separation_difference(g, aligned(g, h)) is None


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
    g, h = _aligned_baps(graph, other)
    seed = algebra_seed(rng)
    if size is not None:
        for k in range(2, min(at_least("size", size, 1), len(g)) + 1):
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


@dataclass(frozen=True, repr=False)
class EquivalenceVerdict(Shown, Plain):
    """An answer to "are these graphs equivalent?" with its reason; true if they are.

    Attributes
    ----------
    equivalent : bool
        The answer.
    reason : str
        ``"identical"``, ``"colliders"`` or ``"algebraic"`` for equivalent graphs; ``"skeleton"``,
        ``"v-structure"``, ``"m-separation"``, ``"induced subgraph"`` or ``"algebraic"`` else. With
        targets also ``"intervention"``, when one condition with targets tells the graphs apart,
        ``"shared parameters"``, when it takes two, and ``"dimension"``.
    text : str
        The reason in words.
    evidence : tuple of str
        The nodes that the reason names: an edge, a triple, a separated pair followed by its
        separating set, the nodes of an induced subgraph, or the pair whose constraint fails. With
        ``"intervention"`` the targets come first.
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

    def _brief(self) -> str:
        answer = "equivalent" if self.equivalent else "not equivalent"
        return f"{answer}: {self.text} ({self.reference})"


def explain_equivalence(
    graph: GraphLike,
    other: GraphLike,
    *,
    targets: TargetSets | None = None,
    kind: Kind = "perfect",
    rng: Rng = None,
) -> EquivalenceVerdict:
    """Decide whether two BAPs are equivalent, and say why.

    The reasons are tried from the plainest to the least plain: skeleton, v-structures, collider
    triples, m-separations, and last the exact test. If only the last one tells the graphs apart,
    the verdict names an induced subgraph that still differs and of which no node can be left out.

    With targets the conditions are looked at one by one in the same way, and then together.

    Parameters
    ----------
    graph, other : MixedGraph, or results that have one
        BAPs on the same nodes.
    targets, kind
        As for :func:`equivalent`.
    rng : int or numpy.random.Generator, optional
        As for :func:`equivalent`.

    Returns
    -------
    EquivalenceVerdict

    Examples
    --------
    >>> import bowfree as bf
    >>> print(bf.explain_equivalence(bf.parse("x -> y -> z"), bf.parse("x -> y <- z")))
    not equivalent: x, y, z is a v-structure in the second graph only (Corollary "necessary")
    >>> print(bf.explain_equivalence(bf.parse("x -> y -> z"), bf.parse("x <-> y -> z")))
    equivalent: the same skeleton and collider triples (Theorem "sufficient")
    >>> print(bf.explain_equivalence(bf.parse("x -> y"), bf.parse("x <-> y"),
    ...                              targets=[(), ("x",)]))
    not equivalent: with x intervened on, x and y are adjacent in the first graph only (Corollary \
"necessary")

    References
    ----------
    Section 2.4 of the paper.
    """
    g, h = _aligned_baps(graph, other)
    conditions = given_targets(targets, kind, g.nodes)
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
    difference = _separation_difference(g, h)
    if difference is not None:
        a, b, given, in_first = difference
        where = "first" if in_first else "second"
        text = (
            f"{quote(a)} and {quote(b)} are m-separated given {{{', '.join(map(quote, given))}}} "
            f"in the {where} graph only"
        )
        return EquivalenceVerdict(False, "m-separation", text, (a, b, *given), 'Lemma "m-sep"')
    answer, i, j = _decide(g, h, rng, equivalence=True)
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
        f"no m-separation and no smaller induced subgraph tells them apart, but the constraint of "
        f"the second graph at its non-adjacent pair {quote(a)}, {quote(b)} fails in the first"
    )
    return EquivalenceVerdict(False, "algebraic", text, (a, b), exact)


def _explain_under(
    conditions: Targets, g: MixedGraph, h: MixedGraph, rng: Rng
) -> EquivalenceVerdict:
    if g == h:
        return EquivalenceVerdict(True, "identical", "the same graph", (), "by definition")
    exact = "exact test under interventions"
    same, clash, here, there, i, j = _decide_under(conditions, g, h, rng, equivalence=True)
    if same:
        text = "the same covariance matrices in every condition"
        return EquivalenceVerdict(True, "algebraic", text, (), exact)
    for names in conditions.sets:
        verdict = _explain(conditions.cut(g, names), conditions.cut(h, names), rng)
        if not verdict.equivalent and not names:
            return verdict
        if not verdict.equivalent:
            return EquivalenceVerdict(
                False,
                "intervention",
                f"with {said(names)} intervened on, {verdict.text}",
                (*names, *verdict.evidence),
                verdict.reference,
            )
    if clash not in (_COEFFICIENT, _ERROR):
        text = "the interventions change more parameters in one of the graphs than in the other"
        return EquivalenceVerdict(False, "dimension", text, (), exact)
    a, b = g.nodes[i], g.nodes[j]
    what = (
        f"coefficient of {quote(a)} -> {quote(b)}"
        if clash == _COEFFICIENT
        else f"error covariance of {quote(a)} and {quote(b)}"
        if a != b
        else f"error variance of {quote(a)}"
    )
    where = [
        f"with {said(names)} intervened on" if names else "undisturbed"
        for names in (conditions.sets[there], conditions.sets[here])
    ]
    text = (
        f"each condition by itself allows both graphs, but with data of the first the {what} in "
        f"the second would be one number {where[0]} and another {where[1]}"
    )
    return EquivalenceVerdict(False, "shared parameters", text, (a, b), exact)


# -- how the graphs reach the core --


def _decide_under(
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


def _decide(g: MixedGraph, h: MixedGraph, rng: Any, *, equivalence: bool) -> tuple[int, int, int]:
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


def _aligned_baps(graph: GraphLike, other: GraphLike) -> tuple[MixedGraph, MixedGraph]:
    g, h = graph_of(graph), graph_of(other)
    g.check_bap()
    h.check_bap()
    return g, aligned(g, h)


def adjacency(graph: MixedGraph) -> list[int]:
    """Return the skeleton as one mask of neighbours per node."""
    return [
        p | s | c for p, s, c in zip(graph._parents, graph._spouses, graph._children(), strict=True)
    ]


# -- m-separations --


def _separation_difference(
    g: MixedGraph, h: MixedGraph
) -> tuple[str, str, tuple[str, ...], bool] | None:
    """Return an m-separation of one of the graphs only, as (a, b, given, is it the first's)."""
    for a, b, including in _questions(g, h):
        in_g = _separable(g, a, b, including)
        if in_g != _separable(h, a, b, including):
            given = minimal_separator(g if in_g else h, a, b, including=including)
            assert given is not None
            return a, b, given, in_g
    return None


def _questions(g: MixedGraph, h: MixedGraph) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield (a, b, including) such that graphs which agree on all have equal m-separations."""
    inseparable: dict[str, set[str]] = {v: set() for v in g.nodes}
    separable = []
    for a, b in combinations(g.nodes, 2):
        if g.adjacent(a, b) and h.adjacent(a, b):
            inseparable[a].add(b)
            inseparable[b].add(a)
            continue
        yield a, b, ()
        # Whoever asks on has found that the graphs agree on this pair.
        if _separable(g, a, b, ()):
            separable.append((a, b))
        else:
            inseparable[a].add(b)
            inseparable[b].add(a)
    for a, b in separable:
        # The middle of an unshielded triple, and the node that a discriminating path is about, are
        # inseparable from a or from b.
        for k in sorted(inseparable[a] | inseparable[b], key=g._node):
            yield a, b, (k,)


def _separable(graph: MixedGraph, a: str, b: str, including: tuple[str, ...]) -> bool:
    if graph.adjacent(a, b):
        return False
    return graph.m_separated(a, b, graph.ancestors((a, b, *including)) - {a, b})
