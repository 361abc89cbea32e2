"""Equal and fixed parameters, beside a general optimizer with numerical derivatives."""

import numpy as np
import pytest
from scipy.optimize import minimize

import bowfree as bf
from bowfree.formats.lavaan import read_lavaan
from command_line import run

rng = np.random.default_rng(3)
N = 300
x1 = rng.normal(size=N)
x2 = 0.6 * x1 + rng.normal(size=N)
x3 = 0.5 * x2 + 0.2 * x1 + rng.normal(size=N)
x4 = 0.8 * x3 + 0.5 * rng.normal(size=N) + 0.3 * x2
DATA = {"x1": x1, "x2": x2, "x3": x3, "x4": x4}
S = np.cov(np.column_stack([x1, x2, x3, x4]).T, bias=True)


def objective(B, Omega):
    A = np.eye(4) - B
    if np.linalg.eigvalsh(Omega)[0] <= 0:
        return np.inf
    return np.linalg.slogdet(Omega)[1] + np.trace(np.linalg.solve(Omega, A @ S @ A.T))


def chain(phi):
    """Equal effects of a chain, and a free covariance."""
    B = np.zeros((4, 4))
    B[1, 0] = B[2, 1] = phi[0]
    B[3, 2] = phi[1]
    Omega = np.diag(phi[2:6])
    Omega[0, 2] = Omega[2, 0] = phi[6]
    return B, Omega


def fixed(phi):
    """One effect fixed to a half, two equal variances, and a fixed covariance."""
    B = np.zeros((4, 4))
    B[1, 0], B[2, 1], B[3, 2] = 0.5, phi[0], phi[1]
    Omega = np.diag([phi[2], phi[3], phi[3], phi[4]])
    Omega[0, 2] = Omega[2, 0] = 0.1
    return B, Omega


CASES = {
    "equal effects": (
        "x1 ~~ x1; x2 ~ a*x1; x3 ~ a*x2; x4 ~ x3; x1 ~~ x3 + 0*x4",
        chain,
        [0.5, 0.5, 1, 1, 1, 1, 0],
    ),
    "fixed values": (
        "x1 ~~ x1; x2 ~ 0.5*x1; x3 ~ x2; x4 ~ x3; x1 ~~ 0.1*x3 + 0*x4; x2 ~~ v*x2; x3 ~~ w*x3; v == w",
        fixed,
        [0.5, 0.5, 1, 1, 1],
    ),
}


@pytest.mark.parametrize(("text", "model", "start"), CASES.values(), ids=CASES)
def test_beside_a_general_optimizer(text, model, start):
    read = read_lavaan(text)
    fit = bf.fit(read, DATA)

    def f(phi):
        return objective(*model(phi))

    best = minimize(f, start, method="Nelder-Mead", options={"maxiter": 20_000, "maxfev": 20_000,
                                                             "xatol": 1e-9, "fatol": 1e-13})  # fmt: skip
    B, Omega = model(best.x)
    assert fit.loglik == pytest.approx(-N / 2 * (4 * np.log(2 * np.pi) + best.fun), rel=1e-10)
    assert np.allclose(fit.B, B, atol=2e-6)
    assert np.allclose(fit.Omega, Omega, atol=2e-6)
    assert fit.converged
    assert fit.n_parameters == len(start)
    assert fit.indices.df == read.df == 10 - len(start)
    # Standard errors from the second differences of the objective.
    q, h = len(start), 1e-4
    unit = h * np.eye(q)
    H = np.array([[(f(best.x + u + v) - f(best.x + u - v) - f(best.x - u + v) + f(best.x - u - v))
                   / (4 * h * h) for v in unit] for u in unit])  # fmt: skip
    variances = np.diag(np.linalg.inv(N / 2 * H))
    errors = fit.standard_errors(information="observed")
    found = errors.B[3, 2], np.sqrt(variances[1])
    assert found[0] == pytest.approx(found[1], rel=1e-3)


