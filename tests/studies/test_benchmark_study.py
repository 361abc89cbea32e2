"""The public benchmark: F-scores by hand, a small folder made here, one set of the real one."""

import csv

import numpy as np
import pytest

import bowfree as bf
from bowfree.studies import bowfree_benchmark
from bowfree.studies.benchmark_study import PUBLISHED, f_scores, write_graph
from sachs_folder import BENCH, needs_bench


@pytest.fixture
def folder(tmp_path):
    """Return a folder with two sets of d = 4."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    rng = np.random.default_rng(1)
    for k in range(2):
        truth = bf.parse("a -> b <- c, b <-> d")
        data = bf.random_sem(truth, rng=rng).sample(300, rng=rng)
        (folder / f"graph-{k}.txt").write_text(write_graph(truth))
        np.savetxt(folder / f"sample-{k}.txt", data)
    return folder


def test_f_scores_by_hand():
    # found a -> b, b <-> c, c -> d; true a -> b, b -> c, c <-> d: skeletons agree, one arrow does.
    f = f_scores(bf.parse("a -> b <-> c -> d"), bf.parse("a -> b -> c <-> d"))
    assert (f.skeleton, f.directed, f.bidirected) == (1.0, 0.5, 0.0)
    same = f_scores(bf.parse("a -> b"), bf.parse("a -> b"))
    assert (same.skeleton, same.directed, same.bidirected) == (1.0, 1.0, 1.0)


def test_a_small_folder(folder, tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    study = bowfree_benchmark(folder, restarts=12, rng=1)
    assert [row.name for row in study.rows] == ["tiny-0", "tiny-1"]
    for k, row in enumerate(study.rows):
        # As published: loglik - log(n)/2 (2 d + #edges).
        X = np.loadtxt(folder / f"sample-{k}.txt")
        price = np.log(300) / 2 * (2 * 4 + row.truth.n_edges)
        assert row.true_score == pytest.approx(bf.fit(row.truth, X).loglik - price, rel=1e-12)
        assert row.score >= row.true_score - 1e-6
        assert row.best.directed + row.best.bidirected >= row.found.directed + row.found.bidirected
        assert row.mean.skeleton == pytest.approx(row.found.skeleton)  # one skeleton per class
        assert row.n_compared == row.n_class
    paths = study.save(tmp_path)
    with paths[0].open(newline="") as file:
        assert [float(line["score"]) for line in csv.DictReader(file)] == [
            row.score for row in study.rows
        ]
    assert "| bowfree |" in study.table()


@needs_bench
def test_the_true_graph_has_the_published_score():
    study = bowfree_benchmark(BENCH / "bowfree10", max_sets=1, restarts=2, rounds=0, rng=1)
    # Published with one digit behind the point.
    assert study.rows[0].true_score == pytest.approx(
        PUBLISHED["bowfree10"]["true graph"][0], abs=0.051
    )


def spoil(folder):
    (folder / "sample-1.txt").write_text("1 2 three 4\n")


def remove(folder):
    (folder / "sample-1.txt").unlink()


@pytest.mark.parametrize(
    ("change", "inside", "problem"),
    [
        (spoil, "", "sample-1.txt cannot be read as a table of numbers"),
        (remove, "", "sample-1.txt cannot be read"),
        (lambda folder: None, "missing", "missing does not exist; it should hold graph-0.txt"),
        (lambda folder: (folder / "empty").mkdir(), "empty", "holds no graph-0.txt"),
    ],
)
def test_bad_input(folder, change, inside, problem):
    change(folder)
    with pytest.raises(bf.BowfreeError, match=problem):
        bowfree_benchmark(folder / inside, restarts=1, rounds=0, rng=1)
