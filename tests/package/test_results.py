"""Every result has a short repr, text, HTML, JSON, read-only arrays and access by name."""

import copy
import json
import math
import pickle
import re
from html.parser import HTMLParser
from itertools import pairwise

import narwhals as nw
import numpy as np
import pytest

import bowfree as bf
from bowfree.results import rows
from bowfree.results.display import MOST_ROWS, Table
from bowfree.results.graph_display import MOST_NODES
from bowfree.results.rows import Row
from one_of_each import one_of_each

HOSTILE = "<b>x</b>"
# <b>x</b> -> y -> z, w <-> y: a name that would be markup, both kinds of edges, and y -> z the same in all equivalent graphs
GRAPH = bf.MixedGraph([HOSTILE, "y", "z", "w"], [(HOSTILE, "y"), ("y", "z")], [("w", "y")])
B = [[0, 0, 0, 0], [0.9, 0, 0, 0], [0, -0.8, 0, 0], [0, 0, 0, 0]]
OMEGA = [[1, 0, 0, 0], [0, 1, 0, 0.6], [0, 0, 1, 0], [0, 0.6, 0, 1]]
DATA = bf.LinearSEM(GRAPH, B, OMEGA).sample(400, rng=3, as_frame="pandas")


def wide_model():
    """Return a chain of thirty variables with long names, in which each third edge is hidden."""
    names = [f"a rather long name, number {k}" for k in range(30)]
    pairs = list(pairwise(names))
    return bf.MixedGraph(names, pairs[::3] + pairs[1::3], pairs[2::3])


def by_name(results):
    """Return the results by the names of their types."""
    found = {}
    for result in results:
        name = type(result).__name__
        found[f"{name} {len(found)}" if name == "Row" else name] = result
    return found


SMALL = by_name(one_of_each(GRAPH, DATA))
NAMES = sorted(SMALL)


@pytest.fixture(scope="module")
def wide():
    graph = wide_model()
    data = bf.random_sem(graph, rng=0).sample(200, rng=1, as_frame="pandas")
    return by_name(one_of_each(graph, data))


@pytest.mark.parametrize("name", NAMES)
def test_repr_is_one_short_line_and_text_has_no_nan_and_no_arrays(name, wide):
    for result in (SMALL[name], wide.get(name, SMALL[name])):
        assert len(repr(result)) < 120
        assert "\n" not in repr(result)
        assert repr(result).startswith(f"<{name.split()[0]}")
        text = str(result)
        assert text.strip()
        assert "array(" not in text
        assert not re.search(r"\bnan\b", text)
        assert all(line == line.rstrip() for line in text.splitlines())


def test_text_of_many_variables_can_be_read(wide):
    assert len(wide) > 20
    for name, result in wide.items():
        if name in ("FitSummary", "ClassSummary"):  # a summary is complete on purpose
            continue
        lines = str(result).splitlines()
        # A fit has three tables and a page of numbers above them.
        assert len(lines) <= (200 if name in ("Fit", "JointFit") else MOST_ROWS + 7), name
        assert max(map(len, lines)) < 700, name


def test_a_fit_is_cut_and_its_summary_is_not():
    names = [f"v{k}" for k in range(MOST_ROWS + 2)]
    fit = bf.fit(bf.MixedGraph(names, pairwise(names)), cov=np.eye(len(names)) + 1, n=100)
    notes = [f"... and {k} more: print(fit.summary()) has all" for k in (1, 2)]
    lines = str(fit).splitlines()
    assert [line for line in lines if "..." in line] == notes
    assert lines[-2].split()[0] == names[MOST_ROWS - 1]
    assert all(note in fit._repr_html_() for note in notes)
    assert str(fit.summary()).splitlines()[-1].split()[0] == names[-1]


