"""Booleans and nominal variables: one node, a block of indicators."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bowfree as bf
from bowfree.data.nominal import BlockMoments
from bowfree.equivalence.targets import targets_of
from bowfree.uncertainty.averaging import first_of_class
from bowfree.uncertainty.posterior import GraphPosterior
from command_line import run
from graph_strategies import all_baps

rng = np.random.default_rng(7)
N = 400
TEAM = rng.choice(list("abcd"), N)
X = rng.normal(size=N)
Y = np.select([TEAM == "b", TEAM == "c"], [0.9, -0.6], 0.1) + 0.6 * X + rng.normal(size=N)
FRAME = pd.DataFrame({"team": TEAM, "x": X, "y": Y})
INDICATORS = np.column_stack([label == TEAM for label in "bcd"]).astype(float)


def log_likelihood(effect, *causes):
    """Return the log-likelihood of a multivariate regression, the slow way."""
    design = np.column_stack([np.ones(N), *causes])
    effect = effect.reshape(N, -1)
    residuals = effect - design @ np.linalg.lstsq(design, effect, rcond=None)[0]
    _, log_det = np.linalg.slogdet(residuals.T @ residuals / N)
    k = effect.shape[1]
    return -0.5 * N * (k * np.log(2 * np.pi) + log_det + k)


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame], ids=lambda make: make.__name__)
def test_booleans_are_zero_and_one(make):
    found = bf.moments(make({"flag": Y > 0, "x": X}))
    assert np.array_equal(found.S, bf.moments({"flag": (Y > 0) * 1.0, "x": X}).S)
    assert found.notes == ("True and False are 1 and 0 in flag",)


def test_words_are_refused_with_the_remedy():
    with pytest.raises(
        bf.errors.DataError, match=r"nominal=\['team'\].*drop\(columns=\['team'\]\)"
    ):
        bf.moments(FRAME)


def test_two_categories_are_one_column():
    data = FRAME.assign(team=np.where(TEAM < "c", "early", "late"))
    found = bf.moments(data, nominal=["team"])
    assert found.names == ("team", "x", "y")
    assert np.array_equal(found.S, bf.moments(data.assign(team=(TEAM >= "c") * 1.0)).S)
    assert found.notes == ("values 1 and 0 of team are late and early",)


def test_a_cause_is_exact():
    """Coefficients are differences between the categories, as in a regression on a factor."""
    fit = bf.fit(bf.parse("team -> y"), FRAME, nominal=["team"])
    means = FRAME.groupby("team").y.mean()
    for label in "bcd":
        estimate = fit.B[fit.graph._node("y"), fit.graph._node(f"team={label}")]
        assert estimate == pytest.approx(means[label] - means["a"], rel=1e-9)


GRAPHS = {
    "cause": ("team -> y <- x, team -> x", [(Y, INDICATORS, X), (X, INDICATORS), (INDICATORS,)]),
    "effect": ("x -> y -> team, nodes: team, x, y", [(X,), (Y, X), (INDICATORS, Y)]),
    "isolated": ("x -> y, isolated: team, nodes: team, x, y", [(X,), (Y, X), (INDICATORS,)]),
}


@pytest.mark.parametrize(("text", "terms"), GRAPHS.values(), ids=GRAPHS)
def test_the_score_of_a_dag(text, terms):
    """The degenerate Gaussian score: regressions of blocks on blocks."""
    graph = bf.parse(text)
    columns = {"team": 3, "x": 1, "y": 1}
    n_parameters = sum(columns[a] * columns[b] for a, b in graph.directed) + 5 + 3
    expected = sum(log_likelihood(*term) for term in terms) - n_parameters * np.log(N)
    assert bf.score(graph, FRAME, nominal=["team"]) == pytest.approx(expected / N, rel=1e-9)


def test_the_reference_category_does_not_matter():
    other = FRAME.assign(team=[{"a": "z"}.get(label, label) for label in TEAM])
    for text in ("team -> y", "y -> team", "team <-> y <-> x"):
        graph = bf.parse(text)
        scores = [bf.score(graph, data, nominal=["team"]) for data in (FRAME, other)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-8)


@pytest.mark.parametrize("penalty", [1.0, 0.2])
def test_the_search_finds_the_best_of_all_graphs(penalty):
    moments = bf.moments(FRAME, nominal=["team"])
    best = max(
        bf.score(graph.relabel(dict(zip(graph.nodes, moments.names, strict=True))), moments,
                 penalty=penalty)
        for graph in all_baps(3)
    )  # fmt: skip
    found = bf.greedy_search(FRAME, nominal=["team"], penalty=penalty, rng=1)
    assert found.score == pytest.approx(best, abs=1e-8)
    every = bf.exhaustive_search(moments, penalty=penalty)
    assert every.score == pytest.approx(best, abs=1e-8)
    assert found.score == pytest.approx(bf.score(found.graph, moments, penalty=penalty), abs=1e-9)
    page = bf.report.render(found, data=FRAME)
    assert "team=c \u2192 y" in page


def test_knowledge_refers_to_the_variable():
    tiers = bf.Knowledge(tiers=[["x", "y"], ["team"]])
    found = bf.greedy_search(FRAME, nominal=["team"], knowledge=tiers, rng=1)
    assert found.graph.adjacent("team", "y")
    assert ("team", "y") not in found.graph.directed


def test_numbers_as_labels_and_columns_of_the_graph_only():
    codes = FRAME.assign(team=[ord(label) - 90 for label in TEAM], more="text")
    graph = bf.parse("team -> y")
    found = bf.moments(codes, graph=graph, nominal=["team", "more"])
    assert found.blocks == {"team": ("team=8", "team=9", "team=10"), "y": ("y",)}
    assert np.allclose(found.columns.S, bf.moments(FRAME, graph=graph, nominal=["team"]).columns.S)


def test_missing_labels_are_missing_values():
    incomplete = FRAME.assign(team=[None if k < 10 else label for k, label in enumerate(TEAM)])
    with pytest.raises(bf.errors.DataError, match=r"missing .*'team'"):
        bf.moments(incomplete, nominal=["team"])
    found = bf.moments(incomplete, nominal=["team"], missing="listwise")
    assert found.n == N - 10
    assert found.take(["y", "team"]).columns.names == ("y", "team=b", "team=c", "team=d")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nominal": "team"}, "nominal = 'team': must be a list"),
        ({"nominal": ["tema"]}, "nominal: no column 'tema'"),
        ({"nominal": ["team"], "ordinal": ["team"]}, "both in `ordinal` and in `nominal`"),
        ({"nominal": ["team", "x"]}, "nominal column 'x' has 400 categories"),
        ({"nominal": ["team"], "correlation": "kendall"}, "cannot be combined with"),
        ({"nominal": ["team"], "shrinkage": 0.1}, "shrinkage = 0.1: cannot be combined"),
    ],
)
def test_bad_options(options, message):
    data = FRAME if "tema" not in str(options) else FRAME[["x", "y"]]
    with pytest.raises(bf.errors.DataError, match=message):
        bf.moments(data, **options)


def test_equivalent_graphs_of_variables_are_equivalent_graphs_of_columns():
    """For all graphs of four variables, two of them with three categories, and conversely."""
    graphs = list(all_baps(4))
    blocks = {name: (f"{name}1", f"{name}2") if k % 2 else (name,)
              for k, name in enumerate(graphs[0].nodes)}  # fmt: skip
    columns = [column for block in blocks.values() for column in block]
    table = bf.moments(cov=pd.DataFrame(np.eye(6), columns, columns), n=100)
    expand = BlockMoments(table, blocks).expand

    def classes(found):
        parents, spouses = (
            np.stack(bits) for bits in zip(*(g._bits() for g in found), strict=True)
        )
        return first_of_class(parents, spouses, targets_of(None, found[0].nodes)).tolist()

    assert classes(graphs) == classes([expand(graph) for graph in graphs])


def test_averages_over_all_graphs():
    """Probabilities and means from scores and fits of single graphs, the slow way."""
    moments = bf.moments(FRAME[:60], nominal=["team"])
    average = bf.averaged_effects(bf.exhaustive_search(moments), se="standard", window=100)
    graphs = [g.relabel(dict(zip(g.nodes, moments.names, strict=True))) for g in all_baps(3)]
    prior = GraphPosterior().log_prior(bf.moments(cov=np.eye(3), n=100), bf.SearchSpace())
    logs = np.array(
        [moments.n * bf.score(g, moments, penalty=0.5) + prior[g.n_edges] for g in graphs]
    )
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    fits = [bf.fit(graph, moments).total_effects().estimate for graph in graphs]
    assert average.names == ("team=b", "team=c", "team=d", "x", "y")
    assert np.allclose(average.mean, np.einsum("g,gij->ij", weights, fits), atol=1e-7)
    text = str(average)  # 20 pairs of columns, without the 6 pairs of categories of team
    others = int(re.search(r"(\d+) other effects?", text)[1])
    assert len(re.findall(r"^\S+ on \S+", text, re.MULTILINE)) + others == 14
    team_on_y = sum(w for g, w in zip(graphs, weights, strict=True) if "team" in g.ancestors("y"))
    assert average.effect(of="team=c", on="y").probability == pytest.approx(team_on_y, abs=1e-7)
    edge = sum(w for g, w in zip(graphs, weights, strict=True) if ("team", "y") in g.directed)
    assert average.edge("team=b -> y").probability == pytest.approx(edge, abs=1e-7)
    chains = bf.averaged_effects(bf.greedy_search(moments, rng=1), se="standard", rng=1)
    assert np.allclose(chains.probability, average.probability, atol=0.03)
    assert chains.mcse.shape == chains.probability.shape
    same = bf.averaged_effects(graphs, moments, se="standard", window=100)
    assert np.allclose(same.mean, average.mean, atol=1e-7)


def test_bounds_over_a_class():
    moments = bf.moments(FRAME, nominal=["team"])
    members = bf.equivalence_class(bf.parse("x -> y <- team, nodes: team, x, y"))
    bounds = bf.effect_bounds(members, moments)
    effects = [bf.fit(graph, moments).total_effects().estimate for graph in members]
    assert bounds.names == moments.columns.names
    assert np.allclose(bounds.lower, np.min(effects, axis=0), atol=1e-9)
    assert np.allclose(bounds.upper, np.max(effects, axis=0), atol=1e-9)


def test_resampling():
    moments = bf.moments(FRAME, nominal=["team"])
    found = bf.bootstrap(moments, n_resamples=40, restarts=1, rng=1)
    assert found.names == moments.columns.names
    assert found.adjacent[0, 4] == found.adjacent[2, 4] > 0.9
    assert found.graphs[0].nodes == moments.names
    rare = FRAME.assign(team=np.where(np.arange(N) < 2, "z", TEAM))
    assert bf.bootstrap(rare, nominal=["team"], n_resamples=40, restarts=1, rng=1).complete
    stable = bf.stability_selection(moments, n_halves=10, max_false=1, rng=1)
    assert ("team", "y") in stable.pairs
    assert bf.choose_penalty(moments, penalties=[1.0, 50.0], rng=1).best == 1.0


def test_other_functions_refuse_blocks():
    with pytest.raises(bf.errors.DataError, match=r"three or more categories \(team\)"):
        bf.edge_changes(bf.parse("team -> y"), bf.moments(FRAME, nominal=["team"]))


def test_a_file(tmp_path):
    """Words lead to a ready command, and the command to the result of Python."""
    path = tmp_path / "teams.csv"
    FRAME.assign(late=np.where(Y > 0, "TRUE", "False")).to_csv(path, index=False)
    refused = run("learn", path, code=1).output
    assert "--nominal team" in refused
    assert "--drop team" in refused
    graph = "team -> y -> late"
    printed = run("fit", path, "--graph", graph, "--nominal", "team").output
    assert "True and False are 1 and 0 in late" in printed
    learned = run("learn", path, "--nominal", "team", "--restarts", 1).output
    assert "team=c -> y" in learned
    table = bf.datasets.read_table(path, nominal=["team"])
    assert table.categories["team"] == ("a", "b", "c", "d")
    fits = [bf.fit(bf.parse("team -> y"), data, nominal=["team"]) for data in (table, FRAME)]
    assert np.allclose(fits[0].B, fits[1].B)
