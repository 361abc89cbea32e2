"""Ordered categories: against lavaan, against slow twins, against simulation; missing values."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import ndtr
from scipy.stats import norm

import bowfree as bf
from bowfree.data.ordinal import MixedRows, binormal_cdf, binormal_density

FOLDER = Path(__file__).parents[1] / "reference" / "ordinal"
CASES = json.loads((FOLDER / "correlations.json").read_text())["cases"]
R = np.array([[1.0, 0.6, 0.3], [0.6, 1.0, -0.2], [0.3, -0.2, 1.0]])
CUTS = ([-0.5, 0.8], [-1.0, 0.0, 1.0], [0.2])
CHAIN = bf.parse("a -> b -> c")


def normal_rows(n, seed):
    return np.random.default_rng(seed).multivariate_normal(np.zeros(3), R, size=n)


def categories(Z):
    return np.column_stack([np.digitize(z, cuts) for z, cuts in zip(Z.T, CUTS, strict=True)])


def frame(n=400, seed=1):
    return pd.DataFrame(categories(normal_rows(n, seed)), columns=list("abc"))


def polychoric(x, y):
    """Return the correlation of two columns of categories, and the influence of each row."""
    rows = MixedRows(np.column_stack([x, y]).astype(float), (True, True))
    return rows.estimates[0][0], rows.estimates[1][:, 0]


def test_smallest_example():
    # Margins of one half each, and a share of 1/3 in each agreeing cell: sin(30 degrees).
    x = [0, 0, 0, 1, 1, 1]
    y = [0, 0, 1, 0, 1, 1]
    assert_allclose(polychoric(x, y)[0], 0.5, atol=1e-9)


@pytest.mark.parametrize("r", [0.0, 0.3, -0.7, 0.95, -0.99, 0.9999])
def test_distribution_function_and_its_slow_twin(r):
    def slow(h, k):
        inside = [k / r] if r and -38 < k / r < h else None
        return quad(
            lambda x: norm.pdf(x) * ndtr((k - r * x) / np.sqrt(1 - r * r)),
            -38, h, points=inside, epsabs=1e-13, epsrel=1e-12, limit=300,
        )[0]  # fmt: skip

    points = [(-2.0, 0.3), (0.5, 0.5), (0.5, 0.51), (1.7, -1.2), (0.0, 0.0)]
    h, k = np.array(points).T
    assert_allclose(binormal_cdf(h, k, r), [slow(*point) for point in points], atol=1e-11)
    inf = np.array([np.inf, -np.inf])
    assert_allclose(binormal_cdf(inf, np.array(0.3), r), [ndtr(0.3), 0], atol=1e-15)


def test_density_is_plackets_derivative():
    h, k = np.array([-0.4, 1.0]), np.array([0.3, 0.9])
    slope = (binormal_cdf(h, k, 0.5 + 1e-6) - binormal_cdf(h, k, 0.5 - 1e-6)) / 2e-6
    assert_allclose(binormal_density(h, k, 0.5), slope, rtol=1e-6)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_reference(case):
    _, *rows = csv.reader((FOLDER / f"{case['id']}.csv").read_text().splitlines())
    data = MixedRows(np.array(rows, dtype=float), tuple(k == "ordinal" for k in case["kinds"]))
    found = data.correlations()
    assert_allclose(found, case["lavCor"], atol=1e-6)
    # polycor divides variances by n - 1, and its thresholds are rounded.
    assert_allclose(found, case["hetcor_two_step"], atol=1e-3)
    # Its standard errors take the thresholds for known.
    errors = np.sqrt(np.mean(data.estimates[1] ** 2, axis=0) / data.n_rows)
    theirs = np.array(case["hetcor_two_step_se"])[np.tril_indices(5, -1)]
    assert_allclose(errors, theirs, rtol=0.25)


def test_influences_of_categories_and_their_slow_twin():
    # A table as the model has it, so that expected and observed information agree; what leaving
    # out a row of each cell changes, times n - 1, is its influence but for terms of order 1/n.
    a, b = np.array([-np.inf, -0.5, 0.8, np.inf]), np.array([-np.inf, -1.0, 0.0, 1.0, np.inf])
    corners = binormal_cdf(a[:, None], b[None], 0.5)
    counts = np.round(20_000 * np.diff(np.diff(corners, axis=0), axis=1)).astype(int)
    x, y = np.repeat(np.argwhere(counts > 0), counts[counts > 0], axis=0).T
    r, influence = polychoric(x, y)
    for k in np.concatenate([[0], np.cumsum(counts[counts > 0])[:-1]]):
        one_less, _ = polychoric(np.delete(x, k), np.delete(y, k))
        assert_allclose((len(x) - 1) * (r - one_less), influence[k], atol=0.02)


@pytest.mark.parametrize("ordinal", [(False, True, True), (True, False, False)])
def test_gamma_is_the_covariance_over_samples(ordinal):
    def rows(seed):
        Z = normal_rows(400, seed) * [1, 2, 3]
        codes = categories(Z / [1, 2, 3])
        return MixedRows(np.where(ordinal, codes, Z), ordinal)

    drawn = [rows(seed) for seed in range(100)]
    place = np.tril_indices(3)
    over_samples = 400 * np.cov([rows.covariance()[0][place] for rows in drawn], rowvar=False)
    gamma = np.mean([rows.gamma() for rows in drawn[:30]], axis=0)
    scale = np.sqrt(np.outer(np.diag(over_samples), np.diag(over_samples))) + 1e-9
    # 100 samples know a variance to 14 %, and a correlation to .1.
    assert_allclose(gamma / scale, over_samples / scale, atol=0.4)


def test_declared_by_name_or_by_the_frame():
    codes = frame()
    labels = ["low", "middle", "high"]
    declared = codes.assign(
        a=pd.Categorical.from_codes(codes.a, labels, ordered=True),
        b=pd.Categorical.from_codes(codes.b, list("wxyz"), ordered=True),
    )
    by_name = bf.moments(codes, ordinal=["a", "b"])
    by_frame = bf.moments(declared)
    assert_array_equal(by_frame.S, by_name.S)
    note = "ordered categories: 'a', 'b'; their variances are set to one"
    assert by_frame.notes == by_name.notes == (note,)
    polars = pl.DataFrame(
        {
            "a": pl.Series([labels[k] for k in codes.a], dtype=pl.Enum(labels)),
            "b": codes.b.to_numpy(),
            "c": codes.c.to_numpy(),
        }
    )
    assert_array_equal(bf.moments(polars, ordinal=["b"]).S, by_name.S)
    more = declared.assign(a=declared.a.cat.add_categories(["huge"]))
    assert "'a' has no rows of category 'huge'" in bf.moments(more).notes


def test_fit_chooses_the_sandwich_and_recovers_effects():
    sem = bf.LinearSEM(CHAIN, [[0, 0, 0], [0.8, 0, 0], [0, -0.7, 0]], np.eye(3)).standardized()
    Z = sem.sample(4000, rng=1)
    data = pd.DataFrame(categories(Z), columns=list("abc"))
    fit = bf.fit(CHAIN, data, ordinal=list("abc"))
    assert (fit.se, fit.test) == ("robust", "satorra-bentler")
    assert_allclose(fit.B, sem.B, atol=0.06)
    naive = bf.fit(CHAIN, data).standardized().B
    assert abs(naive[1, 0]) < abs(sem.B[1, 0]) - 0.08  # few categories dilute
    assert fit.moments.n < 4000
    assert fit.total_effects().effect(of="a", on="c").se > 0


@pytest.mark.parametrize("words", [{"ordinal": ["a", "b"]}, {"correlation": "spearman"}])
def test_a_variance_that_is_set_to_one_has_no_error(words):
    data = frame().assign(c=1e6 * normal_rows(400, 1)[:, 2])
    fit = bf.fit(CHAIN, data, **words)
    found = {e.lavaan[::2]: e for e in fit.estimates()}
    assert found["a", "a"].estimate == pytest.approx(1)
    assert found["a", "a"].se == 0
    assert np.isnan([found["a", "a"].z, found["a", "a"].p_value]).all()
    others = [e for e in fit.estimates() if e.edge != ("a", "variance", "a")]
    assert all(e.se > 1e-3 * abs(e.estimate) for e in others)


def test_an_empty_cell_of_two_by_two_gets_half_a_row():
    x = np.repeat([0, 0, 1, 1], [30, 20, 0, 50])
    y = np.repeat([0, 1, 0, 1], [30, 20, 0, 50])
    assert 0.8 < polychoric(x, y)[0] < 0.98
    assert_allclose(polychoric(x, 1 - y)[0], -polychoric(x, y)[0], atol=1e-9)


same = frame().assign(b=lambda t: t.a)
BAD = {
    "many values": (frame().assign(a=np.arange(400.0)), ["a"], "ordinal column 'a' has more than"),
    "same order": (same, ["a", "b"], "'b' and 'a': their polychoric correlation is 1 or -1"),
    "text": (frame().assign(a="x"), ["a"], "non-numeric column 'a'"),
    "missing values": (
        frame().astype(float).where(lambda t: t > 0),
        ["a"],
        "with ordered categories; use",
    ),
}


@pytest.mark.parametrize(("data", "ordinal", "message"), BAD.values(), ids=BAD)
def test_bad_input(data, ordinal, message):
    with pytest.raises(bf.errors.DataError, match=message):
        bf.moments(data, ordinal=ordinal, missing="fiml")


# --- missing values ---


def incomplete_rows(n, seed, ordinal=(True, True, False, False)):
    """Two columns of categories and two of numbers, a quarter of the values missing."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 4)) @ np.linalg.cholesky(0.4 + 0.6 * np.eye(4)).T
    X = np.column_stack(
        [np.digitize(Z[:, 0], [-0.5, 0.3, 1.0]), Z[:, 1] > 0.2, Z[:, 2], 3 * Z[:, 3]]
    )
    X[rng.random(X.shape) < 0.25] = np.nan
    return MixedRows(X, ordinal)