class Balance(HTMLParser):
    """Collects the tags that occur, and those left open."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)


@pytest.mark.parametrize("name", NAMES)
def test_html_escapes_names_and_to_dict_is_json(name):
    page = Balance()
    page.feed(SMALL[name]._repr_html_())
    assert page.open == []
    assert "b" not in page.seen
    assert str(SMALL[name].summary()).strip()
    assert json.loads(json.dumps(SMALL[name].to_dict(), allow_nan=False))


def test_large_graphs_have_no_picture():
    many = bf.MixedGraph([f"v{k}" for k in range(MOST_NODES + 1)])
    assert "<svg" in SMALL["EquivalenceClass"]._repr_html_()
    assert "<svg" in bf.equivalence_class(many.subgraph(many.nodes[1:]))._repr_html_()
    assert "<svg" not in bf.equivalence_class(many)._repr_html_()


def arrays(value):
    """Yield the arrays of a result, also those in dictionaries, lists and tuples."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        value = list(value.values())
    for inner in value if isinstance(value, list | tuple) else ():
        yield from arrays(inner)


WITH_ARRAYS = [name for name in NAMES if list(arrays(getattr(SMALL[name], "__dict__", {})))]


@pytest.mark.parametrize("name", WITH_ARRAYS)
@pytest.mark.parametrize(
    "way", [lambda x: x, lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, copy.copy]
)
def test_arrays_are_read_only(name, way):
    for array in arrays(vars(way(SMALL[name]))):
        with pytest.raises(ValueError, match="read-only"):
            array.flat[0] = 1


@pytest.mark.parametrize("options", [{}, {"correlation": "kendall"}, {"ordinal": ["x3"]}])
def test_the_users_array_stays_the_users(options):
    X = np.column_stack([np.random.default_rng(1).standard_normal((40, 2)), np.arange(40) % 3])
    moments = bf.moments(X, **options)
    before = moments.Gamma.copy()
    X[:] = X[::-1].copy() ** 2
    assert np.array_equal(pickle.loads(pickle.dumps(moments)).Gamma, before)


# --- labeled access ---

X, Y, Z, W = GRAPH.nodes
FIRST = {
    "EffectBounds": "lower",
    "TotalEffects": "estimate",
    "AveragedEffects": "probability",
    "BootstrapResult": "min_abs",
}


@pytest.mark.parametrize("name", FIRST)
def test_effects_by_name(name):
    result, key = SMALL[name], FIRST[name]
    i, j = result.names.index(Z), result.names.index(Y)
    forth, back = result.effect(of=Y, on=Z), result.effect(of=Z, on=Y)
    assert (forth.of, forth.on) == (Y, Z)
    assert getattr(forth, key) == getattr(result, key)[i, j]
    assert getattr(back, key) == getattr(result, key)[j, i]
    assert getattr(forth, key) != getattr(back, key)
    with pytest.raises(bf.errors.GraphError, match=r"unknown node 'Y'; did you mean 'y'\?"):
        result.effect(of="Y", on=Z)
    with pytest.raises(TypeError):
        result.effect(Y, Z)


@pytest.mark.parametrize("name", FIRST)
@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_effects_as_a_frame(name, backend):
    result, key = SMALL[name], FIRST[name]
    frame = result.to_frame(backend)
    assert type(frame).__module__.split(".")[0] == backend
    rows = nw.from_native(frame, eager_only=True).rows(named=True)
    assert len(rows) == 4 * 3
    assert all(row[key] == result.effect(of=row["of"], on=row["on"])[key] for row in rows)


def test_the_effect_of_a_chain():
    effects = SMALL["TotalEffects"]
    product = effects.effect(of=X, on=Y).estimate * effects.effect(of=Y, on=Z).estimate
    assert math.isclose(effects.effect(of=X, on=Z).estimate, product)
    assert effects.effect(of=Z, on=X).estimate == 0.0
    assert math.isnan(effects.effect(of=Z, on=X).se)
    row = effects.effect(of=X, on=Y)
    assert math.isclose((row.upper - row.lower) / (2 * row.se), 1.959963984540054)
    assert effects.to_frame().columns[:3].tolist() == ["of", "on", "estimate"]


