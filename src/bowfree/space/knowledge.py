"""What is known before the search: required and forbidden edges, tiers, unconfounded variables.

Knowledge is about names. Compiled for a set of variables it becomes one number per pair, whose four
bits say which states of the pair (no edge, ``->``, ``<-``, ``<->``) are left. The search and the
sampler never leave what is permitted, so no result can violate it; what contradicts itself is found
here, before a search begins. Next: :func:`bowfree.greedy_search` with ``knowledge=``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.errors import KnowledgeError
from bowfree.graph.encodings import BACKWARD, BIDIRECTED, FORWARD, index_pairs, states_of_graph
from bowfree.graph.graph_like import graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.text_reading import join_names, read_text, short_repr, similar_names, truncate
from bowfree.validation import check_path

Edge = tuple[str, str, str]

_MIRROR = {"->": "<-", "<-": "->", "<->": "<->", "--": "--"}
_STATE = {"->": FORWARD, "<-": BACKWARD, "<->": BIDIRECTED}
_ALL = 0b1111
_KEYS = ("required", "forbidden", "tiers", "unconfounded")
_KEYS_LISTED = ", ".join(_KEYS)

# A name is a JSON string or whatever stands between two blanks.
_NAME = r'("(?:[^"\\]+|\\.)*+"|[^\s"]\S*+)'
_EDGE = re.compile(rf"\s*+{_NAME}\s++(->|<->|<-|--)\s++{_NAME}\s*+", re.DOTALL)
# Python's TOML reader takes quadratic time for a.b.c. ...; no key of ours has two parts.
_DOTTED = re.compile(r"""(?<![\w"'-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){20}""")


@dataclass(frozen=True, init=False)
class Knowledge:
    """Background knowledge about the edges of a graph.

    Parameters
    ----------
    required : iterable of edges
        Edges every graph must have, as text (``"x -> y"``, ``"x <-> y"``) or as triples
        ``("x", "->", "y")``.
    forbidden : iterable of edges
        Edges no graph may have; ``"x -- y"`` forbids every edge between the two.
    tiers : iterable of iterables of str
        Groups of variables in the order of time: no directed edge leads from a later tier to an
        earlier one. Bidirected edges between tiers are possible. Variables in no tier are free.
    unconfounded : iterable of str
        Variables without hidden confounders: they have no bidirected edge.

    Examples
    --------
    >>> import bowfree as bf
    >>> known = bf.Knowledge(required=["age -> income"], tiers=[["age"], ["income", "health"]])
    >>> known.permits(bf.parse("age -> income, income <-> health"))
    True
    >>> known.permits(bf.parse("age -> income, health -> age"))
    False
    """

    required: tuple[Edge, ...]
    forbidden: tuple[Edge, ...]
    tiers: tuple[tuple[str, ...], ...]
    unconfounded: tuple[str, ...]

    def __init__(
        self,
        required: Iterable[str | Sequence[str]] = (),
        forbidden: Iterable[str | Sequence[str]] = (),
        tiers: Iterable[Iterable[str]] = (),
        unconfounded: Iterable[str] = (),
    ) -> None:
        for name, value in {"required": required, "forbidden": forbidden}.items():
            edges = tuple(_read_edge(edge, name) for edge in _listed(value, name))
            object.__setattr__(self, name, edges)
        groups = tuple(_names(tier, "tiers") for tier in _listed(tiers, "tiers"))
        object.__setattr__(self, "tiers", groups)
        object.__setattr__(self, "unconfounded", _names(unconfounded, "unconfounded"))
        for edge in self.required:
            if edge[1] == "--":
                raise KnowledgeError(
                    f"required edge {_written(edge)} has no type: write '->' or '<->'"
                )
        placed: set[str] = set()
        for name in (name for tier in self.tiers for name in tier):
            if name in placed:
                raise KnowledgeError(f"{short_repr(name)} stands in more than one tier; keep one")
            placed.add(name)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Knowledge:
        """Read from a mapping with the keys ``required, forbidden, tiers, unconfounded``."""
        if not isinstance(content, Mapping):
            raise KnowledgeError(
                f"expected a mapping with {_KEYS_LISTED}, got {short_repr(content)}"
            )
        unknown = [key for key in content if key not in _KEYS]
        if unknown:
            raise KnowledgeError(
                f"unknown key {short_repr(unknown[0])}; knowledge has {_KEYS_LISTED}"
            )
        return cls(**content)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Knowledge:
        """Read from a TOML file with the keys of :meth:`from_dict`."""
        import tomllib

        file = Path(check_path("path", path))
        name = file.name
        try:
            text = read_text(file)
            if _DOTTED.search(text):
                raise ValueError("a key has more than twenty parts")
            content = tomllib.loads(text)
        except RecursionError:
            raise KnowledgeError(f"{name} is not valid TOML: it is nested too deeply") from None
        except ValueError as error:  # syntax, dates, numbers of many digits, no UTF-8
            raise KnowledgeError(f"{name} is not valid TOML: {truncate(str(error))}") from None
        try:
            return cls.from_dict(content)
        except KnowledgeError as error:
            raise KnowledgeError(f"{name}: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists; `from_dict` reads them back."""
        return {
            "required": [_in_quotes(edge) for edge in self.required],
            "forbidden": [_in_quotes(edge) for edge in self.forbidden],
            "tiers": [list(tier) for tier in self.tiers],
            "unconfounded": list(self.unconfounded),
        }

    def permits(self, graph: MixedGraph) -> bool:
        """Say whether a graph has all that is required and nothing that is forbidden."""
        graph = graph_of(graph)
        masks = self.masks(graph.nodes)
        pairs = zip(index_pairs(len(graph)), states_of_graph(graph).tolist(), strict=True)
        return all(bool(masks[pair] >> state & 1) for pair, state in pairs)

    def required_graph(self, nodes: Sequence[str]) -> MixedGraph:
        """Return the graph of the required edges, from which every search sets out."""
        self.masks(nodes)
        both = [(a, b) for a, mark, b in self.required if mark == "<->"]
        return MixedGraph(nodes, self._arrows(), both)

    def masks(self, nodes: Sequence[str]) -> npt.NDArray[np.uint8]:
        """Compile for the given variables: bit e of ``[i, j]``, i < j, permits state e of the pair.

        Raises
        ------
        KnowledgeError
            When a name is unknown, or when no graph can satisfy everything.
        """
        nodes = _names(nodes, "nodes")
        index = {name: i for i, name in enumerate(nodes)}
        self._check_names(index)
        masks = np.full((len(nodes), len(nodes)), _ALL, dtype=np.uint8)

        def place(edge: Edge) -> tuple[int, int, str]:
            a, mark, b = edge
            i, j = index[a], index[b]
            return (i, j, mark) if i < j else (j, i, _MIRROR[mark])

        for edge in self.required:
            i, j, mark = place(edge)
            wanted = 1 << _STATE[mark]
            if not masks[i, j] & wanted:
                raise KnowledgeError(
                    f"contradiction: {_written(edge)} is required beside another edge between "
                    f"{short_repr(edge[0])} and {short_repr(edge[2])}; drop one of the two"
                )
            masks[i, j] = wanted
        self._check_acyclic(nodes)

        def contradiction(required: Edge, reason: str) -> KnowledgeError:
            return KnowledgeError(
                f"contradiction: {_written(required)} is required, but {reason}; drop one of the "
                "two"
            )

        for edge in self.forbidden:
            i, j, mark = place(edge)
            masks[i, j] &= _ALL ^ (0b1110 if mark == "--" else 1 << _STATE[mark])
            if not masks[i, j]:
                required = next(e for e in self.required if {e[0], e[2]} == {nodes[i], nodes[j]})
                raise contradiction(required, f"{_written(edge)} is forbidden")
        # By rules for all pairs at once: with hundreds of variables one by one takes too long.
        tier_of = {name: t for t, tier in enumerate(self.tiers) for name in tier}
        if tier_of:
            tier = np.array([tier_of.get(name, np.nan) for name in nodes])
            masks[np.triu(tier[:, None] < tier)] &= _ALL ^ 1 << BACKWARD
            masks[np.triu(tier[:, None] > tier)] &= _ALL ^ 1 << FORWARD
        if self.unconfounded:
            alone = np.isin(np.arange(len(nodes)), [index[name] for name in self.unconfounded])
            masks[np.triu(alone[:, None] | alone, 1)] &= _ALL ^ 1 << BIDIRECTED
        # Without an edge a pair breaks no such rule, so that only required edges can.
        for edge in sorted(self.required, key=lambda edge: place(edge)[1::-1]):
            i, j, mark = place(edge)
            if masks[i, j]:
                continue
            if mark != "<->":
                late, early = (edge[0], edge[2]) if edge[1] == "->" else (edge[2], edge[0])
                raise contradiction(
                    edge, f"{short_repr(late)} stands in a later tier than {short_repr(early)}"
                )
            name = next(name for name in self.unconfounded if name in edge)
            raise contradiction(edge, f"{short_repr(name)} is unconfounded")
        return masks

    def _check_names(self, index: Mapping[str, int]) -> None:
        named = [name for a, _, b in (*self.required, *self.forbidden) for name in (a, b)]
        named += [name for tier in self.tiers for name in tier]
        named += self.unconfounded
        for name in named:
            if name not in index:
                close = similar_names(name, index)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise KnowledgeError(
                    f"knowledge names {short_repr(name)}, but the variables are {join_names(index)}{hint}"
                )

    def _check_acyclic(self, nodes: Sequence[str]) -> None:
        cycle = MixedGraph(nodes, self._arrows()).find_cycle()
        if cycle is not None:
            middle = ["..."] if len(cycle) > 10 else []
            path = " -> ".join([*map(truncate, cycle[:10]), *middle, truncate(cycle[0])])
            raise KnowledgeError(
                f"contradiction: the required edges form the directed cycle {path}; drop one of "
                "them"
            )

    def _arrows(self) -> list[tuple[str, str]]:
        """Return the required directed edges as (parent, child)."""
        return [
            (a, b) if mark == "->" else (b, a) for a, mark, b in self.required if mark in _DIRECTED
        ]


_DIRECTED = ("->", "<-")


def _listed(values: Any, where: str) -> list[Any]:
    # A single text is an iterable of its letters, which nobody means.
    if isinstance(values, str):
        raise KnowledgeError(
            f"{where}: expected a list, got the text {short_repr(values)}; write [{short_repr(values)}]"
        )
    if not isinstance(values, bytes | Mapping):
        with suppress(TypeError):  # not every Iterable can be gone through: a 0-d array cannot
            return list(values)
    kind = type(values).__name__
    raise KnowledgeError(f"{where}: expected a list, got {short_repr(values)} ({kind})")


def _names(values: Any, where: str) -> tuple[str, ...]:
    names = _listed(values, where)
    for name in names:
        if not (isinstance(name, str) and name):
            raise KnowledgeError(
                f"{where}: expected the name of a variable, got {short_repr(name)}"
            )
    return tuple(names)


def _read_edge(edge: Any, where: str) -> Edge:
    parts: Sequence[Any] = ()
    if isinstance(edge, str):
        match = _EDGE.fullmatch(edge)
        if match is not None:
            parts = [_unquoted(part) for part in match.groups()]
    elif isinstance(edge, list | tuple):
        parts = edge
    if (
        len(parts) != 3
        or not all(isinstance(part, str) and part for part in parts)
        or parts[1] not in _MIRROR
    ):
        raise KnowledgeError(
            f"{where} edge {short_repr(edge)} cannot be read; write 'a -> b', 'a <-> b' or, to forbid "
            "every edge between them, 'a -- b', and a name with blanks in double quotes"
        )
    a, mark, b = parts
    if a == b:
        raise KnowledgeError(f"{where} edge {short_repr(edge)} joins {short_repr(a)} with itself")
    return (a, mark, b)


def _unquoted(name: str) -> str:
    """Return the name that stands in an edge; an empty one if its quotes hold no JSON string."""
    if not name.startswith('"'):
        return name
    try:
        return str(json.loads(name))
    except ValueError:
        return ""


def _in_quotes(edge: Edge) -> str:
    """Write an edge so that `_read_edge` reads it back."""
    a, mark, b = edge
    return f"{quote(a)} {mark} {quote(b)}"


def _written(edge: Edge) -> str:
    a, mark, b = edge
    return f"{truncate(a)} {mark} {truncate(b)}"