def test_equal_in_python_is_equal_in_lavaan():
    graph = bf.parse("x1 -> x2 -> x3 -> x4, x1 <-> x3")
    fit = bf.fit(graph, DATA, equal=[["x1 -> x2", "x2 -> x3"]])
    model = read_lavaan(CASES["equal effects"][0])
    again = bf.fit(model, DATA)
    assert fit.loglik == pytest.approx(again.loglik, rel=1e-12)
    assert fit.edge("x1 -> x2").estimate == fit.edge("x2 -> x3").estimate
    assert fit.edge("x1 -> x2").se == pytest.approx(fit.edge("x2 -> x3").se, rel=1e-12)
    held = bf.fit(graph, DATA, fixed={"x3 -> x4": 0.8, "x1 <-> x3": 0.0})
    assert held.edge("x3 -> x4").estimate == 0.8
    assert held.edge("x3 -> x4").se == 0


def test_constraints_that_hold_change_nothing():
    graph = bf.parse("x1 -> x2 -> x3 -> x4")
    free = bf.fit(graph, DATA)
    b = free.edge("x1 -> x2").estimate
    same = bf.fit(graph, DATA, fixed={"x1 -> x2": b})
    assert same.loglik == pytest.approx(free.loglik, rel=1e-12)
    assert same.edge("x2 -> x3").se == pytest.approx(free.edge("x2 -> x3").se, rel=1e-9)
    assert same.indices.df == free.indices.df + 1


@pytest.mark.parametrize("factor", [2.0**20, 2.0**-20])
def test_units(factor):
    graph = bf.parse("x1 -> x2 -> x3 -> x4")
    equal = [["x1 -> x2", "x2 -> x3"]]
    fits = [
        bf.fit(graph, {name: k * x for name, x in DATA.items()}, equal=equal) for k in (1, factor)
    ]
    assert np.allclose(fits[0].B, fits[1].B, rtol=1e-8)
    assert fits[0].chi2 == pytest.approx(fits[1].chi2, rel=1e-7)


def test_robust_and_bootstrap_inference():
    """Standard errors of all kinds agree for normal data, and definitions use them."""
    model = read_lavaan("x2 ~ a*x1; x3 ~ a*x2; x4 ~ b*x3; x1 ~~ x3 + 0*x4; path := a*a*b")
    fits = {se: bf.fit(model, DATA, se=se, rng=1, n_bootstrap=300)
            for se in ("standard", "robust", "bootstrap")}  # fmt: skip
    errors = [fit.edge("x2 -> x3").se for fit in fits.values()]
    assert max(errors) < 1.25 * min(errors)
    paths = [model.defined(fit).parameter("path") for fit in fits.values()]
    assert len({round(path.estimate, 9) for path in paths}) == 1
    scaled = bf.fit(model, DATA, test="satorra-bentler")
    assert 0.8 < scaled.scaled.chi2 / scaled.chi2 < 1.25


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"equal": ["x1 -> x2"]}, "list of lists of edges"),
        ({"equal": [["x1 -> x2", "x1 -> x4"]]}, "no edge 'x1 -> x4'"),
        ({"fixed": {"x1 -> x2": "big"}}, "is not a number"),
        ({"fixed": {"x1 -> x2": 1.0, "x2 -> x3": 2.0}, "equal": [["x1 -> x2", "x2 -> x3"]]},
         "fixed to different values"),
        ({"equal": [["x1 -> x2", "x2 -> x3"]], "method": "ricf"}, "omit .*method='ricf'"),
    ],
)  # fmt: skip
def test_bad_constraints(options, message):
    with pytest.raises(bf.errors.BowfreeError, match=message):
        bf.fit(bf.parse("x1 -> x2 -> x3 -> x4"), DATA, **options)


def test_other_functions_refuse_constrained_models():
    model = read_lavaan("x2 ~ a*x1; x3 ~ a*x2")
    with pytest.raises(bf.errors.BowfreeError, match=r"apply to bf.fit"):
        bf.score(model, {name: DATA[name] for name in model.graph.nodes})


def test_command_line(tmp_path):
    text, table = tmp_path / "model.txt", tmp_path / "data.csv"
    text.write_text("x2 ~ a*x1\nx3 ~ a*x2\n")
    names = ("x1", "x2", "x3")
    rows = bf.datasets.Table(names, np.column_stack([DATA[name] for name in names]))
    table.write_text(bf.datasets.write_table(rows))
    shown = run("fit", table, "--graph-file", text, "--format", "lavaan").output
    assert "Free parameters" in shown
    assert f"{bf.fit(read_lavaan(text.read_text()), rows).chi2:.3f}" in shown
