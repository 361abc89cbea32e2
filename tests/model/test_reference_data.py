"""Agreement with lavaan on real tables: not normal, with gaps (``tests/reference/incomplete``).

lavaan's own optimiser stops at about 1e-6 of the estimates, its EM (the first of two stages) at
about 1e-4 of a standard error; ours go on, and the log-likelihoods say so.
"""

import csv
import json
import math
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
    return bf.fit(graph_of(case), table(case, kind), **options)


def both_estimates(fitted, answer):
    """Return our estimates and standard errors, and lavaan's in the same order."""
    theirs = {}
    for lhs, op, rhs, estimate, se in answer["estimates"]:
        theirs[lhs, op, rhs] = estimate, se
        if op == "~~":
            theirs[rhs, op, lhs] = estimate, se
    ours = [(e.estimate, e.se) for e in fitted.estimates()]
    return np.array(ours), np.array([theirs[e.lhs, e.op, e.rhs] for e in fitted.estimates()])


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
    assert_allclose(fitted.srmr, answer["fit"]["srmr_bentler_nomean"], atol=2e-5)
    # Where lavaan looks for the upper end of the interval it stops at 1e-3.
    if fitted.scaled is not None:
        check_indices(Indices(fitted, fitted.scaled), answer, SCALED, 1e-4, skip={"rmsea_upper"})
        check_indices(
            Indices(fitted, fitted.scaled), answer, {"rmsea_upper": SCALED["rmsea_upper"]}, 2e-3
        )


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_two_stages(case):
    fitted, answer = fit(case, "missing", missing="two-stage"), case["twostage"]
    assert (fitted.se, fitted.test) == ("robust", "satorra-bentler")
    check_estimates(fitted, answer, estimates=1e-3, errors=2e-4)
    assert_allclose(fitted.loglik, answer["fit"]["logl"], rtol=1e-4)
    check_indices(Indices(fitted, fitted.indices), answer, PLAIN, 1e-3)
    check_indices(Indices(fitted, fitted.scaled), answer, SCALED, 1e-3)


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
    assert math.isnan(fit(saturated[0], "complete", **ROBUST).chi2_scaled)
