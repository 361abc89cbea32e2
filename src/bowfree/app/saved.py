"""A session in a file: what is drawn and known, where it stands, what was kept beside it.

JSON, versioned; the data are not in it. A file may come from anywhere: all of it is checked before
any of it is used, and what is wrong becomes one sentence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bowfree.app.editing import Board
from bowfree.app.positions import FARTHEST
from bowfree.errors import BowfreeError, ParseError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.space.knowledge import Knowledge
from bowfree.text_reading import join_names, load_json, short_repr
from bowfree.validation import as_float, check_penalty, is_number

_KIND, _VERSION = "bowfree workbench", 1

Edges = list[tuple[str, str, str]]


@dataclass(frozen=True)
class Saved:
    """What a file holds.

    Attributes
    ----------
    board : Board
        The drawn graph and what is known.
    pinned : MixedGraph or None
        The graph kept for comparison.
    penalty : float
        Of the score.
    centers : tuple of pairs of float
        Where the variables stand.
    effect : (str, str) or None
        The chosen cause and what it acts on.
    """

    board: Board
    pinned: MixedGraph | None
    penalty: float
    centers: tuple[tuple[float, float], ...]
    effect: tuple[str, str] | None


def write_saved(saved: Saved) -> str:
    """Return the text of a file; `read_saved` reads it back."""
    graph = saved.board.graph
    content = {
        "kind": _KIND,
        "version": _VERSION,
        "names": list(graph.nodes),
        "edges": [list(edge) for edge in graph.edges],
        "knowledge": saved.board.knowledge.to_dict(),
        "pinned": None if saved.pinned is None else [list(edge) for edge in saved.pinned.edges],
        "penalty": saved.penalty,
        "places": [list(center) for center in saved.centers],
        "effect": None if saved.effect is None else list(saved.effect),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def read_saved(text: str, names: tuple[str, ...]) -> Saved:
    """Return what a file holds, if it is about these variables.

    Raises
    ------
    BowfreeError
        When it is not a saved session, is of another version or about other variables, or holds
        what no session can hold.
    """
    content = load_json(text)
    if not isinstance(content, dict) or content.get("kind") != _KIND:
        raise ParseError("this is not a session of the workbench: save one to see what it has")
    if content.get("version") != _VERSION:
        raise ParseError(
            f"version {short_repr(content.get('version'))} of a session; this bowfree reads {_VERSION}"
        )
    held = content.get("names")
    if not isinstance(held, list) or not all(isinstance(name, str) for name in held):
        raise ParseError(f"names = {short_repr(held)}: a list of texts is wanted")
    if sorted(held) != sorted(names):
        raise BowfreeError(
            f"the session is about {join_names(held)}, the data have {join_names(names)}: open it with "
            "the data that it was saved with"
        )
    graph = _graph(names, content.get("edges"), "edges")
    known = content.get("knowledge")
    if not isinstance(known, Mapping):
        raise ParseError(f"knowledge = {short_repr(known)}: an object is wanted")
    knowledge = Knowledge.from_dict(known)
    empty = Board(MixedGraph(names), Knowledge())
    board = empty.with_graph(graph).with_knowledge(knowledge)
    pinned = None
    if content.get("pinned") is not None:
        pinned = empty.with_graph(_graph(names, content["pinned"], "pinned")).graph
    effect = content.get("effect")
    if effect is not None:
        effect = _effect(effect, names)
    places = dict(zip(held, _places(content.get("places"), len(held)), strict=True))
    return Saved(
        board,
        pinned,
        check_penalty(content.get("penalty")),
        tuple(places[name] for name in names),
        effect,
    )


def _graph(names: tuple[str, ...], edges: Any, where: str) -> MixedGraph:
    if not isinstance(edges, list):
        raise ParseError(f"{where} = {short_repr(edges)}: a list of edges is wanted")
    found: dict[str, list[tuple[str, str]]] = {"->": [], "<->": []}
    for edge in edges:
        texts = isinstance(edge, list) and all(isinstance(part, str) for part in edge)
        if not texts or len(edge) != 3 or edge[1] not in found:
            raise ParseError(
                f'{where} has {short_repr(edge)}: an edge is written ["x", "->", "y"] or '
                '["x", "<->", "y"]'
            )
        found[edge[1]].append((edge[0], edge[2]))
    return MixedGraph(names, found["->"], found["<->"])


def _effect(effect: Any, names: tuple[str, ...]) -> tuple[str, str]:
    if not isinstance(effect, list) or len(effect) != 2 or effect[0] == effect[1]:
        raise ParseError(f"effect = {short_repr(effect)}: two different variables are wanted")
    for name in effect:
        if name not in names:
            raise ParseError(
                f"effect = {short_repr(effect)}: the variables are {join_names(names)}"
            )
    return effect[0], effect[1]


def _places(places: Any, count: int) -> list[tuple[float, float]]:
    if not isinstance(places, list) or len(places) != count:
        raise ParseError(
            f"places = {short_repr(places)}: one for each of {count} variables is wanted"
        )
    return [checked_place(place) for place in places]


def checked_place(place: Any) -> tuple[float, float]:
    """Return a place on the canvas, or say what is wrong with it."""
    pair = isinstance(place, list) and len(place) == 2
    if not pair or not all(is_number(x) and abs(as_float(x)) <= FARTHEST for x in place):
        raise ParseError(
            f"{short_repr(place)} is no place: give two numbers between {-FARTHEST:g} and {FARTHEST:g}"
        )
    return float(place[0]), float(place[1])
