"""Averaged effects in ``bowfree learn`` and ``bowfree effects``, and the warnings of ``learn``."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pytest

import bowfree as bf
from bowfree.cli.terminal import in_options
from bowfree.uncertainty.chain_segments import run_block
from command_line import run
from odd_executors import Clumsy

SEM = bf.LinearSEM(
    bf.parse("a -> c <- b, c -> d"),
    [[0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]],
    np.eye(4),
)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "data.csv"
    SEM.sample(3000, rng=2, as_frame="pandas").to_csv(path, index=False)
    return path


def test_probable_effects_are_listed(table):
    done = run("learn", table, "--restarts", 4)
    (row,) = [line for line in done.stdout.splitlines() if line.strip().startswith("c on d")]
    assert float(row.split()[3]) > 0.9
    assert "averaged over all graphs that the data support" in done.stdout


def test_json_and_files_have_all(table, tmp_path):
    found = json.loads(run("learn", table, "--restarts", 4, "--json").stdout)["averaged"]
    result = bf.greedy_search(SEM.sample(3000, rng=2, as_frame="pandas"), restarts=4, rng=0)
    twin = bf.averaged_effects(result, rng=0)
    np.testing.assert_allclose(found["probability"], twin.probability, atol=1e-6)
    run("learn", table, "--restarts", 4, "--out", tmp_path / "out")
    assert "P(effect)" in (tmp_path / "out" / "averaged.txt").read_text()


def test_effects_without_a_graph_are_averages(table):
    result = bf.greedy_search(SEM.sample(3000, rng=2, as_frame="pandas"), rng=1)
    average = bf.averaged_effects(result, rng=1)
    done = run("effects", table, "--seed", 1)
    assert set(str(average).splitlines()[-4:-1]) <= set(done.stdout.splitlines())
    document = json.loads(run("effects", table, "--seed", 1, "--json").stdout)
    assert document["covers"] == ["estimates", "members", "classes"]
    np.testing.assert_allclose(document["upper"], average.upper, atol=1e-6)
    wrong = run("effects", table, "--limit", 3, code=2)
    assert "--limit belongs to --graph" in wrong.output


def test_effects_take_the_options_of_learn(table, tmp_path):
    known = tmp_path / "known.toml"
    known.write_text('tiers = [["a"], ["b", "c"], ["d"]]\n')
    options = ("--knowledge", known, "--penalty", 1.5, "--restarts", 2, "--steps", 500)
    knowledge = bf.Knowledge(tiers=[["a"], ["b", "c"], ["d"]])
    data = SEM.sample(3000, rng=2, as_frame="pandas")
    result = bf.greedy_search(data, knowledge=knowledge, penalty=1.5, restarts=2, rng=0)
    average = bf.averaged_effects(result, penalty=1.5, steps=500, rng=0)
    words = ("effects", table, *options, "--of", "c", "--on", "d")
    (row,) = json.loads(run(*words, "--json").stdout)["effects"]
    assert row["probability"] == pytest.approx(average.effect(of="c", on="d").probability, abs=1e-6)
    lines = run(*words).stdout.splitlines()
    assert lines[0].split()[:3] == ["of", "on", "probability"]
    assert lines[1].split()[:2] == ["c", "d"]
    graph = ("effects", table, "--graph", "a -> c -> d")
    assert "c   d" in run(*graph, "--on", "d").stdout
    assert "--penalty does not go together" in run(*graph, "--penalty", 1, code=2).stderr
    assert "--of: unknown node 'z'" in run("effects", table, "--of", "z", code=1).stderr


@pytest.fixture
def wide_table(tmp_path):
    """Six variables: beyond five, graphs are sampled by chains."""
    path = tmp_path / "wide.csv"
    data = SEM.sample(3000, rng=2, as_frame="pandas")
    e, f = np.random.default_rng(1).normal(size=(2, 3000))
    data.assign(e=e, f=f).to_csv(path, index=False)
    return path


def test_lost_workers_of_the_chains_do_not_lose_the_search(wide_table, monkeypatch):
    class Vanishing(Clumsy):
        def submit(self, task, /, version, work, item):
            self.number = int(work is run_block)
            return super().submit(task, version, work, item)

    monkeypatch.setattr("bowfree.cli.options._executor", lambda address: Vanishing(bool))
    words = ("learn", wide_table, "--restarts", 2, "--json")
    there = run(*words, "--scheduler", "tcp://nowhere")
    assert there.stderr.startswith("Warning: effects are averaged in this process: the ex")
    averages = [json.loads(done.stdout)["averaged"] for done in (there, run(*words))]
    assert averages[0] == averages[1]
    assert averages[0] is not None


def test_nothing_is_averaged_over_many_variables(tmp_path):
    path = tmp_path / "wide.csv"
    X = np.random.default_rng(0).normal(size=(200, 31))
    np.savetxt(path, X, delimiter=",", header=",".join(f"v{k}" for k in range(31)), comments="")
    done = run("learn", path, "--restarts", 1, "--json")
    assert json.loads(done.stdout)["averaged"] is None


def test_holdout(table):
    done = run("learn", table, "--restarts", 2, "--holdout", "0.25")
    assert "2250 observations of 4 variables for the search" in done.stdout
    assert "from 750 others" in " ".join(done.stdout.split())
    assert "chosen on the same data" not in done.stdout
    refused = run("learn", table, "--holdout", "1.5", code=2)
    assert "--holdout" in refused.output


def test_the_search_is_printed_without_averages(wide_table, monkeypatch):
    monkeypatch.setattr("bowfree.visualization.report.content.AVERAGE_SECONDS", 1e-9)
    done = run("learn", wide_table, "--restarts", 2)
    warned = "Warning: effects are not averaged over graphs: they take longer than"
    assert " ".join(done.stderr.split()).startswith(warned)
    assert "best graph: " in done.stdout
    assert "averaged over" not in done.stdout
    assert "P(edge)" not in done.stdout


def skewed():
    """Return data that are not normal."""
    x, e = np.random.default_rng(0).exponential(size=(2, 300))
    return np.c_[x, x + e]


def dense():
    """Return data on which two runs do not agree."""
    return bf.random_sem(bf.random_bap(14, max_in_degree=3, rng=3), rng=3).sample(300, rng=3)


@pytest.mark.parametrize(
    ("data", "options", "warning"),
    [
        (skewed, (), "2 of 2 variables are not normal"),
        (skewed, ("--holdout", 0.5), "2 of 2 variables are not normal"),
        (dense, ("--time-limit", 0.001), "ended early"),
        (dense, (), "in simulations"),
        (lambda: SEM.sample(3000, rng=2), ("--class", "bidirected"), "rejects the graph (p < 0.0"),
    ],
)
def test_the_report_and_the_terminal_have_the_same_warnings(
    tmp_path, monkeypatch, data, options, warning
):
    monkeypatch.setattr("bowfree.visualization.report.content.AVERAGE_SECONDS", 2.0)
    X, path, file = data(), tmp_path / "table.csv", tmp_path / "page.html"
    header = ",".join(f"v{k}" for k in range(X.shape[1]))
    np.savetxt(path, X, delimiter=",", header=header, comments="")
    limits = ("--restarts", 2, "--max-in-degree", 1) if "--class" in options else ("--restarts", 2)
    done = run("learn", path, *limits, *options, "--report", file)
    printed = " ".join(done.stdout.split())
    page = re.search(r'<section class="warnings".*?</section>', file.read_text("utf-8"), re.DOTALL)
    found = [html.unescape(item) for item in re.findall(r"<li>(.*?)</li>", page[0])]
    assert any(warning in sentence for sentence in found)
    for sentence in found:
        if "bounds" not in sentence:  # the terminal prints no bounds
            assert in_options(sentence) in printed
