"""Explanations of equivalence: the simplest reason why two BAPs are equivalent or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bowfree.equivalence.decision import (
    adjacency,
    aligned_baps,
    decide,
    distinguishing_subgraph,
    separation_difference,
)
from bowfree.equivalence.targets import Targets, TargetSets, read_targets, target_names
from bowfree.graph.mixed_graph import GraphLike, MixedGraph
from bowfree.graph.text import quote
from bowfree.parameters import Kind, Rng, public
from bowfree.results.display import TextDisplay
from bowfree.results.serialization import ToDict

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
