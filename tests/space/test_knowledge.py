"""Knowledge: what is left of each pair, and contradictions that are named before a search."""

import pytest

import bowfree as bf
from graph_strategies import all_baps

NODES = ["a", "b", "c"]


def test_smallest_example():
    """Of the four graphs on two nodes, tiers leave all but b -> a."""
    known = bf.Knowledge(tiers=[["a"], ["b"]])
    assert known.permits(bf.parse("a -> b"))
    assert known.permits(bf.parse("a <-> b"))
    assert known.permits(bf.MixedGraph(["a", "b"]))
    assert not known.permits(bf.parse("b -> a"))


def slow_permits(graph, required=(), forbidden=(), tiers=(), unconfounded=()):
    """Check edge by edge, from the words of the docstring."""
    edges = {(a, b, "->") for a, b in graph.directed}
    edges |= {(a, b, "<->") for a, b in graph.bidirected}
    edges |= {(b, a, "<->") for a, b in graph.bidirected}
    tier = {name: t for t, names in enumerate(tiers) for name in names}

    def there(text):
        a, mark, b = text.split()
        return (b, a, "->") in edges if mark == "<-" else (a, b, mark) in edges

    return (
        all(there(edge) for edge in required)
        and not any(there(edge) for edge in forbidden)
        and not any(
            mark == "->" and a in tier and b in tier and tier[a] > tier[b] for a, b, mark in edges
        )
        and not any(mark == "<->" and a in unconfounded for a, b, mark in edges)
    )


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"required": ["a -> b"]},
        {"required": ["a <- b", "b <-> c"]},
        {"forbidden": ["a -> b", "b <-> c", "c <- a"]},
        {"tiers": [["c"], ["a", "b"]]},
        {"tiers": [["b"], ["c"]], "unconfounded": ["a"]},
        {"required": ["c -> a"], "forbidden": ["a <-> b"], "tiers": [["c"], ["a"]]},
    ],
)
def test_permits_agrees_with_its_slow_twin(content):
    known = bf.Knowledge(**content)
    graphs = [g.relabel(dict(zip(g.nodes, NODES, strict=True))) for g in all_baps(3)]
    answers = [known.permits(g) for g in graphs]
    assert answers == [slow_permits(g, **content) for g in graphs]
    assert any(answers)
    assert known.permits(known.ground(NODES))
    assert bf.Knowledge.from_dict(known.to_dict()) == known


def test_from_toml(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text('required = ["a -> b"]\ntiers = [["a"], ["b", "c"]]\n')
    assert bf.Knowledge.from_toml(path) == bf.Knowledge(
        required=[("a", "->", "b")], tiers=[["a"], ["b", "c"]]
    )
    path.write_text("required = [")
    with pytest.raises(bf.KnowledgeError, match="not valid TOML"):
        bf.Knowledge.from_toml(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"required": ["a -> x"]}, "names 'x', but the variables are a, b, c"),
        ({"unconfounded": ["B"]}, "names 'B'"),
        ({"tiers": [["a"], ["d"]]}, "names 'd'"),
        ({"required": ["a -> b", "a <-> b"]}, "a <-> b is required beside another edge"),
        ({"required": ["a -> b", "b -> a"]}, "required beside another edge"),
        ({"required": ["a -> b"], "forbidden": ["b <- a"]}, "b <- a is forbidden"),
        ({"required": ["a -> b"], "forbidden": ["a -- b"]}, "a -- b is forbidden"),
        ({"required": ["b -> a"], "tiers": [["a"], ["b"]]}, "'b' stands in a later tier than 'a'"),
        ({"required": ["a <-> b"], "unconfounded": ["b"]}, "'b' is unconfounded"),
        ({"required": ["a -> b", "b -> c", "c -> a"]}, "cycle a -> b -> c -> a"),
        ({"required": ["a -- b"]}, "has no type"),
        ({"required": ["a => b"]}, "cannot be read"),
        ({"required": ["a -> a"]}, "joins 'a' with itself"),
        ({"required": "a -> b"}, r"write \['a -> b'\]"),
        ({"tiers": [["a"], ["a", "b"]]}, "'a' stands in more than one tier"),
    ],
)
def test_bad_input(content, message):
    with pytest.raises(bf.KnowledgeError, match=message):
        bf.Knowledge(**content).masks(NODES)


def test_unknown_key():
    with pytest.raises(bf.KnowledgeError, match="unknown key 'require'"):
        bf.Knowledge.from_dict({"require": []})
