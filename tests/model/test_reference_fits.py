"""Agreement with R (ggm, greedyBAPs) and lavaan on the frozen fits of ``tests/reference``."""

import math
import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bowfree as bf
from reference_cases import case_id, check_measures, fits, graph_of, load, matrix

UNFLAGGED = fits(lambda case: not case["flags"])
NOT_GLOBAL = fits(lambda case: "R_not_global_max" in case["flags"])
UNBOUNDED = fits(lambda case: "no_finite_mle_found_B_diverges" in case["flags"])
LAVAAN = fits(lambda case: "B" in case.get("lavaan", {}) and not case["flags"])


pytestmark = pytest.mark.filterwarnings("ignore:.*several maxima:bowfree.errors.FitWarning")


def fit_case(case, **options):
    # lavaan's texts write all covariances, so that its baseline model keeps none of them.
    given = {"cov": case["S"], "n": case["n"], "baseline": "independence", **options}
    return bf.fit(graph_of(case, case["d"]), **given)


def largest_error(estimate, reference):
    """Return the largest error in units of the largest entry of the reference."""
    return np.abs(estimate - reference).max() / max(np.abs(reference).max(), 1e-300)


@pytest.mark.parametrize("case", UNFLAGGED, ids=case_id)
def test_maximum_and_estimates(case):
    fit = fit_case(case)
    assert fit.converged
    assert_allclose(fit.loglik, case["loglik_mle"], rtol=1e-8)
    # R stopped at a summed change of 1e-12; where it needed many sweeps, that is not the error.
    tolerance = 1e-7 if case["ricf"]["iterations"] < 1000 else 1e-5
    assert largest_error(fit.B, matrix(case["ricf"]["B"])) < tolerance
    assert (
        largest_error(fit.Omega, case["omega_to_mle"] * matrix(case["ricf"]["Omega"])) < tolerance
    )
    assert (
        largest_error(fit.Sigma, case["omega_to_mle"] * matrix(case["ricf"]["Sigma"])) < tolerance
    )


@pytest.mark.parametrize("case", NOT_GLOBAL, ids=case_id)
def test_several_starts_find_the_better_optimum(case):
    fit = fit_case(case, n_starts=20, rng=0)
    assert fit.converged
    assert fit.loglik > case["better_optimum"]["loglik_mle"] - 1e-8
    assert max(district.n_optima for district in fit.certificate) > 1


@pytest.mark.parametrize("case", UNBOUNDED, ids=case_id)
def test_no_finite_maximum_is_flagged_in_bounded_time(case):
    start = time.perf_counter()
    with pytest.warns(bf.errors.FitWarning, match="a coefficient diverges"):
        fit = fit_case(case)
    assert time.perf_counter() - start < 1.0
    assert fit.diverging
    assert not fit.converged
    assert np.isfinite(fit.B).all()
    assert np.isfinite(fit.Omega).all()


@pytest.mark.parametrize("case", LAVAAN, ids=case_id)
def test_lavaan(case):
    # lavaan's optimizer leaves 1e-5 in the estimates, hence in standard errors; the likelihood is
    # flat at its maximum, so that everything computed from it is far closer.
    fit, lavaan = fit_case(case), case["lavaan"]
    errors = fit.standard_errors()
    for ours, theirs in ((errors.B, lavaan["se_B"]), (errors.Omega, lavaan["se_Omega"])):
        free = ~np.isnan(ours)
        assert_allclose(ours[free], matrix(theirs)[free], rtol=5e-5)
        assert not matrix(theirs)[~free].any()
    assert_allclose(fit.B, matrix(lavaan["B"]), atol=2e-5)
    assert_allclose(fit.Omega, matrix(lavaan["Omega"]), atol=2e-4)
    assert (fit.df, fit.n_parameters) == (lavaan["df"], lavaan["npar"])
    assert_allclose(fit.loglik, lavaan["logl"], atol=1e-6)
    assert_allclose([fit.aic, fit.bic], [lavaan["aic"], lavaan["bic"]], atol=1e-6)
    check_measures(fit, lavaan, rel=1e-10, atol=2e-6)


