"""What is known before the search: required and forbidden edges, tiers, unconfounded variables.

Knowledge is about names. Compiled for a set of variables it becomes one number per pair, whose four
bits say which states of the pair (no edge, ``->``, ``<-``, ``<->``) are left. The search and the
sampler never leave what is permitted, so no result can violate it; what contradicts itself is found
here, before a search begins. Next: :func:`bowfree.greedy_search` with ``knowledge=``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.errors import KnowledgeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.pair_states import BACKWARD, BIDIRECTED, FORWARD, index_pairs, states_of_graph

__all__ = ["Knowledge"]

Edge = tuple[str, str, str]

_MIRROR = {"->": "<-", "<-": "->", "<->": "<->", "--": "--"}
_STATE = {"->": FORWARD, "<-": BACKWARD, "<->": BIDIRECTED}
_ALL = 0b1111


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
            object.__setattr__(self, name, tuple(_read_edge(edge, name) for edge in _listed(value)))
        object.__setattr__(self, "tiers", tuple(tuple(_listed(tier)) for tier in _listed(tiers)))
        object.__setattr__(self, "unconfounded", tuple(_listed(unconfounded)))
        for edge in self.required:
            if edge[1] == "--":
                raise KnowledgeError(
                    f"required edge {' '.join(edge)} has no type: write '->' or '<->'"
                )
        placed = [name for tier in self.tiers for name in tier]
        twice = sorted({name for name in placed if placed.count(name) > 1})
        if twice:
            raise KnowledgeError(f"{twice[0]!r} stands in more than one tier; keep one of them")

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Knowledge:
        """Read from a mapping with the keys ``required, forbidden, tiers, unconfounded``."""
        unknown = sorted(set(content) - {"required", "forbidden", "tiers", "unconfounded"})
        if unknown:
            raise KnowledgeError(
                f"unknown key {unknown[0]!r}; knowledge has required, forbidden, tiers, "
                "unconfounded"
            )
        return cls(**content)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Knowledge:
        """Read from a TOML file with the keys of :meth:`from_dict`."""
        import tomllib

        with open(path, "rb") as file:
            try:
                return cls.from_dict(tomllib.load(file))
            except tomllib.TOMLDecodeError as error:
                raise KnowledgeError(f"{os.fspath(path)} is not valid TOML: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists; `from_dict` reads them back."""
        return {
            "required": [" ".join(edge) for edge in self.required],
            "forbidden": [" ".join(edge) for edge in self.forbidden],
            "tiers": [list(tier) for tier in self.tiers],
            "unconfounded": list(self.unconfounded),
        }

    def permits(self, graph: MixedGraph) -> bool:
        """Say whether a graph has all that is required and nothing that is forbidden."""
        masks = self.masks(graph.nodes)
        pairs = zip(index_pairs(len(graph)), states_of_graph(graph).tolist(), strict=True)
        return all(bool(masks[pair] >> state & 1) for pair, state in pairs)

    def ground(self, nodes: Sequence[str]) -> MixedGraph:
        """Return the graph of the required edges, from which every search sets out."""
        self.masks(nodes)
        arrows = [
            (a, b) if mark == "->" else (b, a) for a, mark, b in self.required if mark in _DIRECTED
        ]
        both = [(a, b) for a, mark, b in self.required if mark == "<->"]
        return MixedGraph(nodes, arrows, both)

    def masks(self, nodes: Sequence[str]) -> npt.NDArray[np.uint8]:
        """Compile for the given variables: bit e of ``[i, j]``, i < j, permits state e of the pair.

        Raises
        ------
        KnowledgeError
            When a name is unknown, or when no graph can satisfy everything.
        """
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
                    f"contradiction: {' '.join(edge)} is required beside another edge between "
                    f"{edge[0]!r} and {edge[2]!r}; drop one of the two"
                )
            masks[i, j] = wanted
        self._check_acyclic(nodes)

        def forbid(i: int, j: int, states: int, reason: str) -> None:
            masks[i, j] &= _ALL ^ states
            if not masks[i, j]:
                required = next(e for e in self.required if {e[0], e[2]} == {nodes[i], nodes[j]})
                raise KnowledgeError(
                    f"contradiction: {' '.join(required)} is required, but {reason}; drop one of "
                    "the two"
                )

        for edge in self.forbidden:
            i, j, mark = place(edge)
            states = 0b1110 if mark == "--" else 1 << _STATE[mark]
            forbid(i, j, states, f"{' '.join(edge)} is forbidden")
        tier_of = {name: t for t, tier in enumerate(self.tiers) for name in tier}
        for i, j in index_pairs(len(nodes)):
            a, b = nodes[i], nodes[j]
            if a in tier_of and b in tier_of and tier_of[a] != tier_of[b]:
                backwards = BACKWARD if tier_of[a] < tier_of[b] else FORWARD
                late, early = (b, a) if tier_of[a] < tier_of[b] else (a, b)
                forbid(i, j, 1 << backwards, f"{late!r} stands in a later tier than {early!r}")
            for name in self.unconfounded:
                if name in (a, b):
                    forbid(i, j, 1 << BIDIRECTED, f"{name!r} is unconfounded")
        return masks

    def _check_names(self, index: Mapping[str, int]) -> None:
        named = [name for a, _, b in (*self.required, *self.forbidden) for name in (a, b)]
        named += [name for tier in self.tiers for name in tier]
        named += self.unconfounded
        for name in named:
            if name not in index:
                close = get_close_matches(name, index, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise KnowledgeError(
                    f"knowledge names {name!r}, but the variables are {', '.join(index)}{hint}"
                )

    def _check_acyclic(self, nodes: Sequence[str]) -> None:
        children: dict[str, list[str]] = {name: [] for name in nodes}
        for a, mark, b in self.required:
            if mark in _DIRECTED:
                parent, child = (a, b) if mark == "->" else (b, a)
                children[parent].append(child)
        for start in nodes:
            paths = [[start]]
            seen: set[str] = set()
            while paths:
                path = paths.pop()
                for child in children[path[-1]]:
                    if child == start:
                        raise KnowledgeError(
                            f"contradiction: the required edges form the directed cycle "
                            f"{' -> '.join([*path, start])}; drop one of them"
                        )
                    if child not in seen:
                        seen.add(child)
                        paths.append([*path, child])


_DIRECTED = ("->", "<-")


def _listed(values: Iterable[Any]) -> list[Any]:
    # A single text is an iterable of its letters, which nobody means.
    if isinstance(values, str):
        raise KnowledgeError(f"expected a list, got the text {values!r}; write [{values!r}]")
    return list(values)


def _read_edge(edge: str | Sequence[str], where: str) -> Edge:
    parts = edge.split() if isinstance(edge, str) else list(edge)
    if len(parts) != 3 or parts[1] not in _MIRROR:
        raise KnowledgeError(
            f"{where} edge {edge!r} cannot be read; write 'a -> b', 'a <-> b' or, to forbid every "
            "edge between them, 'a -- b'"
        )
    a, mark, b = parts
    if a == b:
        raise KnowledgeError(f"{where} edge {edge!r} joins {a!r} with itself")
    return (a, mark, b)
