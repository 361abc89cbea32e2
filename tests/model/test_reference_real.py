"""Agreement with lavaan on real tables, not normal and with missing values.

``tests/reference/real.json`` has moments of tables and lavaan's answers; the tables are needed for
missing values, the bootstrap and clusters only, and those tests are skipped without a folder
``shared`` beside the checkout. ``tests/reference/incomplete`` has tables with missing cells.

lavaan's own optimizer stops at about 1e-6 of the estimates, its EM (the first of two stages) at
about 1e-4 of a standard error; ours go on, and the log-likelihoods say so.
"""

import csv
import math
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bowfree as bf
from bowfree.model.inference import Resamples
from reference_cases import FOLDER, case_id, check_measures, load

CASES = {case["id"]: case for case in load("real.json")["cases"]}
BOOTSTRAP = load("lavaan_bootstrap.json")["cases"]
INCOMPLETE = load("incomplete/lavaan.json")["cases"]
TABLES = Path(__file__).parents[3] / "shared" / "reference" / "real"
needs_rows = pytest.mark.skipif(not TABLES.is_dir(), reason="the tables are not in the repository")

ROBUST = {"se": "robust", "test": "satorra-bentler"}
HUBER_WHITE = {"se": "robust-huber-white", "test": "yuan-bentler"}


def near(value):
    return pytest.approx(value, rel=1e-3, abs=1e-5)


def symmetric(entries):
    """Return the matrix that has these entries in its lower triangle."""
    d = math.isqrt(2 * len(entries))
    matrix = np.zeros((d, d))
    matrix[np.tril_indices(d)] = entries
    return matrix + np.tril(matrix, -1).T


def model_of(case):
    return bf.formats.read_lavaan(case["text"])


def fit_moments(case, Gamma=None, **options):
    """Fit the moments of a table; Gamma is the asymptotic covariance matrix of their entries."""
    moments = bf.Moments(tuple(case["names"]), symmetric(case["S"]), case["n"])
    kinds = {name: options.pop(name) for name in ("se", "test") if name in options}
    fit = bf.fit(model_of(case), moments, **options)
    if Gamma is not None:
        vars(fit.moments)["Gamma"] = symmetric(case[Gamma])
    return replace(fit, **kinds)


def read_columns(path, names=None):
    """Read columns of a file; an empty cell is NaN."""
    header, *rows = csv.reader(path.read_text().splitlines())
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    return {
        name: np.array([float(c) if c not in ("", "NA") else math.nan for c in columns[name]])
        for name in names or header
    }


def table(case):
    return read_columns(TABLES / f"{case['table']}.csv", case["names"])


def complete(case):
    columns = table(case)
    kept = ~np.isnan(np.column_stack(list(columns.values()))).any(axis=1)
    return {name: column[kept] for name, column in columns.items()}


def check_estimates(fit, answer):
    ours = {row.lavaan: row for row in fit.estimates()}
    for lhs, op, rhs, estimate, se, lower, upper, std_all in answer:
        row = ours.get((lhs, op, rhs)) or ours.get((rhs, op, lhs))
        if row is not None:
            assert row.estimate == near(estimate)
            assert row.std_all == near(std_all)
            if se:  # variances of fixed variables have none
                assert (row.se, row.lower, row.upper) == (near(se), near(lower), near(upper))


@pytest.mark.parametrize("fixed_x", [True, False])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_maximum_likelihood(case, fixed_x):
    fit, answer = fit_moments(case, fixed_x=fixed_x), case["ml" if fixed_x else "ml_free"]
    check_measures(fit, answer["measures"])
    check_estimates(fit, answer["estimates"])
    ours = (fit.n_parameters, fit.loglik, fit.aic, fit.bic)
    assert ours == near(tuple(answer["measures"][name] for name in ("npar", "logl", "aic", "bic")))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize(
    ("name", "Gamma", "options"), [("mlm", "Gamma_fixed", ROBUST), ("mlr", "Gamma", HUBER_WHITE)]
)
def test_robust(case, name, Gamma, options):
    fit = fit_moments(case, Gamma, **options)
    check_measures(fit, case[name]["measures"])
    check_estimates(fit, case[name]["estimates"])


@needs_rows
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize(("name", "options"), [("mlm", ROBUST), ("mlr", HUBER_WHITE)])
def test_robust_from_rows(case, name, options):
    fit = bf.fit(model_of(case), complete(case), fixed_x=True, **options)
    check_measures(fit, case[name]["measures"])
    check_estimates(fit, case[name]["estimates"])


