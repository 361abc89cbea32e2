"""How well estimated effects find the true ones: the paper's ROC curve, and the ordinary area.

Of the two effects between i and j at most one can be non-zero, so of d(d-1) ordered pairs at most
N = d(d-1)/2 are called causal, and the paper divides the number of false calls by N. Its area is
therefore not the usual one; both are here. Used by :mod:`bowfree.studies.effects_study`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bowfree.errors import BowfreeError
from bowfree.model.linear_sem import real_array
from bowfree.text_reading import short_repr

Floats = npt.NDArray[np.float64]

THRESHOLD = 1e-8
"""A true minimal effect above this is one; below is what rounding leaves of zero."""


@dataclass(frozen=True, eq=False)
class RocCurve:
    """Points of a ROC curve, from the strictest threshold to (1, 1).

    Attributes
    ----------
    fpr, tpr : ndarray of shape (N + 1,)
        False and true positive rates, ``N = d(d-1)/2``.
    n_positive : int
        Pairs with a true effect.
    auc : float
        Area by trapezoids.
    """

    fpr: Floats
    tpr: Floats
    n_positive: int
    auc: float


def paper_roc(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> RocCurve:
    """Draw the paper's ROC curve of estimated against true minimal absolute effects.

    Parameters
    ----------
    truth, estimate : array_like of shape (d, d)
        Entry ``[i, j]`` is the minimal absolute effect of j on i over a class, or any other number
        that is larger the surer one is of an effect. The diagonal is not looked at.

    Returns
    -------
    RocCurve
        Point k = 1..N calls the pairs whose estimate exceeds the k-th largest one; the last is
        (1, 1). The true positive rate is 0 where nothing is true.

    References
    ----------
    Section 4.1 of the paper.

    Examples
    --------
    >>> from bowfree.studies import paper_roc
    >>> truth = [[0, 0, 0], [0.5, 0, 0], [0, 0, 0]]
    >>> curve = paper_roc(truth, [[0, 0, 0], [0.4, 0, 0], [0, 0.3, 0]])
    >>> curve.tpr.tolist(), curve.fpr.round(2).tolist(), curve.auc
    ([0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.33, 1.0], 1.0)
    """
    positive, value = _pairs(truth, estimate)
    N = len(value) // 2
    cut = np.sort(value)[::-1][:N]
    called = value[None, :] > cut[:, None]
    n_positive = int(positive.sum())
    hits = (called & positive).sum(axis=1)
    fpr = np.append((called.sum(axis=1) - hits) / max(N, 1), 1.0)
    tpr = np.append(hits / n_positive if n_positive else np.zeros(N), 1.0)
    return RocCurve(fpr, tpr, n_positive, float(np.trapezoid(tpr, fpr)))


def ordinary_auc(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> float:
    """Return the usual area: the probability that a true pair ranks before a false one.

    Parameters
    ----------
    truth, estimate : array_like of shape (d, d)
        As for :func:`paper_roc`.

    Returns
    -------
    float
        Ties count one half; NaN when all pairs are true or none is.

    References
    ----------
    Hanley and McNeil (1982); the paper's footnote in section 4.1 on why it uses another one.

    Examples
    --------
    >>> from bowfree.studies import ordinary_auc
    >>> ordinary_auc([[0, 0], [1, 0]], [[0, 0], [0, 0]])
    0.5
    """
    positive, value = _pairs(truth, estimate)
    true, false = value[positive], value[~positive]
    if not len(true) or not len(false):
        return float("nan")
    difference = true[:, None] - false[None, :]
    return float((np.sign(difference) / 2 + 0.5).mean())


def _pairs(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Return which ordered pairs are true, and the estimates, without the diagonal."""
    try:
        E, F = real_array(truth), real_array(estimate)
    except (TypeError, ValueError, OverflowError):
        given = f"{short_repr(truth)} and {short_repr(estimate)}"
        raise BowfreeError(f"truth and estimate must be matrices of numbers, not {given}") from None
    if E.ndim != 2 or E.shape[0] != E.shape[1] or E.shape != F.shape:
        raise BowfreeError(f"truth has shape {E.shape} and estimate {F.shape}; both must be (d, d)")
    if np.isnan(E).any() or np.isnan(F).any():
        raise BowfreeError("truth or estimate has NaN entries, which have no rank; replace them")
    off = ~np.eye(len(E), dtype=bool)
    return E[off] > THRESHOLD, F[off]
