"""What ``bowfree learn`` says about effects with all doubts in them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import bowfree as bf
from bowfree.cli import main

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


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_probable_effects_are_listed(table):
    done = run("learn", table, "--restarts", 4)
    assert done.exit_code == 0, done.output
    (row,) = [line for line in done.stdout.splitlines() if line.strip().startswith("c on d")]
    assert float(row.split()[3]) > 0.9
    assert "averaged over all graphs that the data leave probable" in done.stdout


def test_json_and_files_have_all(table, tmp_path):
    found = json.loads(run("learn", table, "--restarts", 4, "--json").stdout)["averaged"]
    result = bf.greedy_search(SEM.sample(3000, rng=2, as_frame="pandas"), restarts=4, rng=0)
    twin = bf.averaged_effects(result, rng=0)
    np.testing.assert_allclose(found["probability"], twin.probability, atol=1e-6)
    done = run("learn", table, "--restarts", 4, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "P(effect)" in (tmp_path / "out" / "averaged.txt").read_text()


def test_nothing_is_averaged_over_many_variables(tmp_path):
    path = tmp_path / "wide.csv"
    X = np.random.default_rng(0).normal(size=(200, 31))
    np.savetxt(path, X, delimiter=",", header=",".join(f"v{k}" for k in range(31)), comments="")
    done = run("learn", path, "--restarts", 1, "--json")
    assert json.loads(done.stdout)["averaged"] is None


def test_rows_put_aside(table):
    done = run("learn", table, "--restarts", 2, "--holdout", "0.25")
    assert "2250 observations of 4 variables for the search" in done.stdout
    assert "by 750 others" in done.stdout
    assert "chosen on the same data" not in done.stdout
    refused = run("learn", table, "--holdout", "1.5")
    assert refused.exit_code == 2
    assert "--holdout" in refused.output
