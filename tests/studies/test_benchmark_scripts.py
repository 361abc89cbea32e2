"""The studies in benchmarks/ still run: one small run of each."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import bowfree as bf
from sachs_folder import BENCH, PROTEINS, needs_bench, write_stand_ins

pytest.importorskip("matplotlib").use("agg")


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    yield
    for name in [name for name in sys.modules if name.startswith(("study_", "run_study"))]:
        del sys.modules[name]


def test_calibration(tmp_path):
    from study_calibration import calibration_study, graph_from_prior

    study = calibration_study(4, d=[3], n=[100, 300], densities=["sparse"], rng=3)
    again = calibration_study(4, d=[3], n=[100, 300], densities=["sparse"], rng=3, n_jobs=2)
    for cell, other in zip(study.cells, again.cells, strict=True):
        assert cell.coverage().value > 0.8
        assert cell.brier("edges") == other.brier("edges")
        # Every statement about a pair is in one bin.
        assert sum(part.count for part in cell.reliability("adjacent")) == 4 * 3
    assert len(study.save(tmp_path)) == 4
    assert graph_from_prior(4, np.random.default_rng(1)).is_bap()


def test_protocols(tmp_path):
    from study_protocols import compare_protocols

    found = compare_protocols(["as-published", "best"], n_sims=2, d=4, restarts=2, rng=1)
    assert found.studies["as-published"].settings["max_iter"] == 10
    assert found.studies["best"].settings["strategy"] == "ils"
    assert found.table().count("\n") == 3
    assert len(found.save(tmp_path)) == 1 + 4 * 2
    cut = compare_protocols(["true-class", "best"], n_sims=3000, d=6, rng=1, time_limit=1.0)
    assert not cut.complete
    with pytest.raises(bf.BowfreeError, match="unknown protocol 'other'"):
        compare_protocols(["other"])


def test_given_the_true_class_nothing_is_missed():
    from study_protocols import compare_protocols

    study = compare_protocols(["true-class"], n_sims=6, d=6, rng=5).studies["true-class"]
    assert {row.auc for row in study.simulations if row.n_positive} == {1.0}


def test_the_exact_covariance_gives_the_truth():
    from study_protocols import compare_protocols

    # n is so large that the penalty does not hide the weakest edge.
    found = compare_protocols(["exact-covariance"], n_sims=3, d=4, n=10**8, rng=2)
    for row in found.studies["exact-covariance"].simulations:
        assert bf.equivalent(row.found, row.truth)


def test_sachs_joint(tmp_path):
    from sachs_network import CONSENSUS, Agreement
    from study_sachs_joint import sachs_joint_study

    chain = 'praf -> pmek -> "p44/42", pka -> pkc, pip2 <-> pip3'
    with pytest.MonkeyPatch.context() as patch:
        folder = write_stand_ins(tmp_path, dict.fromkeys(range(1, 15), chain), patch)
        study = sachs_joint_study(
            ["pooled", "perfect"], folder=folder, single=False, left_out=False, rng=1
        )
    assert [row.setting for row in study.rows] == ["pooled", "perfect"]
    assert study.row("perfect").agreement.n_edges == study.row("perfect").graph.n_edges
    assert len(study.save(tmp_path)) == 4
    whole = Agreement.of(bf.MixedGraph(PROTEINS, directed=CONSENSUS))
    assert (whole.precision, whole.recall, whole.n_directed, whole.n_reversed) == (1, 1, 20, 0)


def test_public_benchmark(tmp_path):
    from study_public_benchmark import bowfree_benchmark, f_scores, write_graph

    f = f_scores(bf.parse("a -> b <-> c -> d"), bf.parse("a -> b -> c <-> d"))
    assert f == (1.0, 0.5, 0.0)
    rng = np.random.default_rng(1)
    truth = bf.parse("a -> b <- c, b <-> d")
    X = bf.random_sem(truth, rng=rng).sample(300, rng=rng)
    (tmp_path / "graph-0.txt").write_text(write_graph(truth))
    np.savetxt(tmp_path / "sample-0.txt", X)
    study = bowfree_benchmark(tmp_path, rng=1)
    (row,) = study.rows
    # As published: loglik - log(n)/2 (2 d + #edges).
    price = np.log(300) / 2 * (2 * 4 + truth.n_edges)
    assert row.true_score == pytest.approx(bf.fit(row.truth, X).loglik - price, rel=1e-12)
    assert row.score >= row.true_score - 1e-6
    assert len(study.save(tmp_path)) == 4


def test_leave_out_conditions():
    """The density is that of the others, given the targets."""
    from leave_out_conditions import leave_out_conditions

    graph = bf.parse("x -> y -> z, x <-> z")
    rng = np.random.default_rng(0)
    tables = [dict(zip("xyz", rng.normal(size=(3, 200)), strict=True)) for _ in range(3)]
    targets = [(), ("x",), ("y",)]
    data = [bf.Condition(X, targets=T) for X, T in zip(tables, targets, strict=True)]
    found = leave_out_conditions(data, graph).conditions[2]
    fit = bf.fit(graph, data[:2])
    X = np.column_stack(list(data[2].data.values()))
    X = X - X.mean(axis=0)
    S = X.T @ X / len(X)
    cut, Omega = fit.B.copy(), fit.Omega.copy()
    cut[1] = Omega[1] = Omega[:, 1] = 0
    Omega[1, 1] = S[1, 1]
    E = np.linalg.inv(np.eye(3) - cut)
    whole = multivariate_normal(cov=E @ Omega @ E.T).logpdf(X).mean()
    target = multivariate_normal(cov=S[1, 1]).logpdf(X[:, 1]).mean()
    assert found.loglik == pytest.approx(whole - target, abs=1e-10)


@needs_bench
def test_the_true_graph_has_the_published_score():
    from study_public_benchmark import PUBLISHED, bowfree_benchmark

    quick = bf.search.Strategy(restarts=2, rounds=0)
    study = bowfree_benchmark(BENCH / "bowfree10", max_sets=1, strategy=quick, rng=1)
    published = PUBLISHED["bowfree10"]["true graph"][0]
    assert study.rows[0].true_score == pytest.approx(published, abs=0.051)  # one decimal


def test_the_command(tmp_path, capsys):
    from run_study import main

    main(["protocols", "--protocol", "true-class", "--n-sims", "2", "--out", str(tmp_path)])
    assert "| `true-class` |" in capsys.readouterr().out
