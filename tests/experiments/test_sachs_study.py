"""The protein study with a short search, and what it says of v-structures."""

import csv
import json
import math

import pytest

import bowfree as bf
from bowfree.experiments import SachsStudy, sachs_study
from sachs_folder import SACHS, needs_sachs

pytestmark = needs_sachs


@pytest.fixture(scope="module")
def study():
    return sachs_study(folder=SACHS, restarts=8, rounds=0, rng=1)


def test_scores_are_those_of_the_graphs(study):
    row = study.row("cd3cd28icam2+psit")
    data = bf.datasets.load_sachs(4, folder=SACHS)
    assert row.bap_score == pytest.approx(bf.score(row.bap, data), abs=1e-9)
    assert row.dag_score == pytest.approx(bf.score(row.dag, data), abs=1e-9)


def test_a_dag_is_a_bap(study):
    assert [row.number for row in study.rows] == list(range(1, 15))
    for row in study.rows:
        assert row.dag.is_dag()
        assert row.bap_score >= row.dag_score - 1e-9


def test_scores_reach_those_of_r(study):
    runs = json.loads((SACHS / "greedybaps_r.json").read_text())["datasets"]
    for row, run in zip(study.rows, runs, strict=True):
        # R evaluates the likelihood at the fit to S with divisor n - 1, which costs every graph of
        # a data set the same.
        r = (row.n - 1) / row.n
        cost = len(row.bap) / 2 * (r - 1 - math.log(r))
        # Rescored graphs of R are good to 6e-10.
        assert row.bap_score - cost >= run["bap"]["best_score_maxiter5000"] - 1e-9
        assert row.dag_score - cost >= run["dag"]["best_score_maxiter5000"] - 1e-9


@pytest.mark.parametrize(
    ("condition", "a", "c", "b"), [(4, "pip2", "pip3", "plcg"), (8, "pka", "pakts473", "pkc")]
)
def test_named_v_structures_are_known_to_dags_only(study, condition, a, c, b):
    found = study.v_structure(condition, a, c, b)
    assert found.in_bap
    assert found.in_dag
    assert found.identified_in_dag
    assert not found.identified_in_bap
    assert found.dag_edges == (f"{a} -> {c}", f"{b} -> {c}")
    # The heads at the centre stay, the tails do not: a <-> c is possible too.
    for edge in found.bap_edges:
        assert edge.split(" ")[1] == ("o->" if edge.endswith(c) else "<-o")


def test_files(study, tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    paths = SachsStudy(study.rows[3:4], 0.0, 0.0).save(tmp_path)
    assert [path.name for path in paths] == [
        "sachs.csv",
        "sachs.json",
        "sachs.md",
        "sachs-real.png",
    ]
    with paths[0].open(newline="") as file:
        assert [row["condition"] for row in csv.DictReader(file)] == ["4"]
    saved = json.loads(paths[1].read_text())
    assert saved["v_structures"][0]["in_dag"] is True
    assert all(path.stat().st_size > 0 for path in paths)


def test_a_condition_that_does_not_exist():
    with pytest.raises(bf.BowfreeError, match="no condition 99; choose one of 1: cd3cd28"):
        sachs_study([1, 99], folder=SACHS)
