"""Independence of errors: statistic, exclusion of members, refusals."""

import numpy as np
import pytest

import bowfree as bf
from bowfree.equivalence.error_pairs import ClassErrors, _means, functions_of
from bowfree.errors import BowfreeError, DataError
from twins import graph_matrices

CHAIN = bf.parse("x -> y -> z")
MIXED = bf.parse("a -> b -> c -> d, b <-> d, a <-> e, e -> d")


def rows_of(graph, n, seed, distribution="exponential"):
    """Rows of a linear model with independent errors and hidden causes of one distribution."""
    draw = getattr(np.random.default_rng(seed), distribution)
    e = draw(size=(n, len(graph)))
    for a, b in graph.bidirected:
        e[:, [graph.nodes.index(a), graph.nodes.index(b)]] += draw(size=(n, 1))
    return e @ np.linalg.inv(np.eye(len(graph)) - 0.8 * graph_matrices(graph)[0]).T


def frame(graph, X):
    return dict(zip(graph.nodes, X.T, strict=True))


def standardized(X):
    X = X - X.mean(axis=0)
    return X / X.std(axis=0)


def parents_of(graph):
    return [np.flatnonzero(row).tolist() for row in graph_matrices(graph)[0]]


def model_rows(graph, n, seed):
    """Rows whose covariance matrix is exactly that of a fit of the graph."""
    X = standardized(rows_of(graph, n, seed))
    Sigma = bf.fit(graph, X).Sigma
    white = np.linalg.solve(np.linalg.cholesky(X.T @ X / n), X.T)
    return (np.linalg.cholesky(Sigma) @ white).T


# --- the statistic ---


def test_coefficients_are_those_of_the_fits_of_all_members():
    X = standardized(rows_of(MIXED, 300, 1))
    errors = ClassErrors(X, MIXED)
    for member in bf.equivalence_class(MIXED):
        B = bf.fit(member, X).B
        index = errors.equations_of(parents_of(member))
        rows = np.array([errors.equations[k].row for k in index])
        np.testing.assert_allclose(rows, np.eye(len(B)) - B, atol=1e-6)  # of fits: correlations


@pytest.mark.parametrize("graph", [CHAIN, MIXED, bf.parse("x -> y -> z <- x")])
def test_influence_is_the_derivative_of_the_fit(graph):
    X = model_rows(graph, 200, 2)
    S = X.T @ X / len(X)
    errors = ClassErrors(X, graph)
    index = errors.equations_of(parents_of(graph))
    step = 1e-4
    for r in (0, 7, 50):
        moved = [
            bf.fit(graph, cov=S + s * (np.outer(X[r], X[r]) - S), n=200, ddof=0).B
            for s in (step, -step)
        ]
        slope = (moved[0] - moved[1]) / (2 * step)
        for i, k in enumerate(index):
            parents = list(errors.equations[k].parents)
            expected = errors.error(k).influence[:, r]
            np.testing.assert_allclose(slope[i, parents], expected, rtol=1e-3, atol=1e-4)


def test_slopes_of_the_means_are_derivatives():
    X = standardized(rows_of(CHAIN, 300, 3))
    errors = ClassErrors(X, CHAIN)
    x, y = (errors.error(k) for k in errors.equations_of(parents_of(CHAIN))[1:])
    _, D, V = _means(x.functions, y.functions, x.parents, y.parents)
    f, g = x.functions.values, y.functions.values
    pairs = [(0, 1), (0, 2), (1, 0), (2, 0), (1, 1)]
    expected = [[np.mean(f[a] * f[c]) * np.mean(g[b] * g[d]) for c, d in pairs] for a, b in pairs]
    np.testing.assert_allclose(V, expected)

    def mean(s):
        moved = functions_of(x.values - s * x.parents[0])
        return _means(moved, y.functions, x.parents, y.parents)[0].mean(axis=1)

    # The scale and the centers are estimated; under independence they have no influence.
    slope = (mean(1e-5) - mean(-1e-5)) / 2e-5
    np.testing.assert_allclose(D[:, 0], slope, atol=0.1)


def test_covariance_of_the_means_is_that_of_samples():
    # The statistic has mean 4 if the covariance matrix is right, and less than 3 with the
    # estimated coefficients but without their influence (which removes a part of the variation).
    found = []
    for seed in range(120):
        X = rows_of(CHAIN, 500, seed, "exponential")
        found += [row.chi2 for row in bf.independence_tests(CHAIN, frame(CHAIN, X))]
    assert 3.3 < np.mean(found) < 4.4


@pytest.mark.parametrize(
    "distribution", ["exponential", "standard_normal", "uniform", "laplace", "lognormal"]
)
def test_size_and_power(distribution):
    true = wrong = 0
    for seed in range(80):
        data = frame(CHAIN, rows_of(CHAIN, 300, seed, distribution))
        true += bf.independence_tests(CHAIN, data).p_value < 0.05
        wrong += bf.independence_tests(bf.parse("x <- y <- z"), data).p_value < 0.05
    assert true <= 8  # binomial(80, .05): exceeded with probability .02
    if distribution in ("exponential", "lognormal"):
        assert wrong == 80
    if distribution == "uniform":
        assert wrong > 30
    if distribution == "standard_normal":
        assert wrong <= 8


