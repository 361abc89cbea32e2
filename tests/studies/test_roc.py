"""The paper's ROC curve and the ordinary area."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import roc_auc_score

from bowfree.errors import BowfreeError
from bowfree.studies import ordinary_auc, paper_roc

# 1 -> 2 is true. The estimate has it first, then a false 2 -> 3:
#   k = 1 calls nothing, k = 2 calls 1 -> 2, k = 3 calls both.
TRUTH = np.array([[0, 0, 0], [0.5, 0, 0], [0, 0, 0]])
ESTIMATE = np.array([[0, 0, 0], [0.4, 0, 0], [0, 0.3, 0]])

OFF = ~np.eye(4, dtype=bool)
# Few distinct values, so that there are ties.
effects = arrays(float, (4, 4), elements=st.sampled_from([0.0, 1e-9, 0.1, 0.2, 0.5, 1.0]))


def twin(truth, estimate):
    """Count, pair by pair, what the words of the paper say."""
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


def test_smallest_example():
    curve = paper_roc(TRUTH, ESTIMATE)
    assert curve.tpr.tolist() == [0, 1, 1, 1]
    np.testing.assert_allclose(curve.fpr, [0, 0, 1 / 3, 1])
    assert (curve.auc, curve.n_positive) == (1.0, 1)


def test_the_false_pair_first():
    # Points (0, 0), (1/3, 0), (1/3, 1), (1, 1): the area right of 1/3.
    assert paper_roc(TRUTH, ESTIMATE[:, [1, 0, 2]][[2, 0, 1]]).auc != 1
    swapped = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.4, 0]])
    assert paper_roc(TRUTH, swapped).auc == pytest.approx(2 / 3)


def test_truth_against_itself_is_perfect():
    assert paper_roc(TRUTH, TRUTH).auc == 1.0
    assert ordinary_auc(TRUTH, TRUTH) == 1.0


def test_nothing_true():
    assert paper_roc(0 * TRUTH, 0 * TRUTH).auc == 0.5
    assert np.isnan(ordinary_auc(0 * TRUTH, ESTIMATE))


@given(effects, effects)
def test_agrees_with_the_twin(truth, estimate):
    curve = paper_roc(truth, estimate)
    points, area = twin(truth, estimate)
    np.testing.assert_allclose(np.column_stack([curve.fpr, curve.tpr]), points)
    assert curve.auc == pytest.approx(area)


@given(effects, effects)
def test_ordinary_area_agrees_with_scikit_learn(truth, estimate):
    positive = truth[OFF] > 1e-8
    if positive.all() or not positive.any():
        assert np.isnan(ordinary_auc(truth, estimate))
    else:
        assert ordinary_auc(truth, estimate) == pytest.approx(
            roc_auc_score(positive, estimate[OFF])
        )


@given(effects, effects)
def test_only_the_order_of_estimates_counts(truth, estimate):
    assert paper_roc(truth, estimate).auc == paper_roc(truth, np.exp(estimate) - 5).auc


@pytest.mark.parametrize(
    ("truth", "estimate", "problem"),
    [
        (np.zeros((2, 3)), np.zeros((2, 3)), r"shape \(2, 3\)"),
        (np.zeros((2, 2)), np.zeros((3, 3)), r"estimate \(3, 3\)"),
        (np.zeros((2, 2)), np.full((2, 2), np.nan), "NaN"),
    ],
)
def test_bad_input(truth, estimate, problem):
    with pytest.raises(BowfreeError, match=problem):
        paper_roc(truth, estimate)
