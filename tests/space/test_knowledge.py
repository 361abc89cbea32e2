"""Knowledge: the permitted states of each pair, and errors for contradictions."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    assert known.permits(known.required_graph(NODES))
    assert bf.Knowledge.from_dict(known.to_dict()) == known


def test_from_toml(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text('required = ["a -> b"]\ntiers = [["a"], ["b", "c"]]\n')
    assert bf.Knowledge.from_toml(path) == bf.Knowledge(
        required=[("a", "->", "b")], tiers=[["a"], ["b", "c"]]
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"required": ["a -> x"]}, "names 'x', but the variables are a, b, c"),
        ({"unconfounded": ["B"]}, "names 'B'.*did you mean 'b'"),
        ({"required": ["a -> b", "b -> a"]}, "directed cycle"),
        ({"required": ["a -> b"], "forbidden": ["b <- a"]}, "b <- a is forbidden"),
        ({"required": ["b -> a"], "tiers": [["a"], ["b"]]}, "'b' is in a later tier than 'a'"),
        ({"required": ["a <-> b"], "unconfounded": ["b"]}, "'b' is unconfounded"),
        ({"required": ["a -> b", "b -> c", "c -> a"]}, "cycle a -> b -> c -> a"),
        ({"required": ["a -- b"]}, "has no type"),
        ({"required": ["a => b"]}, "cannot be read"),
        ({"required": ["a -> a"]}, "joins 'a' with itself"),
        ({"required": "a -> b"}, r"write \['a -> b'\]"),
        ({"tiers": [["a"], ["a", "b"]]}, "'a' is in more than one tier"),
        ({"require": []}, "unknown key 'require'"),
        ({"required": 5}, r"required: expected a list, got 5 \(int\)"),
        ({"required": [5]}, "required edge 5 cannot be read"),
        ({"forbidden": [["a", ["->"], "b"]]}, "cannot be read"),
        ({"required": ['"a b -> c']}, "double quotes"),
        ({"required": ['"a\\q" -> c']}, "double quotes"),
        ({"required": ["a -> b" * 100_000]}, "cannot be read"),
        ({"tiers": ["ab"]}, "tiers: expected a list, got the string 'ab'"),
        ({"tiers": [[1, 2]]}, "tiers: expected the name of a variable, got 1"),
        ([1], r"expected a mapping with required, .* got \[1\]"),
    ],
)
def test_bad_input(content, message):
    with pytest.raises(bf.errors.KnowledgeError, match=message) as caught:
        bf.Knowledge.from_dict(content).masks(NODES)
    assert len(str(caught.value)) < 400


names = st.text(min_size=1, max_size=5) | st.sampled_from(
    ["blood pressure", "a -> b", 'say "hi"', '"', "\\", "--", "\t", "x\ny", "é", "'"]
)


@given(
    st.lists(names, min_size=2, max_size=4, unique=True), st.sampled_from(["->", "<-", "<->", "--"])
)
def test_any_names_survive(variables, mark):
    a, b = variables[:2]
    known = bf.Knowledge(
        required=[(a, "->", b)],
        forbidden=[(b, mark, a)],
        tiers=[[a], variables[2:]],
        unconfounded=variables,
    )
    assert bf.Knowledge.from_dict(known.to_dict()) == known


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"required = 5", r"known\.toml: required: expected a list, got 5"),
        (b"required = 2020-01-01", "required: expected a list, got datetime.date"),
        (b"tiers = [['a'], 'b']", "tiers: expected a list, got the string 'b'"),
        (b"[required]\na = 1", "required: expected a list, got"),
        (b"\xff\xfe", "UTF-8"),
        (b"tiers = " + b"[" * 50_000, "nested too deeply"),
        (b"required = " + b"9" * 5_000, "not valid TOML"),
        (b"a." * 50_000 + b"a = 1", "more than twenty parts"),
        (b'"a" . ' * 50_000 + b"a = 1", "more than twenty parts"),
        (b"required = ['" + b"x" * 300_000 + b"']", "cannot be read"),
        (b"x" * 300_000 + b" = 1", "unknown key"),
    ],
)
def test_bad_files_are_refused_quickly_and_shortly(tmp_path, content, message):
    path = tmp_path / "known.toml"
    path.write_bytes(content)
    start = time.process_time()
    with pytest.raises(bf.errors.KnowledgeError, match=message) as caught:
        bf.Knowledge.from_toml(path)
    assert time.process_time() - start < 2
    assert len(str(caught.value)) < 400


def test_many_required_edges_are_checked_quickly():
    chain = [f"n{k}" for k in range(600)]
    edges = [(a, "->", b) for a, b in itertools.pairwise(chain)]
    start = time.process_time()
    assert bf.Knowledge(required=edges).required_graph(chain).is_acyclic()
    assert time.process_time() - start < 5
    with pytest.raises(bf.errors.KnowledgeError, match=r"n9 -> \.\.\. -> n0; drop") as caught:
        bf.Knowledge(required=[*edges, (chain[-1], "->", chain[0])]).masks(chain)
    assert len(str(caught.value)) < 400
