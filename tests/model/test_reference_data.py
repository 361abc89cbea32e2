"""Agreement with lavaan on real tables: not normal, with missing values (``tests/reference/incomplete``).

lavaan's own optimizer stops at about 1e-6 of the estimates, its EM (the first of two stages) at
about 1e-4 of a standard error; ours go on, and the log-likelihoods say so.
"""

import csv
import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bowfree as bf

FOLDER = Path(__file__).parents[1] / "reference" / "incomplete"
CASES = json.loads((FOLDER / "lavaan.json").read_text())["cases"]
IDS = [case["id"] for case in CASES]

ROBUST = {"se": "robust", "test": "satorra-bentler"}
HUBER_WHITE = {"se": "robust-huber-white", "test": "yuan-bentler"}

# Ours and lavaan's names of the indices that depend on the test.
SCALED = {
    "chi2": "chisq.scaled",
    "scaling_factor": "chisq.scaling.factor",
    "p_value": "pvalue.scaled",
    "rmsea": "rmsea.robust",
    "rmsea_lower": "rmsea.ci.lower.robust",
    "rmsea_upper": "rmsea.ci.upper.robust",
    "cfi": "cfi.robust",
    "tli": "tli.robust",
}
PLAIN = {"chi2": "chisq", "p_value": "pvalue", "cfi": "cfi", "tli": "tli", "rmsea": "rmsea"}


def table(case, kind):
    """Read a file as a mapping from names to columns; an empty cell is NaN."""
    text = (FOLDER / f"{case['id']}-{kind}.csv").read_text()
    header, *rows = csv.reader(text.splitlines())
    values = np.array([[float(cell or "nan") for cell in row] for row in rows])
    return dict(zip(header, values.T, strict=True))


def graph_of(case):
    return bf.MixedGraph(case["names"], case["directed"], case["bidirected"])


def fit(case, kind, **options):
    # lavaan's texts write all covariances, so that its baseline model keeps none of them.
    return bf.fit(graph_of(case), table(case, kind), baseline="independence", **options)


def check_estimates(fitted, answer, *, estimates, errors):
    """Compare: estimates in units of their standard errors plus their size, errors as ratios."""
    theirs = {}
    for lhs, op, rhs, *numbers in answer["estimates"]:
        theirs[lhs, op, rhs] = numbers
        if op == "~~":
            theirs[rhs, op, lhs] = numbers
    rows = fitted.estimates()
    expected, se = np.array([theirs[row.lavaan] for row in rows]).T
    ours = [row.estimate for row in rows]
    assert_allclose(ours, expected, rtol=estimates, atol=estimates * se.min())
    assert_allclose([row.se for row in rows], se, rtol=errors)


def check_indices(fitted, indices, names, answer, rtol):
    for ours, theirs in names.items():
        expected = answer["fit"].get(theirs)
        if isinstance(expected, int | float) and fitted.df:
            assert_allclose(getattr(indices, ours), expected, rtol=rtol, atol=rtol, err_msg=ours)


@pytest.mark.parametrize("case", CASES, ids=IDS)
@pytest.mark.parametrize(("name", "options"), [("ml", {}), ("mlm", ROBUST), ("mlr", HUBER_WHITE)])
def test_complete_rows(case, name, options):
    fitted, answer = fit(case, "complete", **options), case[name]
    check_estimates(fitted, answer, estimates=2e-4, errors=1e-5)
    check_indices(fitted, fitted.indices, PLAIN, answer, 1e-5)
    if not options:
        assert_allclose(fitted.loglik, answer["fit"]["logl"], rtol=1e-9)
        return
    check_indices(fitted, fitted.scaled, SCALED, answer, 1e-5)
    if fitted.df:
        assert_allclose(fitted.chi2, fitted.scaling_factor * fitted.chi2_scaled)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_saturated_moments(case):
    moments = bf.moments(table(case, "missing"), missing="two-stage")
    mean, cov = np.array(case["saturated"]["mean"]), np.array(case["saturated"]["cov"])
    # lavaan has the variables in the order of its model; their means identify them.
    d = len(mean)
    order = min(permutations(range(d)), key=lambda o: np.abs(moments.mean[list(o)] - mean).max())
    assert_allclose(moments.mean[list(order)], mean, atol=1e-4)
    assert_allclose(moments.S[np.ix_(order, order)], cov, atol=2e-4 * np.abs(cov).max())


@pytest.mark.parametrize("case", CASES, ids=IDS)
@pytest.mark.parametrize(("name", "options"), [("fiml", {}), ("fiml_mlr", HUBER_WHITE)])
def test_full_information(case, name, options):
    fitted, answer = fit(case, "missing", missing="fiml", **options), case[name]
    assert fitted.converged
    check_estimates(fitted, answer, estimates=1e-4, errors=1e-4)
    assert_allclose(fitted.loglik, answer["fit"]["logl"], rtol=1e-8)
    check_indices(fitted, fitted.indices, PLAIN, answer, 1e-5)
    assert_allclose(fitted.srmr, answer["fit"]["srmr"], atol=2e-5)
    # lavaan's search for the upper end of the interval stops at 1e-3.
    for ours, theirs in SCALED.items():
        rtol = 2e-3 if ours == "rmsea_upper" else 1e-4
        check_indices(fitted, fitted.scaled, {ours: theirs}, answer, rtol)
    # The first stage is not below lavaan's.
    saturated, theirs = fitted.loglik + fitted.chi2 / 2, answer["fit"]["unrestricted.logl"]
    assert saturated >= theirs - 1e-9 * abs(theirs)
    assert_allclose(saturated, theirs, rtol=1e-6)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_two_stages(case):
    fitted, answer = fit(case, "missing", missing="two-stage"), case["twostage"]
    assert (fitted.se, fitted.test) == ("robust", "satorra-bentler")
    check_estimates(fitted, answer, estimates=1e-3, errors=2e-4)
    assert_allclose(fitted.loglik, answer["fit"]["logl"], rtol=1e-4)
    check_indices(fitted, fitted.indices, PLAIN, answer, 1e-3)
    check_indices(fitted, fitted.scaled, SCALED, answer, 1e-3)


def test_the_factor_of_the_baseline_is_the_mean_of_its_chi_square():
    # Independent columns, so that the empty graph is right; a fifth of the cells is missing.
    # (lavaan 0.6 has the Gamma of products of available cells here, and a factor of half the size.)
    rng, ratios = np.random.default_rng(3), []
    graph = bf.MixedGraph(["a", "b", "c", "d"])
    for _ in range(200):
        X = rng.standard_normal((200, 4))
        X[rng.random(X.shape) < 0.2] = np.nan
        X = X[~np.isnan(X).all(axis=1)]
        fitted = bf.fit(graph, dict(zip(graph.nodes, X.T, strict=True)), missing="two-stage")
        ratios.append(fitted.scaled.baseline_chi2 / 6)
    # The mean of 200 chi-squares over df = 6 has a standard error of 0.04.
    assert abs(np.mean(ratios) - 1) < 0.12


def test_one_case_has_no_test():
    saturated = [case for case in CASES if fit(case, "complete").df == 0]
    assert [case["id"] for case in saturated] == ["m11"]
    assert fit(saturated[0], "complete", **ROBUST).chi2_scaled == pytest.approx(0, abs=1e-9)
