"""What the text readers share: where a token stands, and a graph that is built edge by edge.

Every reader of a text format needs the same three things: to cut the text into tokens that know
their line and column, to complain at such a place, and to collect nodes and edges while refusing
self-loops and edges given twice. Nothing is returned before the whole text has been read, so a
caller never sees half a graph. The formats themselves are in the files beside this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, NoReturn

from bowfree.errors import ParseError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.text_reading import check_nodes, check_text, short_repr, truncate


class Token(NamedTuple):
    """A piece of text and the place where it starts; lines and columns are counted from 1."""

    kind: str
    text: str
    line: int
    column: int


MOST_EDGES = 100_000
"""The most edges that groups may stand for, unless the text itself is longer."""

_LINE_END = re.compile(r"\r\n?|\n")


def refuse(format: str, line: int, column: int, problem: str) -> NoReturn:
    """Raise the ParseError that every reader of this package raises."""
    raise ParseError(f"{format}: {problem}", line=line, column=column)


def quoted(name: str) -> str:
    """Write a name as the strings of DOT and dagitty: quotes and backslashes get a backslash."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def unquoted(token: Token) -> str:
    """Return the name that a token stands for: the inverse of `quoted`, bare words as they are."""
    if token.kind != "string":
        return token.text
    return re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)


class TokenReader:
    """The tokens of a text, read one after the other.

    Parameters
    ----------
    text : str
        What is read.
    pattern : re.Pattern
        One named group per kind of token; what matches the group ``skip`` is passed over, what
        matches ``open`` begins something that never ends. It matches in linear time.
    format : str
        The format's name, for messages.
    """

    def __init__(self, text: str, pattern: re.Pattern[str], *, format: str) -> None:
        self.format = format
        self._tokens: list[Token] = []
        self._next = 0
        check_text(text, format)
        line, line_start, position = 1, 0, 0
        while position < len(text):
            match = pattern.match(text, position)
            if match is None or match.end() == position:
                refuse(
                    format,
                    line,
                    position - line_start + 1,
                    f"unexpected character {text[position]!r}",
                )
            kind = match.lastgroup or ""
            if kind == "open":
                what = "a quoted name" if match.group() == '"' else "a comment"
                refuse(format, line, position - line_start + 1, f"{what} is not closed")
            if kind != "skip":
                self._tokens.append(Token(kind, match.group(), line, position - line_start + 1))
            for end in _LINE_END.finditer(text, position, match.end()):
                line += 1
                line_start = end.end()
            position = match.end()
        self._tokens.append(Token("end", "", line, position - line_start + 1))

    def peek(self, ahead: int = 0) -> Token:
        """Return the next token (or one further ahead) and leave it in place."""
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)]

    def take(self) -> Token:
        """Return the next token and move past it; the end can be taken any number of times."""
        token = self.peek()
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def accept(self, *texts: str) -> Token | None:
        """Take the next token if it is a bare one of these texts."""
        token = self.peek()
        return self.take() if token.kind in ("mark", "word") and token.text in texts else None

    def take_name(self) -> Token:
        """Take the next token, which has to be a word or a quoted string."""
        token = self.peek()
        if token.kind not in ("word", "string"):
            self.fail(token, "a name")
        return self.take()

    def expect(self, *texts: str) -> Token:
        """Take the next token, which has to be a bare one of these texts."""
        token = self.accept(*texts)
        if token is None:
            self.fail(self.peek(), " or ".join(repr(text) for text in texts))
        return token

    def fail(self, token: Token, wanted: str) -> NoReturn:
        """Refuse a token in favor of what was wanted."""
        seen = "the end of the text" if token.kind == "end" else short_repr(token.text)
        refuse(self.format, token.line, token.column, f"expected {wanted}, found {seen}")


class GraphBuilder:
    """Nodes in the order of their first appearance, and edges that are given only once.

    Parameters
    ----------
    format : str
        The format's name, for messages.
    text : str
        The text that is read; its length bounds the number of edges.
    """

    def __init__(self, format: str, text: str) -> None:
        self._format = format
        self._room = max(MOST_EDGES, len(text))
        self._nodes: dict[str, None] = {}
        self._directed: dict[tuple[str, str], None] = {}
        self._bidirected: dict[tuple[str, str], None] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._nodes

    def node(self, name: str) -> None:
        """Note that there is such a node."""
        self._nodes.setdefault(name)

    def announce(self, count: int, line: int, column: int) -> None:
        """Make room for this many edges at once: each of a group with each of another."""
        self._room -= count
        if self._room < 0:
            refuse(
                self._format,
                line,
                column,
                f"the groups up to here stand for more than {MOST_EDGES:,} edges; write the edges "
                "one by one, or make the graph with MixedGraph",
            )

    def edge(self, a: str, mark: str, b: str, line: int, column: int) -> None:
        """Add ``a -> b``, ``a <- b`` or ``a <-> b``, written at this place."""
        self.node(a)
        self.node(b)
        if a == b:
            loop = f"{truncate(a)} {mark} {truncate(a)}"
            refuse(self._format, line, column, f"self-loop {loop}; an edge joins two nodes")
        if self.has(a, mark, b):
            edge = f"{truncate(a)} {mark} {truncate(b)}"
            refuse(self._format, line, column, f"edge {edge} is given twice; drop one of them")
        if mark == "<->":
            self._bidirected.setdefault((a, b))
        else:
            self._directed.setdefault((a, b) if mark == "->" else (b, a))

    def has(self, a: str, mark: str, b: str) -> bool:
        """Tell whether this edge has been added."""
        if mark == "<->":
            return (a, b) in self._bidirected or (b, a) in self._bidirected
        return ((a, b) if mark == "->" else (b, a)) in self._directed

    def build(self, nodes: Iterable[str] | None = None) -> MixedGraph:
        """Return the graph; ``nodes`` fixes their order."""
        check_nodes(len(self._nodes), self._format)
        return MixedGraph(
            self._nodes if nodes is None else nodes, list(self._directed), list(self._bidirected)
        )