def test_edges_by_name():
    fit = SMALL["Fit"]
    i, j = GRAPH.nodes.index(Z), GRAPH.nodes.index(Y)
    for edge in ((Y, "->", Z), (Z, "<-", Y), ("y -> z",), ("z <- y",)):
        assert fit.edge(*edge).estimate == fit.B[i, j]
    for edge in ((W, "<->", Y), (Y, "<->", W), ("y <-> w",)):
        assert fit.edge(*edge).estimate == fit.Omega[j, GRAPH.nodes.index(W)]
    for edge, problem in (
        ((Z, "->", Y), "no edge z -> y: this pair has y -> z"),
        ((Z, "->", W), "no edge z -> w: this pair has no edge"),
        (("Y", "->", Z), "did you mean 'y'"),
        (("y -> z <-> w",), "should be one edge"),
        ((Y, "~", Z), "two ends and a mark"),
        ((Y, "<->", Y), "self-loop"),
    ):
        with pytest.raises(bf.errors.GraphError, match=problem):
            fit.edge(*edge)


@pytest.mark.parametrize("name", ["AveragedEffects", "BootstrapResult", "StructureSamples"])
def test_probabilities_of_edges_by_name(name):
    result, column = SMALL[name], "probability" if name == "AveragedEffects" else "frequency"
    i, j = result.names.index(Z), result.names.index(Y)
    for edge in ((Y, "->", Z), (Z, "<-", Y), ("y -> z",)):
        assert getattr(result.edge(*edge), column) == result.directed[i, j]
    assert getattr(result.edge(Z, "->", Y), column) == result.directed[j, i]
    assert getattr(result.edge(Z, "<->", Y), column) == result.bidirected[i, j]
    assert result.directed[i, j] != result.directed[j, i]


def test_edges_of_a_class_by_name():
    summary = bf.equivalence_class(bf.parse("x -> y <- z, w")).summary()
    forth, back = summary.edge("x", "y"), summary.edge("y", "x")
    assert (forth.n_forward, forth.n_backward, forth.n_bidirected) == (2, 0, 2)
    assert (back.n_forward, back.n_backward, back.n_bidirected) == (0, 2, 2)
    assert (str(forth), str(back)) == ("x o-> y", "y <-o x")
    with pytest.raises(bf.errors.GraphError, match="x and w are not adjacent"):
        summary.edge("x", "w")
    with pytest.raises(bf.errors.GraphError, match="unknown node 'q'"):
        summary.edge("x", "q")


def test_frames_of_edges():
    fit = SMALL["Fit"].to_frame()
    assert len(fit) == 3 + 4
    row = fit[fit.mark == "->"].iloc[1]
    assert (row.a, row.b, row.estimate) == (Y, Z, SMALL["Fit"].edge("y -> z").estimate)
    assert fit[fit.mark == "variance"].a.tolist() == list(GRAPH.nodes)
    summary = SMALL["ClassSummary"]
    assert summary.to_frame().n_forward.tolist() == [edge.n_forward for edge in summary.edges]
    tests = SMALL["ConstraintTests"]
    assert tests.to_frame().p_value.tolist() == [test.p_value for test in tests]
    samples = SMALL["StructureSamples"]
    for row in samples.to_frame().itertuples():
        assert samples.edge(row.a, row.mark, row.b).frequency == row.frequency
    choice = SMALL["PenaltyChoice"]
    assert choice.to_frame().penalty.tolist() == list(choice.penalties)
    assert SMALL["Intervention"].to_frame().fixed.tolist() == [True, False, False, False]
    shares = SMALL["DistrictScores"]
    assert shares.to_frame().score.tolist() == [row.score for row in shares]
    assert shares.to_frame().district.tolist() == [HOSTILE, "y, w", "z"]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_class_too_large_for_64_bits_has_a_frame(backend):
    graph = bf.parse(", ".join(f"v{2 * i} -> v{2 * i + 1}" for i in range(60)))
    frame = bf.equivalence_class(graph).summary().to_frame(backend)
    assert float(nw.from_native(frame, eager_only=True)["n_forward"][0])


