"""The protein study on one condition, and what it says of v-structures."""

import csv
import json

import pytest

import bowfree as bf
from bowfree.experiments import sachs_study
from sachs_folder import SACHS, needs_sachs

pytestmark = needs_sachs


@pytest.fixture(scope="module")
def study():
    return sachs_study([4], folder=SACHS, restarts=8, rounds=1, rng=1)


def test_scores_are_those_of_the_graphs(study):
    row = study.row("cd3cd28icam2+psit")
    data = bf.datasets.load_sachs(4, folder=SACHS)
    assert row.bap_score == pytest.approx(bf.score(row.bap, data), abs=1e-9)
    assert row.dag_score == pytest.approx(bf.score(row.dag, data), abs=1e-9)
    assert row.dag.is_dag()
    assert row.bap_score >= row.dag_score - 1e-9  # a DAG is a BAP


def test_scores_reach_those_of_r(study):
    runs = json.loads((SACHS / "greedybaps_r.json").read_text())["datasets"][3]
    assert study.rows[0].bap_score >= runs["bap"]["best_score_maxiter5000"] - 1e-6
    assert study.rows[0].dag_score >= runs["dag"]["best_score_maxiter5000"] - 1e-6


def test_the_v_structure_at_pip3_is_known_to_dags_only(study):
    found = study.v_structure(4, "pip2", "pip3", "plcg")
    assert found.in_bap
    assert found.in_dag
    assert found.identified_in_dag
    assert not found.identified_in_bap
    assert found.dag_edges == ("pip2 -> pip3", "plcg -> pip3")
    # The collider stays, the tails do not: pip2 <-> pip3 is possible too.
    assert all(edge.count("o") == 1 for edge in (e.split(" ")[1] for e in found.bap_edges))


def test_files(study, tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    paths = study.save(tmp_path)
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
