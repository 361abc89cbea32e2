"""Panels: tiers, equal effects and effects by lag."""

import json

import numpy as np
import pytest

import bowfree as bf
from command_line import run

GRAPH = bf.parse("x_1 -> x_2 -> x_3, y_1 -> y_2 -> y_3, x_1 -> y_2, x_2 -> y_3, x_1 <-> y_1")


def panel(n=2000, seed=1):
    """Return three waves of two variables; x affects y one wave later."""
    rng = np.random.default_rng(seed)
    x, y, data = rng.normal(size=n), rng.normal(size=n), {}
    y = y + 0.5 * x
    for wave in (1, 2, 3):
        if wave > 1:
            x, y = 0.6 * x + rng.normal(size=n), 0.5 * y + 0.4 * x + rng.normal(size=n)
        data |= {f"x_{wave}": x, f"y_{wave}": y}
    return data


def test_tiers():
    known = bf.Knowledge.from_waves(["age", "x_t1", "y_t1", "x_t10", "x_t2"], max_lag=1)
    assert known.tiers == (("age",), ("x_t1", "y_t1"), ("x_t2",), ("x_t10",))
    assert known.forbidden == (("x_t1", "->", "x_t10"), ("y_t1", "->", "x_t10"))
    with pytest.raises(bf.errors.KnowledgeError, match="fewer than two waves"):
        bf.Knowledge.from_waves(["x1", "x2", "y_1"])


def test_a_search_within_waves_has_no_effects_back_in_time():
    data = panel()
    known = bf.Knowledge.from_waves(list(data), max_lag=1)
    found = bf.greedy_search(data, knowledge=known, rng=1)
    assert set(GRAPH.directed) <= set(found.graph.directed)
    assert all(int(a[-1]) <= int(b[-1]) <= int(a[-1]) + 1 for a, b in found.graph.directed)


def test_equal_effects_and_lags():
    """The slow way: products of the equal coefficients."""
    data = panel()
    equal = bf.effects.equal_over_waves(GRAPH)
    assert sorted(map(sorted, equal)) == [
        ["x_1 -> x_2", "x_2 -> x_3"], ["x_1 -> y_2", "x_2 -> y_3"], ["y_1 -> y_2", "y_2 -> y_3"]
    ]  # fmt: skip
    fit = bf.fit(GRAPH, data, equal=equal)
    a, b, c = (fit.edge(edge).estimate for edge in ("x_1 -> x_2", "x_1 -> y_2", "y_1 -> y_2"))
    lagged = {(row.of, row.on, row.lag, row.wave): row for row in bf.effects.lagged_effects(fit)}
    assert lagged["x", "y", 2, 3].estimate == pytest.approx(a * b + b * c)
    assert lagged["x", "y", 1, 2].estimate == lagged["x", "y", 1, 3].estimate
    assert lagged["x", "y", 1, 2].se < bf.fit(GRAPH, data).edge("x_1 -> y_2").se
    assert len(lagged) == 9


def test_command_line(tmp_path):
    path = tmp_path / "panel.csv"
    data = panel()
    table = bf.datasets.Table(tuple(data), np.column_stack(list(data.values())))
    path.write_text(bf.datasets.write_table(table))
    learned = run("learn", path, "--waves", "--max-lag", 1, "--restarts", 2, "--format", "text")
    graph = bf.parse(learned.stdout)
    assert set(GRAPH.directed) <= set(graph.directed)
    shown = run("fit", path, "--graph", str(GRAPH), "--equal-waves").output
    assert "lag" in shown
    assert "needs --waves" in run("learn", path, "--max-lag", 1, code=2).output
    options = ("--waves", "--of", "y_3", "--on", "x_1", "--restarts", 1, "--json")
    (effect,) = json.loads(run("effects", path, *options).stdout)["effects"]
    assert effect["probability"] == 0