def test_equivariance():
    X = rows_of(MIXED, 400, 5)
    tests = bf.independence_tests(MIXED, frame(MIXED, X))
    scaled = bf.independence_tests(MIXED, frame(MIXED, X * 2.0 ** np.array([3, -8, 0, 20, 1])))
    assert scaled.rows == tests.rows  # bit for bit
    order = [3, 1, 4, 0, 2]
    other = MIXED.reorder([MIXED.nodes[k] for k in order])
    rows = np.random.default_rng(0).permutation(400)
    changes = [
        (MIXED, X * [1, -1, 1, -1, -1]),
        (MIXED, X + 1000.0),
        (MIXED, X[rows]),
        (other, X[:, order]),
    ]
    expected = {frozenset((r.a, r.b)): (r.chi2, r.p_scale) for r in tests}
    for graph, changed in changes:
        for r in bf.independence_tests(graph, frame(graph, changed)):
            both = expected[frozenset((r.a, r.b))]
            np.testing.assert_allclose((r.chi2, r.p_scale), both, rtol=1e-6)


# --- classes ---


def test_exclusion_agrees_with_tests_of_single_graphs():
    data = frame(MIXED, rows_of(MIXED, 1000, 7))
    found = bf.exclude_members(MIXED, data)
    assert not found.reason
    assert 0 < found.n_excluded < found.before.size
    assert MIXED in found.members
    fewest = min(sum(m == "<->" for _, m, _ in g.edges) for g in found.before)
    n_pairs = 10 - fewest
    for member in found.before:
        smallest = min(row.p_value for row in bf.independence_tests(member, data))
        assert (member in found.members) == (smallest >= 0.05 / n_pairs)


def test_remaining_members_are_a_class():
    data = frame(CHAIN, rows_of(CHAIN, 1000, 1))
    result = bf.greedy_search(data, rng=1)
    found = bf.exclude_members(bf.equivalence_class(result))
    assert found.resolved == ["x o-> y", "y -> z"]
    assert list(found.to_frame()["after"]) == ["o->", "->"]
    bounds, before = (bf.effect_bounds(c) for c in (found.members, found.before))
    assert (bounds.n_members, before.n_members) == (2, 5)
    effect = bounds.effect(of="y", on="z")
    assert effect.lower == effect.upper > 0 == before.effect(of="y", on="z").lower
    assert found.to_dict()["n_excluded"] == 3
    assert "exclude 3 of 5" in str(found)


def test_components_are_tested_separately():
    graph = bf.MixedGraph(list("abcdef"), directed=[("a", "b"), ("c", "d"), ("e", "f")])
    data = frame(graph, rows_of(graph, 800, 4))
    found = bf.exclude_members(graph, data)
    assert (found.before.size, found.members.size) == (27, 8)
    assert found.resolved == ["a o-> b", "c o-> d", "e o-> f"]
    skipped = bf.exclude_members(bf.equivalence_class(graph), data, limit=2)
    assert (skipped.n_excluded, len(skipped.warnings)) == (0, 3)


def test_gaussian_data_exclude_nothing_beyond_the_level():
    excluded = 0
    for seed in range(60):
        data = frame(CHAIN, rows_of(CHAIN, 300, seed, "standard_normal"))
        found = bf.exclude_members(CHAIN, data)
        excluded += found.n_excluded > 0
    assert excluded <= 3


def test_elliptical_errors_exclude_nothing():
    excluded = reasons = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        scale = np.sqrt(5 / rng.chisquare(5, (1000, 1)))
        data = frame(CHAIN, rows_of(CHAIN, 1000, seed, "standard_normal") * scale)
        found = bf.exclude_members(CHAIN, data)
        excluded += found.n_excluded > 0
        reasons += "scale" in found.reason
    assert (excluded, reasons) == (0, 40)


def test_nonlinear_effects():
    rng = np.random.default_rng(1)
    x, u = rng.uniform(-1, 2, 600), rng.uniform(-1, 1, 600)
    found = bf.exclude_members(bf.parse("x -> y"), {"x": x, "y": x**2 + u / 2})
    assert [str(graph) for graph in found.members] == ["x <-> y"]
    assert "nonlinear effect of x on y" in found.warnings[0]
    assert "two variables leave nothing to check" in found.warnings[1]
    # A hidden cause is not explained by a curve.
    h, a, b = rng.exponential(size=(3, 2000))
    found = bf.exclude_members(bf.parse("x -> y"), {"x": h + a / 2, "y": h + b / 2})
    assert [str(graph) for graph in found.members] == ["x <-> y"]
    assert len(found.warnings) == 1


