"""The equations of a BAP, their text, and their tests on data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bowfree as bf
from bowfree.equivalence.equations import _gradient
from random_models import random_bap, random_parameters, sample_covariance
from twins import graph_matrices, implied_covariance


def population(rng, g):
    return implied_covariance(*random_parameters(rng, *graph_matrices(g)))


# -- the smallest example, drawn --

#        x1 -> x2 -> x3 -> x4        Figure 1 (b): x1, x3 are separated by x2, x1, x4 by nothing,
#               ^----<->---^         but x1 is uncorrelated with the error of x4.
VERMA = bf.parse("x1 -> x2 -> x3 -> x4 <-> x2")


def test_figure_1b():
    separation, verma = bf.constraints(VERMA)
    assert (separation.kind, separation.given) == ("partial correlation", ("x2",))
    assert str(separation) == "corr(x1, x3 | x2) = 0"
    assert (verma.a, verma.b, verma.kind) == ("x1", "x4", "Verma")
    assert "cov(x1, x4 - B[x4, x3] x3) = 0 (Verma type" in verma.text


# -- identities --


@given(seed=st.integers(0, 2**32), d=st.integers(2, 7))
@settings(max_examples=50, deadline=None)
def test_equations_hold_in_the_model_and_only_there(seed, d):
    rng = np.random.default_rng(seed)
    g = random_bap(rng, d, density=0.5)
    equations = bf.constraints(g)
    assert len(equations) == d * (d - 1) // 2 - g.n_edges
    Sigma = population(rng, g)
    # Correlations; the loss of digits grows with the condition of the systems solved.
    for equation in equations:
        assert abs(equation.value(Sigma)) < 1e-7
        if equation.kind == "partial correlation":
            assert g.m_separated(equation.a, equation.b, equation.given)
    if equations:
        bigger = g.add(bidirected=[(equations[0].a, equations[0].b)])
        assert abs(equations[0].value(population(rng, bigger))) > 1e-7


def test_equations_tell_the_figure_counterexample2_apart():
    a = bf.parse("x1 <-> x2 -> x3 -> x4 <-> x2, x3 -> x1")
    b = a.replace("x3 -> x1", "x1 -> x3")
    Sigma = population(np.random.default_rng(1), a)
    assert abs(bf.constraints(a)[0].value(Sigma)) < 1e-12
    assert abs(bf.constraints(b)[0].value(Sigma)) > 1e-3


# -- tests on data --


def test_a_partial_correlation_is_tested_by_fishers_z():
    S = np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 1.0]])
    (test,) = bf.constraint_tests(bf.parse("x -> y -> z"), cov=S, n=20)
    r = (0.5 - 0.25) / (1 - 0.25)  # of x and z given y
    assert test.statistic == pytest.approx(np.sqrt(20 - 1 - 3) * np.arctanh(r))


def test_gradient_by_differences():
    S = population(np.random.default_rng(5), VERMA.add("x1 <-> x4"))
    verma = bf.constraints(VERMA)[1]
    G = _gradient(verma, S)
    step = 1e-6
    for i in range(4):
        for j in range(i, 4):
            change = np.zeros((4, 4))
            change[i, j] = change[j, i] = step
            slope = (verma.value(S + change) - verma.value(S - change)) / (2 * step)
            assert np.trace(G @ change) / step == pytest.approx(slope, abs=1e-7)


def test_statistics_are_standard_normal_under_the_graph():
    rng = np.random.default_rng(11)
    Sigma = population(rng, VERMA)
    z = np.array(
        [
            [
                t.statistic
                for t in bf.constraint_tests(VERMA, cov=sample_covariance(rng, Sigma, 400), n=400)
            ]
            for _ in range(200)
        ]
    )
    # Means of 200 standard normals have sd .07, mean squares sd .1.
    assert np.abs(z.mean(axis=0)).max() < 0.28
    assert np.abs((z**2).mean(axis=0) - 1).max() < 0.4


def test_robust_statistics_are_standard_normal_whatever_the_errors():
    # Errors of Student's t that share their scale are uncorrelated, not independent: normal theory
    # takes their dependence for a broken equation.
    graph = bf.parse("x1 -> x2 -> x3 -> x4 <-> x2")
    sem = bf.random_sem(graph, rng=5)
    root, E = np.linalg.cholesky(sem.Omega), np.linalg.inv(np.eye(4) - sem.B)
    rng = np.random.default_rng(1)
    robust, standard = [], []
    for _ in range(300):
        scale = np.sqrt(6 / rng.chisquare(6, size=(400, 1)))
        data = (rng.normal(size=(400, 4)) * scale) @ (E @ root).T
        for se, kept in (("robust", robust), ("standard", standard)):
            kept.append([t.statistic for t in bf.constraint_tests(graph, data, se=se)])
    # 300 draws know a standard deviation to 4 %.
    assert np.all(np.abs(np.std(robust, axis=0) - 1) < 0.12)
    assert np.all(np.std(standard, axis=0) > 1.12)


def test_missing_values_choose_robust_tests():
    graph = bf.parse("x1 -> x2 -> x3")
    data = bf.random_sem(graph, rng=5).sample(300, rng=1)
    data[::3, 1] = np.nan
    tests = bf.constraint_tests(graph, data, missing="two-stage")
    by_name = bf.constraint_tests(graph, data, missing="two-stage", se="robust")
    assert tests[0].statistic == by_name[0].statistic
    assert tests.n == 300
    with pytest.raises(bf.BowfreeError, match="se = 'bootstrap': must be 'standard' or 'robust'"):
        bf.constraint_tests(graph, data, missing="two-stage", se="bootstrap")
