"""How much to shrink a covariance matrix, from the data themselves (Ledoit and Wolf).

Shrinking by ``a`` multiplies covariances by ``1 - a`` and leaves variances alone, which in units
of the standard deviations is ``(1 - a) R + a I``: Ledoit and Wolf's estimator of a correlation
matrix. Their ``a`` is the one whose expected squared distance from the truth is smallest; it falls
with the number of observations.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def ledoit_wolf_shrinkage(X: npt.NDArray[np.float64]) -> float:
    """Return Ledoit and Wolf's shrinkage of the correlations of some observations.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Observations in rows, without gaps.

    Returns
    -------
    float
        Between 0 and 1; what ``sklearn.covariance.ledoit_wolf_shrinkage`` gives for standardized
        columns.

    References
    ----------
    O. Ledoit and M. Wolf, A well-conditioned estimator for large-dimensional covariance matrices,
    Journal of Multivariate Analysis 88 (2004).

    Examples
    --------
    >>> import numpy as np
    >>> from bowfree.data.shrinkage import ledoit_wolf_shrinkage
    >>> X = np.random.default_rng(1).standard_normal((20, 10))
    >>> 0.5 < ledoit_wolf_shrinkage(X) <= 1.0
    True
    """
    n, d = X.shape
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    R = Z.T @ Z / n
    # Squared distance of R from I, and the part of it that is sampling error: the mean squared
    # distance of the single z z^T from R, over n.
    distance = float(np.sum(R**2)) - d
    squares = np.sum(Z**2, axis=1)
    error = (float(np.sum(squares**2)) / n - float(np.sum(R**2))) / n
    return 1.0 if distance <= 0 else min(1.0, error / distance)