def test_nothing_is_excluded_if_every_member_is_rejected():
    # x and z are dependent given y in a way that no graph with two edges explains.
    rng = np.random.default_rng(2)
    x, u = rng.exponential(size=(2, 1000))
    y = x + u
    found = bf.exclude_members(
        CHAIN, {"x": x, "y": y, "z": y + (x - 1) ** 2 * rng.normal(size=1000)}
    )
    assert found.n_excluded == 0
    assert "every equivalent graph" in found.reason


def test_nothing_is_excluded_if_every_arrow_is_rejected():
    rng = np.random.default_rng(1)
    x, u, v = rng.uniform(-1, 2, (3, 1000))
    y = x**2 + u / 2
    found = bf.exclude_members(bf.parse("x -> y <- z"), {"x": x, "y": y + v**2, "z": v})
    assert found.n_excluded == 0
    assert "every direct effect" in found.reason


def test_hidden_causes_remain_if_what_they_imply_is_not_rejected():
    e = np.random.default_rng(4).exponential(size=(6, 1000))
    data = {"x": e[0] + e[3], "y": e[1] + e[3] + e[4], "z": e[2] + e[4]}
    found = bf.exclude_members(bf.parse("x -> y <- z"), data)
    assert [*found.members] == [bf.parse("x <-> y <-> z")]
    data["x"], data["z"] = data["x"] + e[5], data["z"] + e[5]
    found = bf.exclude_members(bf.parse("x -> y <- z <- x"), data)  # nothing could be tested
    assert found.n_excluded == 0
    assert "every direct effect" in found.reason


def test_a_result_uses_its_holdout_rows():
    data = frame(CHAIN, rows_of(CHAIN, 1000, 3))
    result = bf.greedy_search(data, holdout=0.4, rng=1)
    assert bf.independence_tests(result).n == 400


# --- how much there is to learn ---


def test_nongaussianity():
    rng = np.random.default_rng(1)
    n = 2000
    data = {
        "skewed": rng.exponential(size=n),
        "flat": rng.uniform(size=n),
        "normal": rng.normal(size=n),
    }
    found = bf.nongaussianity(bf.MixedGraph(list(data)), data)
    skewed, flat, normal = found
    assert found.not_normal == ["skewed", "flat"]
    # Direction needs fewer rows than a hidden cause, and skewness helps.
    assert skewed.rows_direction < flat.rows_direction < flat.rows_hidden
    assert skewed.rows_direction < skewed.rows_hidden < flat.rows_hidden
    assert np.isnan(normal.rows_direction)
    assert "2 of 3 variables" in found.hint()
    assert bf.nongaussianity(bf.MixedGraph(["normal"]), data).hint() == ""


def test_predicted_number_of_rows_has_the_predicted_power():
    rng = np.random.default_rng(3)
    e = rng.exponential(size=5000)
    data = {"x": e, "y": rng.normal(size=5000)}
    n = int(bf.nongaussianity(bf.MixedGraph(["x", "y"]), data)[0].rows_hidden)
    rejected = 0
    for _ in range(60):
        h, a, b = rng.exponential(size=(3, n))
        test = bf.independence_tests(bf.parse("x -> y"), {"x": h + a, "y": h + b})
        rejected += test.p_value < 0.05
    assert rejected > 30


# --- refusals ---


def table(n=200, seed=0):
    return frame(CHAIN, rows_of(CHAIN, n, seed))


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (table(50), {}, "50 rows are too few"),
        ({**table(), "y": np.round(table()["y"])}, {}, "'y' has"),
        ({**table(), "z": np.maximum(table()["z"], 2.0)}, {}, "'z' has"),
        (
            {**table(), "z": np.where(np.arange(200) < 5, np.nan, table()["z"])},
            {"missing": "fiml"},
            "missing",
        ),
        (table(), {"weights": np.linspace(1, 2, 200)}, "weighted"),
        (table(), {"correlation": "spearman"}, "Spearman"),
        (table(), {"shrinkage": 0.1}, "multiplied"),
        (table() | {"x": np.repeat(list("abcd"), 50)}, {"nominal": ["x"]}, "nominal"),
        (table() | {"x": np.arange(200) % 5}, {"ordinal": ["x"]}, "these data are"),
        (None, {"cov": np.eye(3) + 0.3, "n": 500}, "covariance matrix"),
    ],
)
def test_refused_data(data, options, message):
    moments = bf.moments(data, **options) if data is not None else bf.moments(**options)
    if "cov" in options:
        moments = bf.Moments(CHAIN.nodes, moments.S, 500)
    for function in (bf.independence_tests, bf.exclude_members, bf.nongaussianity):
        with pytest.raises(DataError, match=message):
            function(CHAIN, moments)


def test_refused_conditions_graphs_and_classes():
    with pytest.raises(DataError, match="pass data"):
        bf.independence_tests(CHAIN)
    with pytest.raises(DataError, match="several conditions"):
        bf.exclude_members(CHAIN, [bf.Condition(table()), bf.Condition(table(seed=1))])
    with pytest.raises(BowfreeError, match="empirical"):
        bf.exclude_members(bf.empirical_class(CHAIN, table()), table())
    with pytest.raises(BowfreeError, match="level"):
        bf.exclude_members(CHAIN, table(), level=2)
