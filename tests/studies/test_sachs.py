"""The protein study with a short search, and what it says of v-structures.

The data are not part of the package. Where they are not at hand, two simulated conditions stand in
for them, with the v-structures that the paper names; all but the comparison with R's scores is the
same on both.
"""

import csv
import json
import math
from itertools import combinations

import pytest

import bowfree as bf
from bowfree.studies import SachsStudy, sachs_study
from sachs_folder import SACHS, needs_sachs, write_stand_ins

STAND_INS = {
    4: "pip2 -> pip3 <- plcg, praf <-> pmek",
    8: "pka -> pakts473 <- pkc, praf -> plcg <- pmek, plcg -> pip2 <- praf",
}


@pytest.fixture(scope="module", params=["stand-ins", pytest.param("measured", marks=needs_sachs)])
def folder(request, tmp_path_factory):
    if request.param == "measured":
        yield SACHS
    else:
        with pytest.MonkeyPatch.context() as patch:
            yield write_stand_ins(tmp_path_factory.mktemp("sachs"), STAND_INS, patch)


@pytest.fixture(scope="module")
def study(folder):
    conditions = None if folder == SACHS else list(STAND_INS)
    return sachs_study(conditions, folder=folder, restarts=8, rounds=0, rng=1)


def test_scores_are_those_of_the_graphs(study, folder):
    row = study.row("cd3cd28icam2+psit")
    data = bf.datasets.load_sachs(4, folder=folder)
    assert row.n == len(data.X)
    assert row.bap_score == pytest.approx(bf.score(row.bap, data), abs=1e-9)
    assert row.dag_score == pytest.approx(bf.score(row.dag, data), abs=1e-9)


def test_a_dag_is_a_bap(study, folder):
    expected = range(1, 15) if folder == SACHS else STAND_INS
    assert [row.condition for row in study.rows] == list(expected)
    for row in study.rows:
        assert row.dag.is_dag()
        assert row.bap_score >= row.dag_score - 1e-9
    dags = [graph for graph in bf.equivalence_class(study.row(4).dag) if graph.is_dag()]
    assert study.row(4).dag_class == len(dags) > 0


@pytest.mark.parametrize("folder", [pytest.param("measured", marks=needs_sachs)], indirect=True)
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
    # The heads at the center stay, the tails do not: a <-> c is possible too.
    for edge in found.bap_edges:
        assert edge.split(" ")[1] == ("o->" if edge.endswith(c) else "<-o")


def test_no_v_structure_where_the_ends_are_adjacent(study):
    row = study.row(8)
    seen = set()
    for c in row.dag.nodes:
        for a, b in combinations(sorted(row.dag.parents(c)), 2):
            adjacent = row.dag.adjacent(a, b)
            assert study.v_structure(8, a, c, b).in_dag == (not adjacent)
            seen.add(adjacent)
    assert seen == {True, False}


def test_files(study, tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    k = study.rows.index(study.row(4))
    paths = SachsStudy((study.rows[k],), (study.classes[k],), 0.0, True).save(tmp_path)
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
        sachs_study([1, 99])
