"""Background knowledge: required and forbidden edges, tiers, unconfounded variables.

For given variables, knowledge is compiled to one number for each pair, whose four bits are the
permitted states of the pair (no edge, ``->``, ``<-``, ``<->``). Searches and samplers visit
permitted graphs only, so that their results satisfy the knowledge. Contradictions are found here,
before a search starts.
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
from bowfree.graph.mixed_graph import MixedGraph, graph_of
from bowfree.graph.text import quote_edge
from bowfree.parameters import public
from bowfree.text_reading import join_names, read_text, short_repr, similar_names, truncate
from bowfree.validation import check_count, check_path

Edge = tuple[str, str, str]

_MIRROR = {"->": "<-", "<-": "->", "<->": "<->", "--": "--"}
_STATE = {"->": FORWARD, "<-": BACKWARD, "<->": BIDIRECTED}
_ALL = 0b1111
_BOWS = {1 << FORWARD | 1 << BIDIRECTED: 1 << 4, 1 << BACKWARD | 1 << BIDIRECTED: 1 << 5}
_WAVE = re.compile(r"(.+?)[_.][tTwW]?([0-9]{1,6})")
_FIELDS = ("required", "forbidden", "tiers", "unconfounded")

# A name is a JSON string or a sequence of characters without spaces.
_NAME = r'("(?:[^"\\]+|\\.)*+"|[^\s"]\S*+)'
_EDGE = re.compile(rf"\s*+{_NAME}\s++(->|<->|<-|--)\s++{_NAME}\s*+", re.DOTALL)
# Python's TOML reader takes quadratic time for a.b.c. ...; the keys of knowledge have one part.
_DOTTED = re.compile(r"""(?<![\w"'-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){20}""")


@dataclass(frozen=True, init=False)
class Knowledge:
    """Background knowledge about the edges of a graph.

    Parameters
    ----------
    required : iterable of edges
        Edges that every graph must have, as strings (``"x -> y"``, ``"x <-> y"``) or triples
        ``("x", "->", "y")``. Both of these together are a bow, see `bows`.
    forbidden : iterable of edges
        Edges that no graph may have; ``"x -- y"`` forbids every edge between the two.
    tiers : iterable of iterables of str
        Groups of variables in temporal order: directed edges from a later tier to an earlier one
        are forbidden. Bidirected edges between tiers are permitted, and so are all edges of
        variables that are in no tier.
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

    @public
    def __init__(
        self,
        required: Iterable[str | Sequence[str]] = (),
        forbidden: Iterable[str | Sequence[str]] = (),
        tiers: Iterable[Iterable[str]] = (),
        unconfounded: Iterable[str] = (),
    ) -> None:
        for name, value in {"required": required, "forbidden": forbidden}.items():
            edges = tuple(_read_edge(edge, name) for edge in _as_list(value, name))
            object.__setattr__(self, name, edges)
        groups = tuple(_names(tier, "tiers") for tier in _as_list(tiers, "tiers"))
        object.__setattr__(self, "tiers", groups)
        object.__setattr__(self, "unconfounded", _names(unconfounded, "unconfounded"))
        for edge in self.required:
            if edge[1] == "--":
                raise KnowledgeError(
                    f"required edge {_display(edge)} has no type; write '->' or '<->'"
                )
        in_tiers = [name for tier in self.tiers for name in tier]
        if len(set(in_tiers)) < len(in_tiers):
            name = next(name for name in in_tiers if in_tiers.count(name) > 1)
            raise KnowledgeError(f"{short_repr(name)} is in more than one tier; keep one")

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Knowledge:
        """Read from a mapping with the keys ``required, forbidden, tiers, unconfounded``."""
        if not isinstance(content, Mapping):
            raise KnowledgeError(
                f"expected a mapping with {', '.join(_FIELDS)}, got {short_repr(content)}"
            )
        unknown = [key for key in content if key not in _FIELDS]
        if unknown:
            raise KnowledgeError(
                f"unknown key {short_repr(unknown[0])}; the keys are {', '.join(_FIELDS)}"
            )
        return cls(**content)

    @classmethod
    @public
    def from_waves(
        cls,
        names: Iterable[str],
        *,
        max_lag: int | None = None,
        required: Iterable[str | Sequence[str]] = (),
        forbidden: Iterable[str | Sequence[str]] = (),
        unconfounded: Iterable[str] = (),
    ) -> Knowledge:
        """Return tiers from the numbers of waves at the end of names: ``x_1, y_1, x_2, y_2``.

        Parameters
        ----------
        names : iterable of str
            The variables. A wave is a number after ``_`` or ``.``, perhaps with the letter t or w
            (``x_t2``). Variables without one, such as sex, are in a tier before all waves.
        max_lag : int, optional
            Forbid directed edges over more than this number of consecutive waves.
        required, forbidden, unconfounded
            As for the class.

        Examples
        --------
        >>> import bowfree as bf
        >>> bf.Knowledge.from_waves(["sex", "x_1", "y_1", "x_2", "y_2"]).tiers
        (('sex',), ('x_1', 'y_1'), ('x_2', 'y_2'))
        """
        listed = _names(names, "names")
        waves = sorted({wave for name in listed if (wave := wave_of(name)[1]) is not None})
        if len(waves) < 2:
            raise KnowledgeError(
                f"waves: the names {join_names(listed)} have fewer than two waves; a wave is a number "
                "after _ or ., as in x_1, x_2"
            )
        tiers = [[name for name in listed if wave_of(name)[1] == wave] for wave in (None, *waves)]
        lag = len(waves) if max_lag is None else check_count("max_lag", max_lag, 0)
        limits = [
            (a, "->", b)
            for late in range(lag + 1, len(waves))
            for early in range(late - lag)
            for a in tiers[1 + early]
            for b in tiers[1 + late]
        ]
        return cls(
            required,
            [*_as_list(forbidden, "forbidden"), *limits],
            filter(None, tiers),
            unconfounded,
        )

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Knowledge:
        """Read from a TOML file with the keys of :meth:`from_dict`."""
        import tomllib

        file = Path(check_path("path", path))
        try:
            text = read_text(file)
            if _DOTTED.search(text):
                raise ValueError("a key has more than twenty parts")
            content = tomllib.loads(text)
        except RecursionError:
            raise KnowledgeError(f"{file.name} is not valid TOML: nested too deeply") from None
        except ValueError as error:  # syntax, dates, long numbers, encoding
            message = truncate(str(error))
            raise KnowledgeError(f"{file.name} is not valid TOML: {message}") from None
        try:
            return cls.from_dict(content)
        except KnowledgeError as error:
            raise KnowledgeError(f"{file.name}: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and strings; :meth:`from_dict` is the inverse."""
        return {
            "required": [quote_edge(*edge) for edge in self.required],
            "forbidden": [quote_edge(*edge) for edge in self.forbidden],
            "tiers": [list(tier) for tier in self.tiers],
            "unconfounded": list(self.unconfounded),
        }

    @property
    def bows(self) -> tuple[tuple[str, str], ...]:
        """Pairs (x, y) for which both ``x -> y`` and ``x <-> y`` are required.

        :func:`bowfree.greedy_search` keeps a bow in every graph and learns the other edges. Other
        searches, averages and equivalence classes are for graphs without bows.
        """
        confounded = [{a, b} for a, mark, b in self.required if mark == "<->"]
        return tuple(edge for edge in self._required_arrows() if set(edge) in confounded)

    def permits(self, graph: MixedGraph) -> bool:
        """Test whether a graph has all required edges and no forbidden ones."""
        graph = graph_of(graph)
        masks = self.masks(graph.nodes)
        if set(graph.bows()) != set(self.bows):
            return False
        pairs = zip(index_pairs(len(graph)), states_of_graph(graph).tolist(), strict=True)
        return all(bool(masks[pair] >> state & 1) for pair, state in pairs)

    def required_graph(self, nodes: Sequence[str]) -> MixedGraph:
        """Return the graph of the required edges on these nodes."""
        self.masks(nodes)
        both = [(a, b) for a, mark, b in self.required if mark == "<->"]
        return MixedGraph(nodes, self._required_arrows(), both)

    def masks(self, nodes: Sequence[str]) -> npt.NDArray[np.uint8]:
        """Return the permitted states: bit e of ``[i, j]``, i < j, permits state e of the pair.

        A pair that must be a bow has the state ``<->``, and bit 4 (``i -> j``) or 5 (``j -> i``).
        """
        nodes = _names(nodes, "nodes")
        index = {name: i for i, name in enumerate(nodes)}
        self._check_names(index)
        masks = np.full((len(nodes), len(nodes)), _ALL, dtype=np.uint8)

        def locate(edge: Edge) -> tuple[tuple[int, int], int]:
            """Return the pair and the states that an edge requires or forbids."""
            a, mark, b = edge
            i, j = index[a], index[b]
            mark = mark if i < j else _MIRROR[mark]
            return (min(i, j), max(i, j)), 0b1110 if mark == "--" else 1 << _STATE[mark]

        self._check_acyclic(nodes)
        for edge in self.forbidden:
            pair, states = locate(edge)
            masks[pair] &= _ALL ^ states
        # All pairs at once: a loop over the pairs of hundreds of variables takes too long.
        tier_of = {name: t for t, tier in enumerate(self.tiers) for name in tier}
        if tier_of:
            tier = np.array([tier_of.get(name, np.nan) for name in nodes])
            masks[np.triu(tier[:, None] < tier)] &= _ALL ^ 1 << BACKWARD
            masks[np.triu(tier[:, None] > tier)] &= _ALL ^ 1 << FORWARD
        if self.unconfounded:
            alone = np.isin(np.arange(len(nodes)), [index[name] for name in self.unconfounded])
            masks[np.triu(alone[:, None] | alone, 1)] &= _ALL ^ 1 << BIDIRECTED
        required: dict[tuple[int, int], int] = {}
        for edge in self.required:
            pair, states = locate(edge)
            required[pair] = required.get(pair, 0) | states
            if not masks[pair] & states:
                late, early = edge[::2] if edge[1] == "->" else edge[::-2]
                reason = f"{short_repr(late)} is in a later tier than {short_repr(early)}"
                for name in self.unconfounded if edge[1] == "<->" else ():
                    if name in edge:
                        reason = f"{short_repr(name)} is unconfounded"
                for other in self.forbidden:
                    if locate(other)[0] == pair and locate(other)[1] & states:
                        reason = f"{_display(other)} is forbidden"
                raise KnowledgeError(
                    f"contradiction: {_display(edge)} is required, but {reason}; drop one of the two"
                )
        for pair, states in required.items():
            masks[pair] = 1 << BIDIRECTED | _BOWS[states] if states in _BOWS else states
        return masks

    def _check_names(self, index: Mapping[str, int]) -> None:
        named = [name for a, _, b in (*self.required, *self.forbidden) for name in (a, b)]
        named += [name for tier in self.tiers for name in tier]
        for name in [*named, *self.unconfounded]:
            if name not in index:
                close = similar_names(name, index)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise KnowledgeError(
                    f"knowledge names {short_repr(name)}, but the variables are "
                    f"{join_names(index)}{hint}"
                )

    def _check_acyclic(self, nodes: Sequence[str]) -> None:
        arrows = self._required_arrows()
        cycle = MixedGraph(nodes, arrows).find_cycle() if arrows else None
        if cycle is not None:
            middle = ["..."] if len(cycle) > 10 else []
            path = " -> ".join([*map(truncate, cycle[:10]), *middle, truncate(cycle[0])])
            raise KnowledgeError(
                f"contradiction: the required edges form the directed cycle {path}; drop one of "
                "them"
            )

    def _required_arrows(self) -> list[tuple[str, str]]:
        """Return the required directed edges as (parent, child)."""
        return [(a, b) for a, mark, b in self.required if mark == "->"] + [
            (b, a) for a, mark, b in self.required if mark == "<-"
        ]


def wave_of(name: str) -> tuple[str, int | None]:
    """Return a variable without its wave, and the number of the wave, if there is one."""
    found = _WAVE.fullmatch(name)
    return (name, None) if found is None else (found[1], int(found[2]))


def _as_list(values: Any, where: str) -> list[Any]:
    # A string is an iterable of letters, which is never meant.
    if isinstance(values, str):
        value = short_repr(values)
        raise KnowledgeError(f"{where}: expected a list, got the string {value}; write [{value}]")
    if not isinstance(values, bytes | Mapping):
        with suppress(TypeError):  # 0-d arrays are iterables that cannot be iterated
            return list(values)
    kind = type(values).__name__
    raise KnowledgeError(f"{where}: expected a list, got {short_repr(values)} ({kind})")


def _names(values: Any, where: str) -> tuple[str, ...]:
    names = _as_list(values, where)
    for name in names:
        if not (isinstance(name, str) and name):
            raise KnowledgeError(
                f"{where}: expected the name of a variable, got {short_repr(name)}"
            )
    return tuple(names)


def _read_edge(edge: Any, where: str) -> Edge:
    parts: Sequence[Any] = edge if isinstance(edge, list | tuple) else ()
    if isinstance(edge, str) and (match := _EDGE.fullmatch(edge)):
        parts = [_unquoted(part) for part in match.groups()]
    if (
        len(parts) != 3
        or not all(isinstance(part, str) and part for part in parts)
        or parts[1] not in _MIRROR
    ):
        raise KnowledgeError(
            f"{where} edge {short_repr(edge)} cannot be read; write 'a -> b', 'a <-> b' or, to "
            "forbid every edge between them, 'a -- b'; write a name with spaces in double quotes"
        )
    a, mark, b = parts
    if a == b:
        raise KnowledgeError(f"{where} edge {short_repr(edge)} joins {short_repr(a)} with itself")
    return (a, mark, b)


def _unquoted(name: str) -> str:
    """Return the name that an edge contains, or an empty one if its quotes hold no JSON string."""
    with suppress(ValueError):
        return str(json.loads(name)) if name.startswith('"') else name
    return ""


def _display(edge: Edge) -> str:
    a, mark, b = edge
    return f"{truncate(a)} {mark} {truncate(b)}"
