"""A report on data from several conditions."""

import numpy as np
import pytest

import bowfree as bf
from report_page import Page


def conditions_of(rng):
    x, y, z = rng.normal(size=(3, 200))
    watched = {"x": x, "y": 0.8 * x + y, "z": 0.7 * (0.8 * x + y) + z}
    x, y, z = rng.normal(size=(3, 150))
    return [
        bf.Condition(watched, name="watched"),
        bf.Condition({"x": x, "y": y + 5, "z": 0.7 * y + z}, targets=["y"], name="y <set>"),
    ]


def test_conditions_with_targets():
    data = conditions_of(np.random.default_rng(2))
    result = bf.greedy_search(data, rng=1)
    html = bf.report.render(result, data=data)
    page = Page(html)
    fit = bf.fit(result.graph, data)
    rows = [[text for _, text in row] for row in page.rows("conditions")]
    assert [row[:3] for row in rows] == [["watched", "200", ""], ["y <set>", "150", "y"]]
    assert rows[0][3] == f"{fit.conditions[0].chi2:.2f}"
    part = bf.moments(data).conditions[1]
    R = np.corrcoef(part.deviations.T) - _correlation(fit.conditions[1].Sigma)
    assert float(rows[1][6].replace("−", "-")) == pytest.approx(_largest(R), abs=6e-4)
    assert "residuals" not in page.ids  # there is no one matrix to take them from
    assert str(fit.sharing_test()) in " ".join(page.text)
    assert "The data are those of several conditions" in " ".join(page.text)
    members = bf.equivalence_class(result)
    assert members.targets == ((), ("y",))
    bounds = bf.effect_bounds(members, data)
    assert f"{bounds.effect(of='y', on='z').lower:.3f}" in html
    assert bf.report.render(result, data=data) == html


def test_batches_have_conditions_and_residuals():
    data = [bf.Condition(c.data, name=c.name) for c in conditions_of(np.random.default_rng(2))]
    page = Page(bf.report.render(bf.fit(bf.parse("x -> y -> z"), data)))
    assert {"conditions", "residuals"} <= set(page.ids)
    assert len(page.rows("conditions")) == 2


def _correlation(S):
    sd = np.sqrt(np.diag(S))
    return S / np.outer(sd, sd)


def _largest(R):
    return R.flat[np.abs(R).argmax()]
