"""Agreement with lavaan on real tables: ``tests/reference/real.json``.

The file has moments of the tables and lavaan's answers. Rows are needed for missing values, the
bootstrap and clusters only; those tests are skipped without a folder ``shared`` beside the checkout.
"""

import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bowfree as bf
from bowfree.model.inference import Resamples

REFERENCE = Path(__file__).parents[1] / "reference" / "real.json"
CASES = {case["id"]: case for case in json.loads(REFERENCE.read_text())["cases"]}
BOOTSTRAP = json.loads((REFERENCE.parent / "lavaan_bootstrap.json").read_text())["cases"]
TABLES = Path(__file__).parents[3] / "shared" / "reference" / "real"
needs_rows = pytest.mark.skipif(not TABLES.is_dir(), reason="the tables are not in the repository")

INDICES = {
    "chisq": "chi2",
    "df": "df",
    "pvalue": "p_value",
    "baseline.chisq": "baseline_chi2",
    "baseline.df": "baseline_df",
    "cfi": "cfi",
    "tli": "tli",
    "rmsea": "rmsea",
    "rmsea.ci.lower": "rmsea_lower",
    "rmsea.ci.upper": "rmsea_upper",
    "rmsea.pvalue": "rmsea_p_close",
    "srmr": "srmr",
}
SCALED = {
    "chisq.scaled": "chi2",
    "pvalue.scaled": "p_value",
    "chisq.scaling.factor": "scaling_factor",
    "baseline.chisq.scaled": "baseline_chi2",
    "cfi.robust": "cfi",
    "tli.robust": "tli",
    "rmsea.robust": "rmsea",
}
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


def table(case):
    """Read the columns of a model; an empty cell is NaN."""
    header, *rows = csv.reader((TABLES / f"{case['table']}.csv").read_text().splitlines())
    cells = [[row[header.index(name)] for name in case["names"]] for row in rows]
    values = np.array(
        [[float(c) if c not in ("", "NA") else math.nan for c in row] for row in cells]
    )
    return dict(zip(case["names"], values.T, strict=True))


def complete(case):
    columns = table(case)
    kept = ~np.isnan(np.column_stack(list(columns.values()))).any(axis=1)
    return {name: column[kept] for name, column in columns.items()}


def check_measures(fit, answer):
    for theirs, ours in INDICES.items():
        if theirs in answer:
            assert getattr(fit.indices, ours) == near(answer[theirs]), theirs
    for theirs, ours in SCALED.items():
        if theirs in answer:
            assert getattr(fit.scaled, ours) == near(answer[theirs]), theirs


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
    header, *rows = csv.reader((TABLES / "twolevel.csv").read_text().splitlines())
    labels = [row[header.index("cluster")] for row in rows]
    answer = case["cluster"]
    for data, clusters in (
        (complete(case), labels),
        (complete(case) | {"school": np.array(labels, dtype=float)}, "school"),
    ):
        fit = bf.fit(model_of(case), data, clusters=clusters, fixed_x=True)
        # lavaan has a mean structure here, so that SRMR includes means.
        check_measures(fit, {k: v for k, v in answer["measures"].items() if k != "srmr"})
        check_estimates(fit, answer["estimates"])


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_modification_indices(case):
    ours = {}
    for row in fit_moments(case).modification_indices():
        key = (row.b, "~", row.a) if row.mark == "->" else (row.a, "~~", row.b)
        ours[key] = row
    theirs = {(lhs, op, rhs): numbers for lhs, op, rhs, *numbers in case["mi"]}
    both = ours.keys() & theirs.keys()
    assert len(both) >= len(theirs) / 4  # the others would make bows or cycles
    for key in both:
        assert [ours[key].index, ours[key].expected_change] == near(theirs[key]), key


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
