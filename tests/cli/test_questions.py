"""``bowfree adjust`` and ``bowfree paths``."""

import json

import pytest

import bowfree as bf
from command_line import run


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("questions") / "data.csv"
    sem = bf.random_sem(bf.parse("w -> x -> m -> y <- w"), rng=1)
    sem.sample(200, rng=1, as_frame="pandas").to_csv(path, index=False)
    return path


def test_adjust():
    question = ("adjust", "--graph", "w -> x -> y <- w, z -> x", "--of", "x", "--on", "y")
    done = run(*question)
    assert "1 minimal adjustment set" in done.stdout
    assert "1 instrument" in done.stdout
    content = json.loads(run(*question, "--equivalent", "--json").stdout)
    assert content["adjustment_sets"]["n_graphs"] == 6
    assert content["instruments"]["instruments"] == [{"instrument": "z", "given": []}]
    wrong = run("adjust", "--graph", "x -> y", "--of", "q", "--on", "y", code=1)
    assert "unknown node 'q'" in wrong.stderr


def test_paths(table):
    question = ("paths", table, "--graph", "w -> x -> m -> y <- w", "--of", "x", "--on", "y")
    done = run(*question, "--through", "m")
    assert "through m" in done.stdout
    assert "robustness value" in done.stdout
    content = json.loads(run(*question, "--resamples", 40, "--json").stdout)
    twin = bf.effects.path_effects(
        bf.fit(
            bf.parse("w -> x -> m -> y <- w"),
            bf.datasets.read_table(table),
            se="bootstrap",
            n_bootstrap=40,
            rng=0,
        ),
        of="x",
        on="y",
    )
    assert content["path_effects"] == json.loads(json.dumps(twin.to_dict()))
    assert content["sensitivity"]["adjust_for"] == ["w"]
    hidden = ("paths", table, "--graph", "x -> m -> y <-> x, w", "--of", "x", "--on", "y")
    assert "no robustness value: no adjustment set" in run(*hidden).stdout
    alone = ("paths", table, "--graph", "x -> m -> y, w", "--of", "x", "--on", "y")
    assert "no robustness value" not in run(*alone).stdout  # there is nothing to adjust for


def test_paths_averaged_over_graphs(table):
    question = ("paths", table, "--of", "x", "--on", "y", "--through", "m")
    content = json.loads(run(*question, "--restarts", 1, "--steps", 2000, "--json").stdout)
    result = bf.greedy_search(bf.datasets.read_table(table), restarts=1, rng=0)
    twin = bf.averaged_effects(result, steps=2000, rng=0)
    twin = twin.path_effects(of="x", on="y", through="m")
    assert content == json.loads(json.dumps(twin.to_dict()))
    refused = run(*question, "--resamples", 40, code=2)
    assert "--resamples belongs to --graph or --graph-file" in refused.stderr
