"""The paper's ROC curve and the simulation study, at a small size."""

import csv
import json
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import roc_auc_score

import bowfree as bf
from bowfree.studies import causal_effect_study, ordinary_auc, paper_roc

SMALL = {"d": 5, "n": 500, "restarts": 4, "rng": 3}

# 1 -> 2 is true. The estimate has it first, then a false 2 -> 3:
#   k = 1 calls nothing, k = 2 calls 1 -> 2, k = 3 calls both.
TRUTH = np.array([[0, 0, 0], [0.5, 0, 0], [0, 0, 0]])
ESTIMATE = np.array([[0, 0, 0], [0.4, 0, 0], [0, 0.3, 0]])

OFF = ~np.eye(4, dtype=bool)
# Few distinct values, so that there are ties.
effects = arrays(float, (4, 4), elements=st.sampled_from([0.0, 1e-9, 0.1, 0.2, 0.5, 1.0]))


def twin(truth, estimate):
    """Count pair by pair, as described in the paper."""
    d = len(truth)
    pairs = [(i, j) for i in range(d) for j in range(d) if i != j]
    ranked = sorted((estimate[p] for p in pairs), reverse=True)
    positives = [p for p in pairs if truth[p] > 1e-8]
    N = d * (d - 1) // 2
    points = []
    for k in range(1, N + 1):
        called = [p for p in pairs if estimate[p] > ranked[k - 1]]
        hits = sum(p in positives for p in called)
        points.append(((len(called) - hits) / N, hits / len(positives) if positives else 0.0))
    points.append((1.0, 1.0))
    area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))
    return points, area


def test_smallest_roc():
    curve = paper_roc(TRUTH, ESTIMATE)
    assert curve.tpr.tolist() == [0, 1, 1, 1]
    np.testing.assert_allclose(curve.fpr, [0, 0, 1 / 3, 1])
    assert (curve.auc, curve.n_positive) == (1.0, 1)
    # The false pair first: (0, 0), (1/3, 0), (1/3, 1), (1, 1).
    swapped = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.4, 0]])
    assert paper_roc(TRUTH, swapped).auc == pytest.approx(2 / 3)
    assert paper_roc(0 * TRUTH, 0 * TRUTH).auc == 0.5


@given(effects, effects)
def test_roc_agrees_with_the_twin(truth, estimate):
    curve = paper_roc(truth, estimate)
    points, area = twin(truth, estimate)
    np.testing.assert_allclose(np.column_stack([curve.fpr, curve.tpr]), points)
    assert curve.auc == pytest.approx(area)
    assert curve.auc == paper_roc(truth, np.exp(estimate) - 5).auc  # only ranks count


@given(effects, effects)
def test_ordinary_area_agrees_with_scikit_learn(truth, estimate):
    positive = truth[OFF] > 1e-8
    if positive.all() or not positive.any():
        assert np.isnan(ordinary_auc(truth, estimate))
    else:
        assert ordinary_auc(truth, estimate) == pytest.approx(
            roc_auc_score(positive, estimate[OFF])
        )


@pytest.mark.parametrize(
    ("truth", "estimate", "problem"),
    [
        (np.zeros((2, 3)), np.zeros((2, 3)), r"shape \(2, 3\)"),
        (np.zeros((2, 2)), np.zeros((3, 3)), r"estimate \(3, 3\)"),
        (np.zeros((2, 2)), np.full((2, 2), np.nan), "NaN"),
    ],
)
def test_matrices_without_a_roc(truth, estimate, problem):
    with pytest.raises(bf.BowfreeError, match=problem):
        paper_roc(truth, estimate)


def test_two_small_simulations(tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    study = causal_effect_study(2, **SMALL)
    assert len(study.simulations) == len(study.to_frame()) == 2
    for simulation, curve in zip(study.simulations, study.curves, strict=True):
        assert simulation.truth.is_bap()
        assert simulation.found.is_bap()
        assert len(curve.fpr) == 5 * 4 // 2 + 1
        assert simulation.complete
    assert study.mean_auc == pytest.approx(np.mean(study.aucs))
    paths = study.save(tmp_path)
    assert [path.name for path in paths] == [f"effects.{x}" for x in ("csv", "json", "md", "png")]
    with paths[0].open(newline="") as file:
        assert [float(row["auc"]) for row in csv.DictReader(file)] == study.aucs.tolist()
    assert json.loads(paths[1].read_text())["mean_auc"] == study.mean_auc


def test_same_data_for_every_method_and_number_of_jobs():
    one = causal_effect_study(3, **SMALL)
    other = causal_effect_study(3, **SMALL, method="ricf", max_iter=10, effects="as-published")
    threads = causal_effect_study(3, **SMALL, n_jobs=2)
    assert [s.truth for s in one.simulations] == [s.truth for s in other.simulations]
    assert [s.true_score for s in one.simulations] == [s.true_score for s in other.simulations]
    assert one.aucs.tolist() == threads.aucs.tolist()
    assert [s.found for s in one.simulations] == [s.found for s in threads.simulations]


def test_scores_after_ten_sweeps_are_those_of_the_paper():
    rng = np.random.default_rng(1)
    truth = bf.parse("a -> b <-> c, a <-> d, b -> d <-> c")
    S = np.cov(bf.random_sem(truth, rng=rng).sample(300, rng=rng), rowvar=False)
    options = {"cov": S, "n": 300, "method": "ricf", "max_iter": 10}
    result = bf.greedy_search(**options, strategy="restart", restarts=3, rng=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bf.errors.FitWarning)  # ten sweeps need not be enough
        assert result.score == pytest.approx(bf.score(result.graph, **options), abs=1e-12)
    found = bf.empirical_class(result.graph, **options)
    assert found.score == pytest.approx(result.score, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"n_sims": 0}, "n_sims must be a whole number of at least 1, got 0"),
        ({"effects": "new"}, "unknown effects 'new'; choose one of corrected, as-published"),
        ({"strategy": "luck"}, "unknown strategy 'luck'"),
        ({"max_iter": 10}, "an option of method='ricf'"),
    ],
)
def test_bad_input(options, problem):
    with pytest.raises(bf.BowfreeError, match=problem):
        causal_effect_study(**{"n_sims": 1, "d": 3, **options})