@pytest.mark.parametrize("name", ["ml", "ml_free", "mlm", "mlr"])
def test_defined_parameters(name):
    case = CASES["r08"]
    options = {"mlm": ("Gamma_fixed", ROBUST), "mlr": ("Gamma", HUBER_WHITE)}
    Gamma, kinds = options.get(name, (None, {}))
    defined = model_of(case).defined(fit_moments(case, Gamma, **kinds))
    answer = {row[0]: row[3:] for row in case[name]["estimates"] if row[1] == ":="}
    assert [row.name for row in defined] == list(answer)
    for row in defined:
        ours = [row[key] for key in ("estimate", "se", "lower", "upper", "std_all")]
        assert ours == near(answer[row.name])


@needs_rows
@pytest.mark.parametrize("name", ["r01", "r04", "r08"])  # r06 and r12 take longer
def test_bootstrap_intervals(name):
    """Monte Carlo errors of the ends are .3 to 1 % of the width in lavaan, twice as much here."""
    case = CASES[name]
    model = model_of(case)
    options = {"se": "bootstrap", "n_bootstrap": 5000, "rng": 1}
    first = bf.fit(model, complete(case), interval="bca", **options)
    draws, jackknife = first.resamples.draws, first.resamples.jackknife
    for interval in ("percentile", "bias-corrected", "bca"):
        resamples = Resamples(draws, interval, jackknife if interval == "bca" else None)
        fit = replace(first, resamples=resamples)
        rows = {row.lavaan: row for row in fit.estimates()}
        rows |= {
            (row.name, ":=", row.expression.replace(" ", "")): row for row in model.defined(fit)
        }
        for answer in BOOTSTRAP[name]:
            lower, upper = answer["intervals"][interval.replace("-", "_")]
            row = rows[answer["lhs"], answer["op"], answer["rhs"]]
            assert row.estimate == near(answer["est"])
            assert row.se == pytest.approx(answer["se"], rel=0.05)
            assert (row.lower, row.upper) == pytest.approx(
                (lower, upper), abs=0.06 * (upper - lower)
            )


@needs_rows
@pytest.mark.parametrize(("name", "options"), [("fiml", {}), ("fiml_mlr", HUBER_WHITE)])
def test_missing_values(name, options):
    case = CASES["r06"]
    fit = bf.fit(model_of(case), table(case), missing="fiml", **options)
    check_measures(fit, case[name]["measures"])
    check_estimates(fit, case[name]["estimates"])
    assert fit.loglik == near(case[name]["measures"]["logl"])


@needs_rows
def test_clusters():
    case = CASES["r12"]
    labels = list(read_columns(TABLES / "twolevel.csv", ["cluster"])["cluster"])
    answer = case["cluster"]
    for data, clusters in (
        (complete(case), labels),
        (complete(case) | {"school": np.array(labels)}, "school"),
    ):
        fit = bf.fit(model_of(case), data, clusters=clusters, fixed_x=True)
        # lavaan has a mean structure here, so that SRMR includes means.
        check_measures(fit, {k: v for k, v in answer["measures"].items() if k != "srmr"})
        check_estimates(fit, answer["estimates"])


@pytest.mark.parametrize(
    "case", [*CASES.values(), *load("modification_indices.json")["cases"]], ids=case_id
)
def test_modification_indices(case):
    if "mi" in case:
        fit, answer, atol = fit_moments(case), case["mi"], 1e-5
    else:  # the absolute part is where lavaan's own optimizer stopped
        graph = bf.MixedGraph(case["names"], case["directed"], case["bidirected"])
        fit = bf.fit(graph, cov=case["S"], n=case["n"], ddof=0)
        answer, atol = case["modindices"], 5e-5
    theirs = {(lhs, op, rhs): numbers for lhs, op, rhs, *numbers in answer}
    theirs |= {(rhs, op, lhs): theirs[lhs, op, rhs] for lhs, op, rhs in theirs if op == "~~"}
    compared = 0
    for row in fit.modification_indices():
        key = (row.b, "~", row.a) if row.mark == "->" else (row.a, "~~", row.b)
        if key in theirs:
            found = [row.index, row.expected_change]
            assert found == pytest.approx(theirs[key], rel=1e-3, abs=atol), key
            compared += 1
    assert compared >= min(4, len(answer) / 4)  # the others would make bows or cycles


CONSTRAINED = load("lavaan_constraints.json")
KINDS = {
    "ml": {},
    "observed": {"information": "observed"},
    "mlm": ROBUST,
    "mlr": HUBER_WHITE,
}


