"""Hostile texts are refused in linear time, with a short message."""

import time

import pytest

import bowfree as bf
from bowfree import formats

# name: format, a text of about n characters
GROWING = {
    "spaces in a cell": ("ggm", lambda n: "x,y\n0," + " " * n + "|\n0,0\n"),
    "tabs in a cell": ("lingam", lambda n: "x," + "\t" * n + '"\n'),
    "many names": ("pcalg", lambda n: ",".join(f"n{i}" for i in range(n // 6)) + "\n0\n"),
    "open comments, dagitty": ("dagitty", lambda n: "dag {" + " /*" * (n // 3)),
    "an open string, dot": ("dot", lambda n: "digraph { " + '"' + '\\"' * (n // 2)),
    "a long word, dagitty": ("dagitty", lambda n: "dag { " + "-x" * (n // 2) + " -- y }"),
    "nodes of tetrad": ("tetrad", lambda n: "Graph Nodes:\n" + ";" * n),
    "an edge of tetrad": (
        "tetrad",
        lambda n: "Graph Nodes:\na;b\nGraph Edges:\n1. a --> b" + " dd " * (n // 4) + "x",
    ),
    "digits of lavaan": ("lavaan", lambda n: "y ~ " + "1" * n + "*x + !\n"),
    "an open name": ("text", lambda n: '"' + "a" * n),
    "closed JSON arrays": ("json", lambda n: "[" + "[]," * (n // 3)),
}


def seconds_to_refuse(format, text):
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        with pytest.raises(bf.BowfreeError):
            formats.read(text, format=format)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("name", GROWING)
def test_time_grows_with_the_length_of_the_text(name):
    format, make = GROWING[name]
    # Four times the text; quadratic time would be sixteen times as much, and 20 ms are noise.
    short, long = (seconds_to_refuse(format, make(n)) for n in (10_000, 40_000))
    assert long < 8 * short + 0.02


CAUGI = '{"format": "caugi", "version": "%d.0.0", "graph": {"nodes": %s, "edges": %s}}'
JSON = (
    '{"format": "bowfree.MixedGraph", "version": 1, "nodes": %s, "directed": %s, "bidirected": []}'
)
MANY = [f"n{i}" for i in range(10_001)]
LONG = "x" * 300_000


def crossed(one, mark, other):
    """Join two groups of 4,000 variables each."""
    return mark.join(one.join(f"{c}{i}" for i in range(4000)) for c in ("x", other))


# name: format, text, words of the message
REFUSED = {
    "many nodes, text": ("text", ",".join(MANY), "10,000 nodes"),
    "many edges, dagitty": ("dagitty", "dag { {" + crossed(" ", "} -> {", "y") + "} }", "edges"),
    "many zeros, lavaan": ("lavaan", crossed(" + ", " ~~ ", "0*y"), "edges"),
    "deep JSON": ("json", "[" * 100_000, "nested"),
    "JSON with 5,000 digits": ("json", '{"version": ' + "9" * 5000 + "}", "digits"),
    "JSON with a huge edge": ("json", JSON % ('["x"]', f'[["x", "{LONG}"]]'), "unknown node"),
    "caugi, other JSON": ("caugi", "[]", 'with "format": "caugi"'),
    "caugi, a later version": ("caugi", CAUGI % (2, '["x"]', "[]"), "versions 1.x are read"),
    "caugi, an open edge": (
        "caugi",
        CAUGI % (1, '["x", "y"]', '[{"from": "x", "to": "y", "edge": "o->"}]'),
        "leave a direction open",
    ),
    "a quoted lone surrogate": ("text", 'a -> "\\udc80"', r"\\udc80"),
    "a lone surrogate in a header": ("ggm", "\udc80\n0\n", r"\\udc80"),
    "a full-width code": ("ggm", "x,y\n0,１\n0,0\n", "not a number"),
    "an underscore in a code": ("ggm", "x,y\n0,10_0\n1_00,0\n", "not a number"),
    "a full-width edge number": (
        "tetrad",
        "Graph Nodes:\na;b\nGraph Edges:\n１. a --> b\n",
        "expected '1. a --> b'",
    ),
    "an effect beyond all numbers": ("lingam", "x,y\n0,1e999\n0,0\n", "too large"),
    "a huge name, twice": ("ggm", f"{LONG},{LONG}\n0,0\n0,0\n", "listed twice"),
    "a huge self-loop": ("text", f"{LONG} -> {LONG}", "self-loop"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_a_short_sentence(name):
    format, text, problem = REFUSED[name]
    start = time.process_time()
    with pytest.raises(bf.BowfreeError, match=problem) as caught:
        formats.read(text, format=format)
    assert time.process_time() - start < 2
    assert len(str(caught.value)) < 500
    assert str(caught.value).encode()  # it can be printed


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("format", formats.FORMATS)
def test_all_line_ends_are_the_same(format, end):
    graph = bf.parse("x -> y <-> z, w")
    text = formats.write(graph, format=format)
    assert formats.read(text.replace("\n", end), format=format) == formats.read(text, format=format)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_places_are_counted_in_all_line_ends(end):
    for format, text in {
        "text": "x -> y\n-> z",
        "dot": "digraph {\n-> z",
        "ggm": "x,y\n0,q\n0,0",
        "lavaan": "# x\n?",
    }.items():
        with pytest.raises(bf.errors.ParseError) as caught:
            formats.read(text.replace("\n", end), format=format)
        assert caught.value.line == 2


@pytest.mark.parametrize(
    "matrix",
    [
        [["0", "1_0"], ["0", "0"]],
        [[0, "１"], [0, 0]],
        [[0, 10**400], [0, 0]],
        [[0, 1j], [0, 0]],
        [[0, [1]], [0, 0]],
        {"x": 1},
        None,
        "xy",
    ],
)
def test_a_matrix_has_numbers(matrix):
    with pytest.raises(bf.errors.ParseError, match=r"does not consist of numbers|square"):
        formats.from_matrix(matrix, format="ggm")
