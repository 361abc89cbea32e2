"""Python code that leads to what is on the screen, for a notebook or a script.

Run where the data are, it fits the drawn graph, lists the same best changes, finds the class and
the chosen effect, and repeats the search, with the same numbers: the tests run it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bowfree.app.editing import Board
from bowfree.data.moments import Moments
from bowfree.space.knowledge import Knowledge

_PLAIN = (str, int, float, tuple, list)  # options that can be written down


@dataclass(frozen=True)
class Origin:
    """Where the data came from, as a line of Python, and the options they were read with.

    Attributes
    ----------
    lines : tuple of str
        Code after which the variable ``data`` has the observations. Where there is none, the
        covariance matrix stands in the script itself.
    name : str
        What to call the data in the page, such as the name of the file.
    """

    lines: tuple[str, ...] = ("data = ...  # what the workbench was opened with",)
    name: str = "data"


def python_code(
    board: Board,
    origin: Origin,
    moments: Moments,
    data_options: Mapping[str, Any],
    *,
    penalty: float,
    effect: tuple[str, str] | None,
    search: tuple[Mapping[str, Any], Board] | None,
) -> str:
    """Return a script.

    Parameters
    ----------
    board : Board
        The drawn graph and what is known.
    origin : Origin
        Where the data came from.
    moments : Moments
        What was made of them.
    data_options : mapping
        Options of :func:`bowfree.moments` that they were read with.
    penalty : float
        Of the score.
    effect : (str, str) or None
        The chosen cause and what it acts on.
    search : (mapping, Board) or None
        Options of the last search, and the board that it was begun on.
    """
    lines = ["import bowfree as bf", "", *_graph_lines("graph", board), ""]
    plain = all(isinstance(value, _PLAIN) for value in data_options.values())
    if origin.lines and plain and "cov" not in data_options:
        given = "".join(f", {name}={value!r}" for name, value in data_options.items())
        lines += [*origin.lines, f"moments = bf.moments(data{given})"]
    else:
        n = "float('inf')" if math.isinf(moments.n) else repr(moments.n)
        lines += [
            f"S = {moments.S.tolist()!r}",
            f"moments = bf.moments(cov=S, n={n}, ddof=0, graph=graph)",
        ]
    known = ""
    if board.knowledge != Knowledge():
        lines += ["", *_knowledge_lines("knowledge", board.knowledge)]
        known = ", knowledge=knowledge"
    priced = "" if penalty == 1.0 else f", penalty={penalty!r}"
    lines += [
        "",
        f"fit = bf.fit(graph, moments{priced})",
        "print(fit.summary())",
        "",
        "# the best next changes",
        f"changes = bf.edge_changes(graph, moments{known}{priced})",
        "for change in changes[:10]:",
        "    print(change)",
        "",
        "# the graphs that fit as well",
        "members = bf.equivalence_class(graph)" + (".permitted_by(knowledge)" if known else ""),
        "print(members.summary())",
    ]
    if effect is not None:
        of, on = effect
        lines += [
            "",
            "bounds = bf.effect_bounds(members, moments)",
            f"print(bounds.effect(of={of!r}, on={on!r}))",
        ]
    if search is not None:
        options, begun = search
        lines += ["", "# the last search"]
        call = [f"{name}={value!r}" for name, value in options.items() if name != "starts"]
        if options.get("starts"):
            lines += _graph_lines("start", begun)
            call.insert(0, "starts=[start]")
        if begun.knowledge != Knowledge():
            lines += _knowledge_lines("known", begun.knowledge)
            call.insert(0, "knowledge=known")
        lines += [
            f"result = bf.greedy_search(moments, {', '.join(call)})",
            "print(result)",
        ]
    return "\n".join(lines) + "\n"


def _graph_lines(name: str, board: Board) -> list[str]:
    """Return the graph with its nodes in the order of the columns."""
    graph = board.graph
    return [
        f"{name} = bf.MixedGraph(",
        f"    {list(graph.nodes)!r},",
        f"    directed={_pairs(graph.directed)},",
        f"    bidirected={_pairs(graph.bidirected)},",
        ")",
    ]


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    return repr(list(pairs))


def _knowledge_lines(name: str, knowledge: Knowledge) -> list[str]:
    parts = [
        f"    {field}={_listed(getattr(knowledge, field))},"
        for field in ("required", "forbidden", "tiers", "unconfounded")
        if getattr(knowledge, field)
    ]
    return [f"{name} = bf.Knowledge(", *parts, ")"]


def _listed(values: Sequence[Any]) -> str:
    return repr([list(value) if isinstance(value, tuple) else value for value in values])