def slow_pair(first, second):
    """Maximize the likelihood of one correlation; each is (column, whether it is ordinal)."""
    rows = ~np.isnan(first[0]) & ~np.isnan(second[0])
    known = []
    for column, ordinal in (first, second):
        own = column[~np.isnan(column)]
        if ordinal:
            values, counts = np.unique(own, return_counts=True)
            t = np.array([-np.inf, *norm.ppf(np.cumsum(counts)[:-1] / len(own)), np.inf])
            k = np.searchsorted(values, column[rows])
            known.append((t[k], t[k + 1]))
        else:
            known.append((column[rows] - own.mean()) / own.std())
    x, y = known

    def loss(r):
        c = np.sqrt(1 - r * r)
        if first[1]:
            corners = [binormal_cdf(p, q, r) * (-1) ** (u + v)
                       for u, p in enumerate(x) for v, q in enumerate(y)]  # fmt: skip
            return -np.log(sum(corners)).sum()
        if second[1]:
            lower, upper = (ndtr((t - r * x) / c) for t in y)
            return -np.log(upper - lower).sum()
        return (np.log(c) + (x**2 - 2 * r * x * y + y**2) / (2 * c**2)).sum()

    found = minimize_scalar(loss, bounds=(-0.9, 0.9), method="bounded", options={"xatol": 1e-8})
    return found.x


