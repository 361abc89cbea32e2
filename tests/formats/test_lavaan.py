"""lavaan's syntax is read as lavaan reads it: covariances that sem() adds, definitions."""

import json
import pickle

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import bowfree as bf
from bowfree.cli import main
from bowfree.formats.lavaan import from_lavaan, read_lavaan, to_lavaan
from graph_strategies import baps
from reference_cases import case_id, load

TEXTS = load("lavaan_texts.json")


def test_covariances_that_are_not_written():
    #   x1 -> m -> y1      sem() adds x1 <-> x2 (exogenous) and y1 <-> y2 (outcomes);
    #   x2 -> m -> y2      m is neither
    text = "m ~ x1 + x2; y1 ~ m; y2 ~ m"
    bare = bf.parse("m <- x1, x2 -> m, y1 <- m, y2 <- m")
    assert from_lavaan(text, auto="none") == bare
    assert from_lavaan(text) == bare.add("x1 <-> x2").add("y1 <-> y2")
    model = read_lavaan(text)
    assert model.not_written == (("y1", "y2"), ("x1", "x2"))
    assert model.df == 4
    assert "2 covariances" in model.note
    assert "df = 4, and 6 without them" in model.note
    assert "df = 6, and 4 with them" in read_lavaan(text, auto="none").note


@pytest.mark.parametrize(
    "written",
    ["x1 ~~ 0*x2", "x2 ~~ 0*x1", "x1 ~~ x1", "x2 ~ 1", "x1 ~~ 0*y"],
)
def test_an_exogenous_variable_whose_moments_are_written_is_left_alone(written):
    assert not from_lavaan(f"y ~ x1 + x2\n{written}").bidirected


def test_a_written_bow_is_kept_and_refused_by_the_fit():
    graph = from_lavaan("y ~ x\ny ~~ x")
    assert graph.bows() == (("x", "y"),)
    with pytest.raises(bf.errors.GraphError, match="do not determine x -> y"):
        bf.fit(graph, cov=np.eye(2), n=100)


@pytest.mark.parametrize(
    ("term", "free"),
    [
        ("x", True),
        ("NA*x", True),
        ("start(0.5)*x", True),
        ("start(-2)*x", True),
        ("a*x", True),
        ("label('a')*x", True),
        ("a*x + start(0.5)*x", True),
        ("start(0.5)*x + a*x", True),
        ("0*x", False),
        ("0.0*x", False),
        ("-0*x", False),
    ],
)
@pytest.mark.parametrize(("operator", "mark"), [("~", "<-"), ("~~", "<->")])
def test_parameters_are_free_or_zero(term, free, operator, mark):
    model = read_lavaan(f"y {operator} {term}\nz ~ y")
    assert model.graph == bf.parse(f"y {mark} x, z <- y" if free else "y, x, z <- y")
    labeled = {"a": ("y", operator, "x")} if "a*x" in term or "'a'" in term else {}
    assert model.labels == labeled


@given(baps())
def test_what_is_added_makes_no_bow_and_what_is_written_is_not_touched(graph):
    graph = graph.relabel({name: f"v{i}" for i, name in enumerate(graph.nodes)})
    assert from_lavaan(to_lavaan(graph)) == graph
    bare = to_lavaan(graph).partition("# no other")[0]
    assert from_lavaan(bare, auto="none") == graph
    assert from_lavaan(bare).is_bap()


@pytest.mark.parametrize("case", TEXTS["cases"], ids=case_id)
def test_texts_as_lavaan_reads_them(case):
    data, sem = TEXTS["data"][case["data"]], case["sem"]
    model = read_lavaan(case["text"])
    places = [data["names"].index(name) for name in model.graph.nodes]
    S = np.array(data["S"])[np.ix_(places, places)]
    fit = bf.fit(model, cov=S, n=data["n"], ddof=0)
    assert (fit.df, fit.n_parameters, model.df) == (sem["df"], sem["npar"], sem["df"])
    # lavaan stops at a relative change of its own; the largest difference seen is 4e-9.
    assert fit.chi2 == pytest.approx(sem["chisq"], rel=1e-9, abs=1e-7)
    regressions = {(b, a) for a, op, b in sem["free"] if op == "~"}
    assert set(model.graph.directed) == regressions
    covariances = {frozenset((a, b)) for a, op, b in sem["free"] if op == "~~"}
    assert {frozenset(edge) for edge in model.graph.bidirected} == covariances


MEDIATION = "m ~ a*x\ny ~ b*m + c*x\nindirect := a*b\ntotal := c + indirect\n"
COV = [[1.25, 0.5, 0.625], [0.5, 1.0, 0.25], [0.625, 0.25, 1.5]]  # m, x, y


