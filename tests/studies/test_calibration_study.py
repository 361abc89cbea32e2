"""The calibration study: what it counts, on statements made up for the purpose."""

from __future__ import annotations

import csv
import json
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

import bowfree as bf
from bowfree.space.search_space import SearchSpace
from bowfree.studies.calibration_result import (
    CalibrationCell,
    CalibrationStudy,
    CheckedIntervals,
    CheckedSimulation,
    Statements,
)
from bowfree.studies.calibration_study import graph_from_prior
from bowfree.uncertainty.posterior import GraphPosterior
from graph_strategies import all_baps
from odd_executors import Clumsy


def simulation(stated, true, covered, excludes, *, mixed=True):
    true, covered, excludes = (np.array(x, dtype=bool) for x in (true, covered, excludes))
    statements = Statements(np.array(stated, dtype=float), true)
    intervals = CheckedIntervals(covered, np.arange(1.0, len(true) + 1), excludes)
    return CheckedSimulation(
        true, intervals, intervals, statements, statements, statements, mixed, 2.0
    )


CELL = CalibrationCell(
    3,
    100,
    "sparse",
    (
        simulation([0.05, 0.2, 0.95], [0, 1, 1], [1, 0, 1], [0, 0, 1]),
        simulation([0.25, 0.28, 1.0], [0, 0, 1], [1, 1, 1], [1, 0, 1], mixed=False),
    ),
)


def test_counts():
    assert CELL.coverage().value == pytest.approx(5 / 6)
    assert CELL.coverage(nonzero=True).value == pytest.approx(2 / 3)
    assert CELL.wrong().value == pytest.approx(1 / 3)
    assert CELL.excluding() == 1.5
    assert CELL.width() == 3.0
    assert (CELL.mixed, CELL.cpu_seconds) == (0.5, 2.0)
    squares = [0.05**2 + 0.8**2 + 0.05**2, 0.25**2 + 0.28**2]
    assert CELL.brier("effects").value == pytest.approx(np.mean(squares) / 3)
    # Of two simulations: half their distance is the standard error of the mean.
    assert CELL.brier("effects").error == pytest.approx(abs(squares[0] - squares[1]) / 6)


def test_bins():
    low, next_to, high = CELL.reliability("edges")
    assert (low.count, low.stated, low.true.value) == (1, 0.05, 0.0)
    assert (next_to.count, next_to.true.value) == (3, pytest.approx(1 / 3))
    assert next_to.stated == pytest.approx((0.2 + 0.25 + 0.28) / 3)
    assert (high.count, high.stated, high.true.value) == (2, 0.975, 1.0)
    assert low.kept
    assert high.kept
    lies = CalibrationCell(
        3, 100, "sparse", tuple(simulation([0.9] * 9, [0] * 9, [1] * 9, [0] * 9) for _ in range(9))
    )
    assert not lies.reliability("effects")[0].kept


def test_statements_come_true(tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    study = bf.studies.calibration_study(12, d=[4], n=[300], densities=["sparse"], rng=3)
    (cell,) = study.cells
    assert cell.coverage().value > 0.9
    assert cell.coverage(nonzero=True).value > cell.coverage(nonzero=True, one_graph=True).value
    again = bf.studies.calibration_study(
        12,
        d=[4],
        n=[300],
        densities=["sparse"],
        rng=3,
        executor=Clumsy(lambda number: number == 2),
    )
    assert again.cells[0].brier("edges") == cell.brier("edges")
    paths = study.save(tmp_path)
    assert [path.name for path in paths] == [
        f"calibration.{kind}" for kind in ("md", "json", "csv", "png")
    ]
    assert study.table().count("\n") == 2
    assert json.loads(paths[1].read_text())[0]["simulations"] == 12
    rows = list(csv.DictReader(paths[2].read_text().splitlines()))
    assert {row["what"] for row in rows} == {"effects", "edges", "adjacent"}
    assert sum(int(row["count"]) for row in rows if row["what"] == "adjacent") == 12 * 6
    assert paths[3].stat().st_size > 10_000


def test_bad_input():
    for options in ({"d": [1]}, {"n": [3]}, {"densities": ["thick"]}):
        with pytest.raises(bf.BowfreeError):
            bf.studies.calibration_study(1, **options)


def test_table_of_several_cells():
    assert CalibrationStudy((CELL, CELL), complete=True).table().count("\n") == 3


def test_graphs_are_drawn_from_the_prior_that_averages_have():
    rng = np.random.default_rng(7)
    drawn = Counter(graph_from_prior(3, rng) for _ in range(6000))
    names = {"a": "x1", "b": "x2", "c": "x3"}
    baps = [graph.relabel(names) for graph in all_baps(3)]
    weights = np.exp(GraphPosterior().log_prior(3, SearchSpace())[[g.n_edges for g in baps]])
    expected = 6000 * weights / weights.sum()
    counts = np.array([drawn[graph] for graph in baps])
    assert counts.sum() == 6000
    assert chisquare(counts, expected).pvalue > 0.001
