"""Agreement with lavaan on real tables: not normal, with gaps (``tests/reference/incomplete``).

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
from bowfree.data.sample import lower_triangle
from bowfree.model.inference import Sandwich

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


def both_estimates(fitted, answer):
    """Return our estimates and standard errors, and lavaan's in the same order."""
    theirs = {}
    for lhs, op, rhs, estimate, se in answer["estimates"]:
        theirs[lhs, op, rhs] = estimate, se
        if op == "~~":
            theirs[rhs, op, lhs] = estimate, se
    ours = [(e.estimate, e.se) for e in fitted.estimates()]
    return np.array(ours), np.array([theirs[e.lavaan] for e in fitted.estimates()])


def check_estimates(fitted, answer, *, estimates, errors):
    """Compare: estimates in units of their standard errors plus their size, errors as ratios."""
    ours, theirs = both_estimates(fitted, answer)
    assert_allclose(ours[:, 0], theirs[:, 0], rtol=estimates, atol=estimates * theirs[:, 1].min())
    assert_allclose(ours[:, 1], theirs[:, 1], rtol=errors)


def check_indices(indices, answer, names, rtol, skip=()):
    for ours, theirs in names.items():
        expected = answer["fit"].get(theirs)
        if isinstance(expected, int | float) and ours not in skip and indices.df_tested:
            assert_allclose(getattr(indices, ours), expected, rtol=rtol, atol=rtol, err_msg=ours)


class Indices:
    """The indices of a fit by name, with its degrees of freedom."""

    def __init__(self, fitted, indices):
        self.df_tested = fitted.df
        self.__dict__.update(vars(indices))


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_complete_rows_as_they_are(case):
    fitted, answer = fit(case, "complete"), case["ml"]
    check_estimates(fitted, answer, estimates=2e-4, errors=1e-5)
    assert_allclose(fitted.loglik, answer["fit"]["logl"], rtol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=IDS)
@pytest.mark.parametrize(("name", "options"), [("mlm", ROBUST), ("mlr", HUBER_WHITE)])
def test_complete_rows_robust(case, name, options):
    fitted, answer = fit(case, "complete", **options), case[name]
    check_estimates(fitted, answer, estimates=2e-4, errors=1e-5)
    check_indices(Indices(fitted, fitted.indices), answer, PLAIN, 1e-5)
    check_indices(Indices(fitted, fitted.scaled), answer, SCALED, 1e-5)
    if fitted.df:
        assert_allclose(fitted.chi2, fitted.scaling_factor * fitted.chi2_scaled)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_saturated_moments(case):
    moments = bf.moments(table(case, "missing"), missing="two-stage")
    mean, cov = np.array(case["saturated"]["mean"]), np.array(case["saturated"]["cov"])
    # lavaan has the variables in the order of its model; they are told apart by their means.
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
    check_indices(Indices(fitted, fitted.indices), answer, PLAIN, 1e-5)
    assert_allclose(fitted.srmr, answer["fit"]["srmr"], atol=2e-5)
    check_indices(Indices(fitted, fitted.scaled), answer, SCALED, 1e-4, skip={"rmsea_upper"})
    # lavaan's search for the upper end of the interval stops at 1e-3.
    upper = {"rmsea_upper": SCALED["rmsea_upper"]}
    check_indices(Indices(fitted, fitted.scaled), answer, upper, 2e-3)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_two_stages(case):
    fitted, answer = fit(case, "missing", missing="two-stage"), case["twostage"]
    assert (fitted.se, fitted.test) == ("robust", "satorra-bentler")
    check_estimates(fitted, answer, estimates=1e-3, errors=2e-4)
    assert_allclose(fitted.loglik, answer["fit"]["logl"], rtol=1e-4)
    check_indices(Indices(fitted, fitted.indices), answer, PLAIN, 1e-3)
    check_indices(Indices(fitted, fitted.scaled), answer, SCALED, 1e-3)


def gamma_of_available_products(X):
    """Return what lavaan 0.6 has for Gamma of rows with gaps where it knows of no other.

    A product with a missing factor counts as if it were equal to the mean of the others, and the
    divisor is the number of all rows.
    """
    a, b = lower_triangle(X.shape[1])
    z = X - np.nanmean(X, axis=0)
    products = z[:, a] * z[:, b]
    products = np.nan_to_num(products - np.nanmean(products, axis=0))
    return products.T @ products / len(X)


def empty_graph(S, Gamma):
    """Return the estimates of the empty graph, weighed as in the second of two stages."""
    own = tuple(("Omega", i, i) for i in range(len(S)))
    variances = np.diag(np.diag(S))
    return Sandwich(np.zeros_like(S), variances, S, Gamma, own, S)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_lavaans_baseline_of_two_stages_has_the_gamma_of_another_estimator(case):
    # lavaan fits its baseline model without standard errors, and only with them does it make the
    # Gamma of the first stage: the factor comes from available products instead.
    fitted, answer = fit(case, "missing", missing="two-stage"), case["twostage"]["fit"]
    columns = table(case, "missing")
    X = np.column_stack([columns[name] for name in fitted.graph.nodes])
    X = X[~np.isnan(X).all(axis=1)]
    df0 = fitted.indices.baseline_df
    theirs = empty_graph(fitted.S, gamma_of_available_products(X)).expected_chi2("satorra-bentler")
    assert_allclose(theirs / df0, answer["baseline.chisq.scaling.factor"], rtol=1e-4)
    ours = empty_graph(fitted.S, fitted.moments.Gamma).expected_chi2("satorra-bentler")
    assert_allclose(fitted.scaled.baseline_scaling_factor, ours / df0)
    if fitted.df:  # with their factor their robust CFI follows, too
        excess = fitted.chi2 - fitted.df * fitted.scaling_factor
        cfi = 1 - max(excess, 0) / max(fitted.indices.baseline_chi2 - theirs, excess)
        assert_allclose(cfi, answer["cfi.robust"], atol=2e-5)


def test_the_factor_of_the_baseline_is_the_mean_of_its_chi_square():
    # Independent columns, so that the empty graph is right; a fifth of the cells is missing.
    rng, ratios, available = np.random.default_rng(3), [], []
    graph = bf.MixedGraph(["a", "b", "c", "d"])
    for _ in range(200):
        X = rng.standard_normal((200, 4))
        X[rng.random(X.shape) < 0.2] = np.nan
        X = X[~np.isnan(X).all(axis=1)]
        fitted = bf.fit(graph, dict(zip(graph.nodes, X.T, strict=True)), missing="two-stage")
        chi2 = fitted.indices.baseline_chi2
        ratios.append(chi2 / (fitted.scaled.baseline_scaling_factor * 6))
        lavaans = empty_graph(fitted.S, gamma_of_available_products(X))
        available.append(chi2 / lavaans.expected_chi2("satorra-bentler"))
    # The mean of 200 chi-squares over df = 6 has a standard error of 0.04.
    assert abs(np.mean(ratios) - 1) < 0.12
    assert np.mean(available) > 2


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_first_stage_is_not_below_lavaans(case):
    fitted = fit(case, "missing", missing="fiml")
    theirs = case["fiml"]["fit"]["unrestricted.logl"]
    ours = fitted.loglik + fitted.chi2 / 2
    assert ours >= theirs - 1e-9 * abs(theirs)
    assert_allclose(ours, theirs, rtol=1e-6)


def test_one_case_has_no_test():
    saturated = [case for case in CASES if fit(case, "complete").df == 0]
    assert [case["id"] for case in saturated] == ["m11"]
    assert fit(saturated[0], "complete", **ROBUST).chi2_scaled == pytest.approx(0, abs=1e-9)