def test_definitions_are_evaluated_with_delta_method_errors():
    model = read_lavaan(MEDIATION)
    assert from_lavaan(MEDIATION) == bf.parse("m <- x -> y <- m")
    fit = bf.fit(model, cov=COV, n=100, ddof=0)
    defined = model.defined(fit)
    # The total effect has its own formula, (I - B)^-1.
    total, effect = defined.parameter("total"), fit.total_effects().effect(of="x", on="y")
    assert (total.estimate, total.se) == pytest.approx((effect.estimate, effect.se), rel=1e-12)
    # Sobel's formula: a and b are uncorrelated.
    a, b = fit.edge("x -> m"), fit.edge("m -> y")
    indirect = defined.parameter("indirect")
    low = model.defined(fit, confidence=0.5).parameter("indirect").lower
    assert (indirect.lower, low) == pytest.approx(
        (indirect.estimate - 1.959964 * indirect.se, indirect.estimate - 0.6744898 * indirect.se)
    )
    assert indirect.estimate == pytest.approx(a.estimate * b.estimate)
    sobel = np.hypot(a.estimate * b.se, b.estimate * a.se)
    assert indirect.se == pytest.approx(sobel, rel=1e-12)
    assert "indirect" in str(defined)
    assert defined.to_frame().shape == (2, 9)
    json.dumps(defined.to_dict(), allow_nan=False)
    assert pickle.loads(pickle.dumps(model)) == model
    with pytest.raises(bf.BowfreeError, match="'direct'; it has"):
        defined.parameter("direct")
    with pytest.raises(bf.errors.GraphError, match="another graph"):
        model.defined(bf.fit(bf.parse("x -> y"), cov=np.eye(2), n=9))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2*3", 7.0),
        ("2*3^2", 18.0),
        ("-2^2", -4.0),
        ("2^-1", 0.5),
        ("2^3^2", 512.0),
        ("8/4/2", 1.0),
        ("5-2-1", 2.0),
        ("-(1 - 4)*2", 6.0),
        ("((((2))))", 2.0),
    ],
)
def test_expressions_as_r_reads_them(expression, value):
    model = read_lavaan(f"y ~ x; t := {expression}; z ~ y")
    assert set(model.graph.nodes) == {"y", "x", "z"}  # the line after it is read, too
    defined = model.defined(bf.fit(model, cov=np.eye(3), n=50)).parameter("t")
    assert defined.estimate == value
    assert np.isnan(defined.se)


EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", "2", "0.5"]),
    lambda inner: st.one_of(
        inner.map("-{}".format),
        inner.map("({})".format),
        st.builds("{} {} {}".format, inner, st.sampled_from("+-*"), inner),
        st.builds("({})^2 / 3".format, inner),
    ),
    max_leaves=8,
)


def test_definitions_are_evaluated_in_bootstrap_samples():
    model = read_lavaan(MEDIATION)
    rows = bf.LinearSEM.from_covariance(bf.parse("m <-> x <-> y <-> m"), COV).sample(80, rng=1)
    data = dict(zip("mxy", rows.T, strict=True))
    found = bf.bootstrap_fit(model, data, n_bootstrap=60, confidence=0.9, rng=1)
    row = model.defined(found).parameter("total")
    effect = found.effect(of="x", on="y")
    names = ("estimate", "se", "lower", "upper")
    assert [row[name] for name in names] == pytest.approx([effect[name] for name in names])
    fit = bf.fit(model, data, se="bootstrap", n_bootstrap=60, rng=1)
    assert model.defined(fit, confidence=0.9).parameter("total") == row
    assert model.defined(fit).interval == "bootstrap, percentile"


@given(EXPRESSIONS)
def test_expressions_and_their_gradients_agree_with_python(text):
    at = {"a": 0.7, "b": -1.3}

    def twin(**changed):
        return eval(text.replace("^", "**"), {}, at | changed)

    (definition,) = read_lavaan(f"y ~ a*x; z ~ b*y; t := {text}").definitions
    known = {name: (value, np.eye(2)[k]) for k, (name, value) in enumerate(at.items())}
    value, gradient = definition.evaluate(known, 2)
    assert value == pytest.approx(twin(), rel=1e-9, abs=1e-12)
    for k, (name, middle) in enumerate(at.items()):
        slope = (twin(**{name: middle + 1e-5}) - twin(**{name: middle - 1e-5})) / 2e-5
        # A central difference is right up to h^2 times the third derivative, which may be large.
        assert gradient[k] == pytest.approx(slope, rel=1e-4, abs=1e-4)


def test_the_command_line_follows(tmp_path):
    data, model = tmp_path / "data.csv", tmp_path / "model.lav"
    data.write_text(bf.datasets.write_table(bf.datasets.load_demo()))
    model.write_text("fruit ~ b*leaves + c*sun\nd := b - c\n")

    def run(*options):
        words = ["fit", data, "--graph-file", model, "--format", "lavaan", "--json", *options]
        return CliRunner().invoke(main, list(map(str, words)))

    done = run()
    assert "note: sem() adds 1 covariance" in done.stderr
    assert [row["name"] for row in json.loads(done.stdout)["defined"]["parameters"]] == ["d"]
    bare = run("--auto", "none")
    assert json.loads(bare.stdout)["df"] == 1
    assert "would add" in bare.stderr


def test_deep_expressions_are_refused():
    with pytest.raises(bf.errors.ParseError, match="nested too deeply"):
        read_lavaan(f"y ~ x; t := {'(' * 20_000}1{')' * 20_000}")


def test_auto_is_checked():
    with pytest.raises(bf.BowfreeError, match="unknown auto 'all'"):
        from_lavaan("y ~ x", auto="all")