def test_libraries_of_frames(monkeypatch):
    with pytest.raises(bf.BowfreeError, match="backend='excel': choose 'pandas', 'polars' or"):
        SMALL["EffectBounds"].to_frame("excel")

    def not_installed(*args, **options):
        raise ModuleNotFoundError("No module named 'polars'")

    monkeypatch.setattr("narwhals.from_dict", not_installed)
    with pytest.raises(bf.BowfreeError, match="polars is not installed: `pip install polars`"):
        rows.data_frame({"x": [1]}, "polars")


# --- one word, one kind of thing ---


def test_a_fit_and_its_model_have_the_same_methods():
    sem, fit = SMALL["LinearSEM"], SMALL["Fit"]
    np.testing.assert_allclose(sem.total_effects().estimate, fit.total_effects().estimate)
    np.testing.assert_allclose(sem.standardized().B, fit.standardized().B)
    np.testing.assert_allclose(np.diag(fit.standardized().covariance()), 1.0)


OF_PAIRS = [
    bf.equivalent,
    bf.is_submodel,
    bf.explain_equivalence,
    bf.equivalence.markov_equivalent,
    bf.equivalence.distinguishing_subgraph,
    bf.equivalence.same_skeleton_and_colliders,
    bf.equivalence.same_skeleton_and_v_structures,
]
OF_GRAPHS = [
    bf.constraints,
    lambda given: bf.fit(given, DATA).loglik,
    lambda given: bf.score(given, DATA),
    lambda given: bf.equivalence_class(given).size,
    lambda given: bf.empirical_class(given, DATA).size,
    lambda given: bf.constraint_tests(given, DATA).rows,
    *(lambda given, function=function: function(given, GRAPH) for function in OF_PAIRS),
]


@pytest.mark.parametrize("function", OF_GRAPHS)
def test_a_result_stands_for_its_graph(function):
    wanted = function(GRAPH)
    for given in (SMALL["Fit"], SMALL["LinearSEM"], SMALL["EquivalenceClass"]):
        assert function(given) == wanted
    with pytest.raises(bf.errors.GraphError, match="expected a graph"):
        function("x -> y")


# --- the table ---


def test_table():
    table = Table(("edge", "share"), [("a, b", "1.00"), ("a, long", "0.5")], most=1, rest="more: x")
    assert table.lines() == ["edge  share", "a, b   1.00", "... and 1 more: x"]
    assert Table((), []).lines() == []
    assert Table(("a", "b"), [("1", "x")], left=(1,), widths=(3,)).lines() == ["  a  b", "  1  x"]
    assert "<td" not in Table(("a",), []).html()


def test_table_in_markdown_and_latex():
    table = Table(("edge", "P(>|z|)"), [("a_1 -> b", "< 0.1")])
    assert table.markdown() == [r"| edge | P(>\|z\|) |", "| :-- | --: |", "| a_1 -> b | < 0.1 |"]
    assert table.latex()[4] == r"a\_1 $\rightarrow$ b & $<$ 0.1 \\"


def test_rows():
    row = Row(a="x", se=math.nan, given=("u", "v"))
    assert row.a == row["a"] == dict(row)["a"] == "x"
    assert row.to_dict() == {"a": "x", "se": None, "given": ["u", "v"]}
    assert repr(row) == "<Row: a x, se NaN, given u, v>"
    assert pickle.loads(pickle.dumps(row)) == copy.deepcopy(row) == row
    with pytest.raises(AttributeError, match="the row has no 'b'; it has a, se, given"):
        row.b  # noqa: B018
    with pytest.raises(AttributeError, match="cannot be changed"):
        row.a = "y"