@pytest.mark.parametrize(
    ("case", "kind"),
    [(case, kind) for case in CONSTRAINED["cases"] for kind in KINDS if kind in case],
    ids=lambda part: part if isinstance(part, str) else part["id"],
)
def test_equal_and_fixed_parameters(case, kind):
    data, lavaan, options = CONSTRAINED["data"][case["data"]], case[kind], dict(KINDS[kind])
    model = bf.formats.read_lavaan(case["text"])
    information = options.pop("information", None)
    places = [data["names"].index(name) for name in model.graph.nodes]
    if "rows" in data:
        fit = bf.fit(model, np.array(data["rows"])[:, places], **options)
    else:
        fit = bf.fit(model, cov=np.array(data["S"])[np.ix_(places, places)], n=data["n"], ddof=0)
    assert model.df == lavaan["measures"]["df"]
    # lavaan stops at a relative change of its own, so that our likelihood is not smaller.
    assert fit.loglik >= lavaan["measures"]["logl"] - 1e-8  # stored with 12 digits
    check_measures(fit, lavaan["measures"], rel=2e-5, atol=1e-6)
    ours = {row.lavaan: row for row in fit.estimates(information=information)}
    for lhs, op, rhs, estimate, se, std_all in lavaan["estimates"]:
        if op == ":=":
            row = model.defined(fit).parameter(lhs)
        else:
            row = ours.get((lhs, op, rhs)) or ours.get((rhs, op, lhs))
        if row is None:  # lavaan lists zeros
            assert estimate == 0
            continue
        assert (row.estimate, row.std_all) == pytest.approx((estimate, std_all), rel=2e-5, abs=1e-6)
        # lavaan's variance of a parameter fixed by == is zero up to rounding; its root may be NaN.
        if not (information and op == ":="):
            assert row.se == pytest.approx(se or 0, rel=1e-4, abs=1e-6)


# Which parameters are specific to the second of two groups.
GROUPS = [
    ("r01", "group_measures", "mechanism", ["x1", "x2", "x4", "x7"]),
    ("r01", "group_equal_measures", "mechanism", ["x1", "x2"]),
    ("r08", "group_measures", "noise", ["x1", "x4", "x7"]),  # labels make the coefficients equal
    ("r08", "group_equal_measures", "mechanism", ["x1"]),
    ("r10", "group_measures", "mechanism", ["x1", "x2", "x4", "x5"]),
    ("r10", "group_equal_measures", "mechanism", ["x1", "x2"]),
]


@pytest.mark.parametrize(("case", "name", "kind", "specific"), GROUPS)
def test_groups(case, name, kind, specific):
    case = CASES[case]
    first, second = (
        bf.Moments(tuple(case["names"]), symmetric(group["S"]), group["n"])
        for group in case["groups"]
    )
    groups = [bf.Condition(first), bf.Condition(second, targets=specific, kind=kind)]
    check_measures(bf.fit(model_of(case), groups), case[name])


def test_baseline_by_name():
    exogenous = bf.parse("x -> y <- z <-> x")
    S = [[1.0, 0.6, 0.5], [0.6, 1.0, 0.4], [0.5, 0.4, 1.0]]
    lavaan = bf.fit(exogenous, cov=S, n=100).indices
    empty = bf.fit(exogenous, cov=S, n=100, baseline="independence").indices
    assert (lavaan.baseline_df, empty.baseline_df) == (2, 3)
    assert lavaan.baseline_chi2 < empty.baseline_chi2
    with pytest.raises(bf.BowfreeError, match="baseline"):
        bf.fit(exogenous, cov=S, n=100, baseline="empty")


# Graphs, and the exogenous variables whose covariances the baseline model keeps: none unless all
# covariances among them are free, and none with the error of another variable.
EXOGENOUS = {
    "a -> c <- b <-> a": {"a", "b"},
    "a -> c <- b": set(),
    "a -> c <- b <-> a, d -> c": set(),
    "a -> c <- b <-> a, a <-> d": set(),
    "a -> c <- b <-> a, e -> d, e <-> c": {"a", "b"},
    "a <-> b": set(),
}


@pytest.mark.parametrize("text", EXOGENOUS)
def test_baseline_keeps_covariances_of_exogenous_variables(text):
    graph = bf.parse(text)
    d, k = len(graph), len(EXOGENOUS[text])
    rng = np.random.default_rng(1)
    S = np.cov(rng.standard_normal((60, d)), rowvar=False)
    fit = bf.fit(graph, cov=S, n=60, ddof=0)
    assert fit.indices.baseline_df == d * (d - 1) // 2 - k * (k - 1) // 2
    Sigma = np.diag(np.diag(S))
    block = np.ix_(*[[graph.nodes.index(name) for name in sorted(EXOGENOUS[text])]] * 2)
    Sigma[block] = S[block]
    chi2 = 60 * (np.linalg.slogdet(Sigma)[1] + np.trace(np.linalg.solve(Sigma, S)) - d)
    chi2 -= 60 * np.linalg.slogdet(S)[1]
    assert fit.indices.baseline_chi2 == pytest.approx(chi2)


