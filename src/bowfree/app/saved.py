"""Files of a session: the session itself, and a Python script that repeats the analysis.

A session file is JSON with a version number; it does not contain the data. Files may come from
anywhere, so everything is validated before anything is used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bowfree.app.editing import Drawing
from bowfree.app.positions import MAX_COORDINATE, Pair
from bowfree.errors import BowfreeError, ParseError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.space.knowledge import Knowledge
from bowfree.text_reading import join_names, load_json, short_repr
from bowfree.validation import as_float, check_penalty, is_number

if TYPE_CHECKING:
    from bowfree.app.session import Session

_KIND, _VERSION = "bowfree workbench", 1
_LITERALS = (str, int, float, tuple, list)  # option values that can be written as code


@dataclass(frozen=True)
class Saved:
    """The content of a session file."""

    drawing: Drawing
    pinned: MixedGraph | None  # the graph that is kept for comparison
    penalty: float
    centers: tuple[Pair, ...]  # positions of the variables
    effect: tuple[str, str] | None  # the selected cause and effect


def write_saved(session: Session) -> str:
    """Return the text of a session file."""
    graph, pinned = session.drawing.graph, session.pinned
    content = {
        "kind": _KIND,
        "version": _VERSION,
        "names": list(graph.nodes),
        "edges": graph.edges,
        "knowledge": session.drawing.knowledge.to_dict(),
        "pinned": None if pinned is None else pinned.edges,
        "penalty": session.penalty,
        "positions": session.positions.current.centers,
        "effect": session.effect,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def read_saved(text: str, names: tuple[str, ...]) -> Saved:
    """Return the content of a session file about these variables, or raise an error."""
    content = load_json(text)
    if not isinstance(content, dict) or content.get("kind") != _KIND:
        raise ParseError("this is not a session file of the workbench")
    if content.get("version") != _VERSION:
        version = short_repr(content.get("version"))
        raise ParseError(f"session file of version {version}; this bowfree reads {_VERSION}")

    def are_strings(value: Any) -> bool:
        return isinstance(value, list) and all(isinstance(x, str) for x in value)

    def are_positions(value: Any) -> bool:
        return (
            isinstance(value, list) and len(value) == len(names) and all(map(_is_position, value))
        )

    def is_effect(value: Any) -> bool:
        return value is None or (are_strings(value) and len({*value} & {*names}) == len(value) == 2)

    saved_names = read_field(content, "names", are_strings, "a list of strings")
    if sorted(saved_names) != sorted(names):
        raise BowfreeError(
            f"the session is about {join_names(saved_names)}, the data contain "
            f"{join_names(names)}: open it with the data it was saved with"
        )
    knowledge = read_field(content, "knowledge", lambda x: isinstance(x, dict), "an object")
    empty = Drawing(MixedGraph(names), Knowledge())
    drawing = empty.with_graph(_read_graph(content, "edges", names))
    drawing = drawing.with_knowledge(Knowledge.from_dict(knowledge))
    pinned = None
    if content.get("pinned") is not None:
        pinned = empty.with_graph(_read_graph(content, "pinned", names)).graph
    expected = f"two different variables of {join_names(names)}"
    effect = read_field(content, "effect", is_effect, expected)
    limit = f"from -{MAX_COORDINATE:g} to {MAX_COORDINATE:g}"
    expected = f"a list of {len(names)} pairs of numbers {limit}"
    positions = read_field(content, "positions", are_positions, expected)
    centers = dict(zip(saved_names, positions, strict=True))
    return Saved(
        drawing,
        pinned,
        check_penalty(content.get("penalty")),
        tuple((float(centers[name][0]), float(centers[name][1])) for name in names),
        effect and (effect[0], effect[1]),
    )


def read_field(
    content: Mapping[str, Any], field: str, is_valid: Callable[[Any], bool], expected: str
) -> Any:
    """Return a field of a file or a message, or raise an error if its value is not valid."""
    value = content.get(field)
    if not is_valid(value):
        raise ParseError(f"{field} = {short_repr(value)}: must be {expected}")
    return value


def _read_graph(content: Mapping[str, Any], field: str, names: tuple[str, ...]) -> MixedGraph:
    found: dict[str, list[tuple[str, str]]] = {"->": [], "<->": []}
    for edge in read_field(content, field, lambda x: isinstance(x, list), "a list of edges"):
        strings = isinstance(edge, list) and all(isinstance(part, str) for part in edge)
        if not strings or len(edge) != 3 or edge[1] not in found:
            raise ParseError(
                f'{field} contains {short_repr(edge)}: an edge is written ["x", "->", "y"] or '
                '["x", "<->", "y"]'
            )
        found[edge[1]].append((edge[0], edge[2]))
    return MixedGraph(names, found["->"], found["<->"])


def _is_position(value: Any) -> bool:
    pair = isinstance(value, list) and len(value) == 2
    return pair and all(is_number(x) and abs(as_float(x)) <= MAX_COORDINATE for x in value)


# --- scripts ---


@dataclass(frozen=True)
class Origin:
    """The source of the data: its name, and code that assigns the observations to ``data``.

    Without code, scripts contain the covariance matrix.
    """

    lines: tuple[str, ...] = ("data = ...  # the data of the workbench",)
    name: str = "data"


def python_code(session: Session) -> str:
    """Return a script that repeats the analysis, with the same numbers.

    It fits the graph, lists the best changes, and computes the class and the selected effect.
    """
    drawing, origin, moments = session.drawing, session.origin, session.moments
    lines = ["import bowfree as bf", "", *_graph_lines("graph", drawing.graph), ""]
    changed = session.options.changed
    literal = all(isinstance(value, _LITERALS) for value in changed.values())
    if origin.lines and literal and session.options.cov is None:
        arguments = "".join(f", {name}={value!r}" for name, value in changed.items())
        lines += [*origin.lines, f"moments = bf.moments(data{arguments})"]
    else:
        n = "float('inf')" if math.isinf(moments.n) else repr(moments.n)
        lines += [
            f"S = {moments.S.tolist()!r}",
            f"moments = bf.moments(cov=S, n={n}, ddof=0, graph=graph)",
        ]
    knowledge, permitted = "", ""
    if drawing.knowledge != Knowledge():
        lines += ["", *_knowledge_lines("knowledge", drawing.knowledge)]
        knowledge, permitted = ", knowledge=knowledge", ".permitted_by(knowledge)"
    score = "" if session.penalty == 1.0 else f", penalty={session.penalty!r}"
    lines += [
        "",
        f"fit = bf.fit(graph, moments{score})",
        "print(fit.summary())",
        "",
        "# the best next changes",
        f"changes = bf.edge_changes(graph, moments{knowledge}{score})",
        "for change in changes[:10]:",
        "    print(change)",
        "",
        "# the equivalent graphs",
        f"members = bf.equivalence_class(graph){permitted}",
        "print(members.summary())",
    ]
    if session.effect is not None:
        of, on = session.effect
        lines += [
            "",
            "bounds = bf.effect_bounds(members, moments)",
            f"print(bounds.effect(of={of!r}, on={on!r}))",
        ]
    if session.jobs.last_search is not None:
        search_options, start = session.jobs.last_search
        lines += ["", "# the last search"]
        call = [f"{name}={value!r}" for name, value in search_options.items() if name != "starts"]
        if search_options.get("starts"):
            lines += _graph_lines("start", start.graph)
            call.insert(0, "starts=[start]")
        if start.knowledge != Knowledge():
            lines += _knowledge_lines("known", start.knowledge)
            call.insert(0, "knowledge=known")
        lines += [f"result = bf.greedy_search(moments, {', '.join(call)})", "print(result)"]
    return "\n".join(lines) + "\n"


def _graph_lines(name: str, graph: MixedGraph) -> list[str]:
    """Return code for the graph, with its nodes in the order of the columns."""
    return [
        f"{name} = bf.MixedGraph(",
        f"    {list(graph.nodes)!r},",
        f"    directed={list(graph.directed)!r},",
        f"    bidirected={list(graph.bidirected)!r},",
        ")",
    ]


def _knowledge_lines(name: str, knowledge: Knowledge) -> list[str]:
    fields = {field: values for field, values in knowledge.to_dict().items() if values}
    return [f"{name} = bf.Knowledge(", *(f"    {k}={v!r}," for k, v in fields.items()), ")"]