@pytest.mark.parametrize("name", load("lavaan_inference.json")["cases"])
def test_lavaan_inference(name):
    lavaan = load("lavaan_inference.json")["cases"][name]
    (case,) = fits(lambda case: case["id"] == name)
    fit = fit_case(case)
    both = zip(fit.estimates(), fit.estimates(information="observed"), strict=True)
    rows = {row.lavaan: (row, observed.se) for row, observed in both}
    effects = fit.total_effects()
    n_effects = 0
    for k, (lhs, op, rhs) in enumerate(
        zip(*(lavaan[x] for x in ("lhs", "op", "rhs")), strict=True)
    ):
        theirs = {name: lavaan[name][k] for name in ("est", "se", "z", "pvalue", "std_all")}
        if op == ":=":
            _, i, j = lhs.split("_")
            at = effects.names.index(i), effects.names.index(j)
            assert_allclose(effects.estimate[at], theirs["est"], atol=1e-5)
            assert_allclose(effects.se[at], theirs["se"], rtol=1e-5)
            n_effects += 1
        else:  # lavaan may write a covariance the other way round
            row, observed = rows.get((lhs, op, rhs)) or rows[rhs, op, lhs]
            found = [row.estimate, row.std_all]
            assert_allclose(found, [theirs["est"], theirs["std_all"]], atol=2e-5)
            assert_allclose([row.se, observed], [theirs["se"], lavaan["se_observed"][k]], rtol=1e-5)
            assert_allclose([row.z, row.p_value], [theirs["z"], theirs["pvalue"]], atol=1e-4)
    assert n_effects == np.isfinite(effects.se).sum()
    assert_allclose(fit.residual_correlations(), matrix(lavaan["residual_correlations"]), atol=2e-6)
    check_measures(fit, lavaan["indices"], rel=1e-10, atol=1e-6)


SCORES = load("scores.json")
DATASETS = {dataset["id"]: dataset for dataset in SCORES["datasets"]}


@pytest.mark.parametrize("case", SCORES["cases"], ids=case_id)
def test_converged_scores(case):
    dataset = DATASETS[case["dataset"]]
    graph = graph_of(case, dataset["d"])
    options = {"cov": dataset["S"], "n": dataset["n"]}
    assert_allclose(
        bf.score(graph, **options), case["score_tight_paper_convention"], rtol=0, atol=1e-9
    )
    # R fits to S and evaluates with (n - 1) / n: lower by the same amount for every graph.
    r = (dataset["n"] - 1) / dataset["n"]
    ours = {row.district: row.score for row in bf.model.district_scores(graph, **options)}
    for district in case["districts"]:
        names = tuple(f"x{i}" for i in district["nodes"])
        theirs = district["score_maxiter1000"] - len(names) / 2 * (1 - r + math.log(r))
        assert_allclose(ours[names], theirs, rtol=0, atol=1e-8)


@pytest.mark.parametrize("case", SCORES["cases"], ids=case_id)
def test_ten_sweeps_are_the_papers(case):
    dataset = DATASETS[case["dataset"]]
    n, S = dataset["n"], matrix(dataset["S"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bf.errors.FitWarning)  # ten sweeps often do not converge
        # ddof=0 has S fitted as it is, which is what the authors' program does.
        fit = bf.fit(graph_of(case, dataset["d"]), cov=S, n=n, ddof=0, method="ricf", max_iter=10)
    for district in case["districts"]:
        C = district["nodes"]
        Omega, A = fit.Omega[np.ix_(C, C)], (np.eye(len(S)) - fit.B)[C]
        trace = np.trace(np.linalg.solve(Omega, A @ S @ A.T))
        logdet = np.linalg.slogdet(2 * np.pi * Omega)[1]
        size = len(C) + district["n_edges"]
        score = -(logdet + (n - 1) / n * trace) / 2 - size * math.log(n) / n
        assert_allclose(score, district["score_maxiter10"], rtol=0, atol=1e-12)
