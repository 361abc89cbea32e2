"""All conditions of the protein data at once; on stand-ins where the data are not at hand."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

import bowfree as bf
from bowfree.datasets.sachs import SACHS_CONDITIONS
from bowfree.studies import sachs_joint_study
from bowfree.studies.sachs_joint_study import SETTINGS
from bowfree.studies.sachs_network import CONSENSUS, SACHS_TARGETS, Agreement
from sachs_folder import PROTEINS, write_stand_ins


def test_the_published_network():
    assert len(CONSENSUS) == len(set(CONSENSUS)) == 20
    graph = bf.MixedGraph(PROTEINS, directed=CONSENSUS)
    assert graph.is_dag()
    whole = Agreement.of(graph)
    assert (whole.precision, whole.recall, whole.n_directed, whole.n_turned) == (1, 1, 20, 0)


def test_agreement_is_counted():
    #  right; turned; joined by <->; not published
    graph = bf.parse('praf -> pmek, "p44/42" -> pmek, pka <-> pkc, praf -> p38')
    found = Agreement.of(graph, bf.equivalence_class(graph).summary())
    assert (found.n_edges, found.n_bidirected, found.n_adjacent) == (4, 1, 3)
    assert (found.n_directed, found.n_turned) == (1, 1)
    assert (found.precision, found.recall) == (3 / 4, 3 / 20)
    # The collider at pmek leaves <-> open: no arrow is settled.
    assert (found.n_settled, found.n_settled_right) == (0, 0)
    set_raf = bf.equivalence_class(graph, targets=[(), ("praf",)]).summary()
    settled = Agreement.of(graph, set_raf)
    assert (settled.n_settled, settled.n_settled_right) == (1, 1)


def test_targets_are_proteins_of_known_conditions():
    assert set(SACHS_TARGETS) < {known.name for known in SACHS_CONDITIONS}
    assert {name for names in SACHS_TARGETS.values() for name in names} < set(PROTEINS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    chain = 'praf -> pmek -> "p44/42", pka -> pkc, pip2 <-> pip3'
    with pytest.MonkeyPatch.context() as patch:
        yield write_stand_ins(
            tmp_path_factory.mktemp("sachs"), dict.fromkeys(range(1, 15), chain), patch
        )


@pytest.fixture(scope="module")
def study(folder):
    return sachs_joint_study(
        ["pooled", "batches", "perfect"], folder=folder, single=False, left_out=False, rng=1
    )


def test_every_way_to_take_the_data(study, folder):
    assert [row.setting for row in study.rows] == ["pooled", "batches", "perfect"]
    tables = {c.name: bf.datasets.load_sachs(c.number, folder=folder) for c in SACHS_CONDITIONS}
    for row in study.rows:
        data = SETTINGS[row.setting].data(tables)
        assert row.score == pytest.approx(bf.score(row.graph, data), abs=1e-9)
        assert row.n == sum(len(table.X) for table in tables.values())
        assert row.agreement.n_edges == row.graph.n_edges
    learned = SETTINGS["learned"].data(tables)
    assert [c.name for c in learned if c.unknown] == [
        c.name for c in SACHS_CONDITIONS if c.name not in ("cd3cd28", "cd3cd28icam2")
    ]


def test_files(study, tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    paths = study.save(tmp_path)
    assert [path.suffix for path in paths] == [".csv", ".json", ".md", ".png"]
    with paths[0].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["setting"] for row in rows] == ["pooled", "batches", "perfect"]
    content = json.loads(paths[1].read_text(encoding="utf-8"))
    assert np.isclose(content["rows"][2]["recall"], study.row("perfect").agreement.recall)
    table = paths[2].read_text(encoding="utf-8").splitlines()
    assert len(table) == 2 + len(study.rows)
    assert table[0].count("|") == table[2].count("|")


def test_what_is_foreseen_is_counted(study):
    effects = [(0.5, 0.6, 0.1), (0.0, 0.6, 0.1), (-0.5, 0.6, 0.1), (0.4, 0.1, 0.1), (0.0, 0.1, 0.1)]
    foreseen = tuple(bf.ForeseenEffect("c", "pka", "praf", *numbers) for numbers in effects)
    left_out = bf.LeftOutConditions((), foreseen, (), 0, True)
    assert replace(study, left_out=left_out).foreseen_effects() == (3, 1, 2, 1)
    assert study.foreseen_effects() == (0, 0, 0, 0)


def test_an_unknown_setting():
    with pytest.raises(bf.BowfreeError, match="settings has 'magic'; choose of batches, perfect"):
        sachs_joint_study(["magic"])