@pytest.mark.parametrize("pair", [(1, 0), (2, 0), (3, 2)])
def test_pairs_use_all_rows_in_which_both_are_observed(pair):
    rows = incomplete_rows(300, 1)
    slow = slow_pair(*((rows.X[:, k], rows.ordinal[k]) for k in pair))
    assert_allclose(rows.correlations()[pair], slow, atol=1e-5)


def test_influences_of_incomplete_rows_and_their_slow_twin():
    n = 2000
    rows = incomplete_rows(n, 2)
    r, influence = rows.estimates
    some = range(0, n, 50)
    left = [MixedRows(np.delete(rows.X, k, axis=0), rows.ordinal).estimates[0] for k in some]
    jackknife = (n - 1) * (r - np.array(left))
    for slow, quick in zip(jackknife.T, influence[some].T, strict=True):
        # The information of numbers with categories is the mean of squared scores: within 1/sqrt(n).
        slope = (slow * quick).sum() / (slow**2).sum()
        assert_allclose(slope, 1.0, atol=0.1)
        assert np.corrcoef(slow, quick)[0, 1] > 0.99


def test_fit_of_incomplete_categories():
    table = pd.DataFrame(incomplete_rows(500, 3).X, columns=list("abcd"))
    options = {"ordinal": ["a", "b"], "missing": "pairwise"}
    moments = bf.moments(table, **options)
    assert "25 % of values missing" in repr(moments)
    whole = bf.moments(table.dropna(), ordinal=["a", "b"])
    assert whole.n < moments.n < moments.n_rows == 497
    narrow, wide = (
        bf.fit(bf.parse("a -> b -> c -> d"), m, se="robust").edge("b -> c").se
        for m in (moments, whole)
    )
    assert narrow < wide
    assert bf.bootstrap_fit(bf.parse("a -> b"), table[["a", "b"]], n_bootstrap=40, rng=1, **options)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {}, "missing='pairwise' uses all observed values"),
        ({}, {"missing": "fiml"}, "use missing='pairwise'"),
        ({}, {"missing": "pairwise", "ordinal": ()}, "with numbers; use missing='fiml'"),
        ({"a": np.nan}, {"missing": "pairwise"}, "empty column 'a'"),
        (
            {"b": lambda t: t.b.where(t.a.isna()), "c": lambda t: t.c.where(t.a.notna())},
            {"missing": "pairwise"},
            "'a' and 'b', 'b' and 'c': observed together in fewer than two rows",
        ),
    ],
)
def test_missing_values_that_cannot_be_used(change, options, message):
    table = pd.DataFrame(incomplete_rows(60, 4).X, columns=list("abcd")).assign(**change)
    with pytest.raises(bf.errors.DataError, match=message):
        bf.moments(table, **{"ordinal": ["a"], **options})