# --- tables with missing cells ---


def incomplete_table(case, kind):
    return read_columns(FOLDER / "incomplete" / f"{case['id']}-{kind}.csv")


def check_incomplete(case, name, *, estimates, errors, rel, **options):
    """Compare: estimates in units of their standard errors plus their size, errors as ratios."""
    graph = bf.MixedGraph(case["names"], case["directed"], case["bidirected"])
    data = incomplete_table(case, "missing" if "missing" in options else "complete")
    # lavaan's texts write all covariances, so that its baseline model keeps none of them.
    fit, answer = bf.fit(graph, data, baseline="independence", **options), case[name]
    assert fit.converged
    theirs = {(lhs, op, rhs): numbers for lhs, op, rhs, *numbers in answer["estimates"]}
    rows = fit.estimates()
    expected, se = np.array([theirs.get(row.lavaan) or theirs[row.lavaan[::-1]] for row in rows]).T
    found = [row.estimate for row in rows]
    assert_allclose(found, expected, rtol=estimates, atol=estimates * se.min())
    assert_allclose([row.se for row in rows], se, rtol=errors)
    if fit.df:
        # The SRMR includes means here.
        measures = {key: value for key, value in answer["fit"].items() if key != "srmr"}
        if name.startswith("fiml"):  # lavaan's search for this end stops at 1e-3
            upper = measures.pop("rmsea.ci.upper.robust")
            assert fit.scaled.rmsea_upper == pytest.approx(upper, abs=2e-3)
        check_measures(fit, measures, rel=rel, atol=rel)
    elif fit.scaled and "missing" not in options:
        assert fit.chi2_scaled == pytest.approx(0, abs=1e-9)
    return fit, answer["fit"]


@pytest.mark.parametrize("case", INCOMPLETE, ids=case_id)
@pytest.mark.parametrize(("name", "options"), [("ml", {}), ("mlm", ROBUST), ("mlr", HUBER_WHITE)])
def test_complete_rows(case, name, options):
    fit, answer = check_incomplete(case, name, estimates=2e-4, errors=1e-5, rel=1e-5, **options)
    assert_allclose(fit.loglik, answer["logl"], rtol=1e-9)


@pytest.mark.parametrize("case", INCOMPLETE, ids=case_id)
def test_saturated_moments(case):
    moments = bf.moments(incomplete_table(case, "missing"), missing="two-stage")
    mean, cov = np.array(case["saturated"]["mean"]), np.array(case["saturated"]["cov"])
    # lavaan has the variables in the order of its model; their means identify them.
    d = len(mean)
    order = min(permutations(range(d)), key=lambda o: np.abs(moments.mean[list(o)] - mean).max())
    assert_allclose(moments.mean[list(order)], mean, atol=1e-4)
    assert_allclose(moments.S[np.ix_(order, order)], cov, atol=2e-4 * np.abs(cov).max())


@pytest.mark.parametrize("case", INCOMPLETE, ids=case_id)
@pytest.mark.parametrize(("name", "options"), [("fiml", {}), ("fiml_mlr", HUBER_WHITE)])
def test_full_information(case, name, options):
    options = options | {"missing": "fiml", "estimates": 1e-4, "errors": 1e-4, "rel": 1e-4}
    fit, answer = check_incomplete(case, name, **options)
    assert_allclose(fit.loglik, answer["logl"], rtol=1e-8)
    if fit.df:
        assert_allclose([fit.chi2, fit.p_value], [answer["chisq"], answer["pvalue"]], rtol=1e-5)
    assert_allclose(fit.srmr, answer["srmr"], atol=2e-5)
    # The first stage is not below lavaan's.
    saturated, theirs = fit.loglik + fit.chi2 / 2, answer["unrestricted.logl"]
    assert saturated >= theirs - 1e-9 * abs(theirs)
    assert_allclose(saturated, theirs, rtol=1e-6)


@pytest.mark.parametrize("case", INCOMPLETE, ids=case_id)
def test_two_stages(case):
    options = {"missing": "two-stage", "estimates": 1e-3, "errors": 2e-4, "rel": 1e-3}
    fit, answer = check_incomplete(case, "twostage", **options)
    assert (fit.se, fit.test) == ("robust", "satorra-bentler")
    assert_allclose(fit.loglik, answer["logl"], rtol=1e-4)


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
