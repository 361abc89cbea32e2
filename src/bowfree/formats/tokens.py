"""Tokens with line and column, and a graph that is built edge by edge; shared by the text readers.

No reader returns anything before the whole text has been read, so an error never leaves a partial
graph.
"""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from bowfree.errors import ParseError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.text_reading import check_nodes, check_text, short_repr, truncate


class Token(NamedTuple):
    """A part of a string and where it starts; lines and columns are counted from 1."""

    kind: str
    text: str
    line: int
    column: int


START = Token("start", "", 1, 1)

MAX_EDGES = 100_000
"""Largest number of edges that groups may stand for, unless the text itself is longer."""

_LINE_END = re.compile(r"\r\n?|\n")


def refuse(format: str, token: Token, problem: str) -> NoReturn:
    """Raise a ParseError at a token."""
    raise ParseError(f"{format}: {problem}", line=token.line, column=token.column)


def quoted(name: str) -> str:
    """Return a name as a string of DOT or dagitty: quotes and backslashes get a backslash."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def unquoted(token: Token) -> str:
    """Return the name that a token stands for; the inverse of `quoted`."""
    if token.kind != "string":
        return token.text
    return re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)


class TokenReader:
    """The tokens of a string, read one after the other.

    `pattern` has a named group for each kind of token, matched in linear time. Tokens of the kind
    ``skip`` are dropped; ``open`` is the start of a string or comment that is not closed.
    """

    def __init__(self, text: str, pattern: re.Pattern[str], *, format: str) -> None:
        self.format = format
        self._tokens: list[Token] = []
        self._next = 0
        check_text(text, format)
        line, line_start, position = 1, 0, 0
        while position < len(text):
            match = pattern.match(text, position)
            stop = match.end() if match else position
            kind = match.lastgroup if match and stop > position else ""
            if kind != "skip":
                token = Token(kind or "", text[position:stop], line, position - line_start + 1)
                if not kind:
                    refuse(format, token, f"unexpected character {text[position]!r}")
                if kind == "open":
                    what = "a quoted name" if token.text == '"' else "a comment"
                    refuse(format, token, f"{what} is not closed")
                self._tokens.append(token)
            for end in _LINE_END.finditer(text, position, stop):
                line += 1
                line_start = end.end()
            position = stop
        self._tokens.append(Token("end", "", line, position - line_start + 1))

    def peek(self, ahead: int = 0) -> Token:
        """Return the next token, or one further ahead, without moving."""
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)]

    def take(self) -> Token:
        """Return the next token and move past it; the end can be taken any number of times."""
        token = self.peek()
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def accept(self, *texts: str) -> Token | None:
        """Take the next token if it is one of these marks or words."""
        token = self.peek()
        return self.take() if token.kind in ("mark", "word") and token.text in texts else None

    def take_name(self) -> Token:
        """Take the next token, which must be a word or a quoted string."""
        if self.peek().kind not in ("word", "string"):
            self.fail(self.peek(), "a name")
        return self.take()

    def expect(self, *texts: str) -> Token:
        """Take the next token, which must be one of these marks or words."""
        token = self.accept(*texts)
        if token is None:
            self.fail(self.peek(), " or ".join(repr(text) for text in texts))
        return token

    def expect_end(self) -> None:
        """Raise an error unless all tokens have been taken."""
        if self.peek().kind != "end":
            self.fail(self.peek(), "the end of the text after '}'")

    def fail(self, token: Token, expected: str) -> NoReturn:
        """Raise an error about a token that is not the expected one."""
        found = "the end of the text" if token.kind == "end" else short_repr(token.text)
        self.refuse(token, f"expected {expected}, found {found}")

    def refuse(self, token: Token, problem: str) -> NoReturn:
        """Raise an error at a token."""
        refuse(self.format, token, problem)


class GraphBuilder:
    """Nodes in the order of their first appearance, and edges without duplicates.

    The length of the text bounds the number of edges.
    """

    def __init__(self, format: str, text: str) -> None:
        self._format = format
        self._edges_left = max(MAX_EDGES, len(text))
        self._nodes: dict[str, None] = {}
        self._directed: dict[tuple[str, str], None] = {}
        self._bidirected: dict[tuple[str, str], None] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._nodes

    def node(self, name: str) -> None:
        """Add a node unless it exists."""
        self._nodes.setdefault(name)

    def reserve(self, count: int, token: Token) -> None:
        """Count the edges between two groups before they are added; raise if there are too many."""
        self._edges_left -= count
        if self._edges_left < 0:
            refuse(
                self._format,
                token,
                f"the groups up to here stand for more than {MAX_EDGES:,} edges; write the edges "
                "one by one, or create the graph with MixedGraph",
            )

    def edge(self, a: str, mark: str, b: str, token: Token) -> None:
        """Add ``a -> b``, ``a <- b`` or ``a <-> b``, written at this token."""
        self.node(a)
        self.node(b)
        if a == b or self.has(a, mark, b):
            edge = f"{truncate(a)} {mark} {truncate(b)}"
            loop = f"self-loop {edge}; an edge joins two nodes"
            twice = f"edge {edge} is listed twice; drop one of them"
            refuse(self._format, token, loop if a == b else twice)
        if mark == "<->":
            self._bidirected[a, b] = None
        else:
            self._directed[(a, b) if mark == "->" else (b, a)] = None

    def has(self, a: str, mark: str, b: str) -> bool:
        """Return whether this edge has been added."""
        if mark == "<->":
            return (a, b) in self._bidirected or (b, a) in self._bidirected
        return ((a, b) if mark == "->" else (b, a)) in self._directed

    def build(self) -> MixedGraph:
        """Return the graph."""
        check_nodes(len(self._nodes), self._format)
        return MixedGraph(self._nodes, list(self._directed), list(self._bidirected))
