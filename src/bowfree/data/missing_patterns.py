"""The normal likelihood of rows with gaps, by patterns of missingness.

Rows that lack the same cells have the same likelihood function, which depends on their number,
mean and second moments only. With W the inverse of the observed block of Sigma (zero elsewhere),
z the deviation of a pattern's mean from mu, and T its second moments about mu,

    l = -1/2 sum over patterns of m (k log 2 pi + log |Sigma_oo| + tr(W T)),

for a pattern of m rows with k observed cells each. The saturated mean and covariance matrix come
from EM, which never goes downhill, and then Newton steps, which arrive; derivatives are by mu and
by the entries of Sigma in the lower triangle. All patterns are worked on at once, as stacks of
d x d matrices. Next: :mod:`bowfree.data.missing_values`, the moments that are made of this.

References
----------
R. Little and D. Rubin, Statistical Analysis with Missing Data, 3rd ed. 2019, chapter 11.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bowfree.data.sample import chunks, lower_triangle

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# Stacks of d x d matrices are kept below this number of entries (64 MB for each), and their
# products below this number of multiplications, during which nobody listens for Ctrl-C.
_STACK = 2**23
_PRODUCTS = 10**8
# Newton steps need a matrix of d^4 entries: 160 MB for 67 variables. Beyond that, EM alone.
_MOST_FOR_NEWTON = 60
# EM steps before Newton is tried: they bring any start into its reach.
_EM_FIRST = 5
_MOST_STEPS = 10_000
# Log-likelihood per row that a step must still promise (Newton), or bring (EM alone).
_NEWTON_GAIN, _EM_GAIN = 1e-15, 1e-11


@dataclass(frozen=True, eq=False)
class Patterns:
    """Rows with gaps, by pattern; all entries of missing cells are zero.

    Attributes
    ----------
    observed : ndarray of bool, shape (P, d)
        The cells that are there.
    count : ndarray of shape (P,)
        Number of rows, or sum of their weights.
    mean : ndarray of shape (P, d)
        Their means.
    scatter : ndarray of shape (P, d, d)
        Their covariance matrices (divisor `count`).
    row_pattern : ndarray of shape (n,)
        The pattern of each row.
    """

    observed: Bools
    count: Floats
    mean: Floats
    scatter: Floats
    row_pattern: npt.NDArray[np.intp]

    @classmethod
    def of(cls, X: Floats, weights: Floats | None = None) -> Patterns:
        """Group rows; the patterns begin with the most complete ones."""
        present = np.isfinite(X)
        packed = np.packbits(present, axis=1)
        keys = packed.view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
        _, first, row_pattern = np.unique(keys, return_index=True, return_inverse=True)
        observed = present[first]
        # The most complete pattern first, so that tables begin with what is familiar.
        order = np.lexsort((*(~observed).T[::-1], -observed.sum(axis=1)))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        observed, row_pattern = observed[order], place[row_pattern]
        P, d = observed.shape
        w = np.ones(len(X)) if weights is None else weights
        count = np.bincount(row_pattern, weights=w, minlength=P).astype(np.float64)
        mean, scatter = np.zeros((P, d)), np.zeros((P, d, d))
        sorted_rows = np.argsort(row_pattern, kind="stable")
        ends = np.searchsorted(row_pattern[sorted_rows], np.arange(P + 1))
        filled = np.where(present, X, 0.0)
        for p in range(P):
            rows = sorted_rows[ends[p] : ends[p + 1]]
            share = w[rows] / count[p]
            mean[p] = share @ filled[rows]
            deviations = (filled[rows] - mean[p]) * observed[p]
            scatter[p] = (deviations * share[:, None]).T @ deviations
        return cls(observed, count, mean, scatter, row_pattern)

    @property
    def total(self) -> float:
        """Number of rows, or sum of their weights."""
        return float(self.count.sum())

    def precisions(self, Sigma: Floats) -> Floats:
        """Return for each pattern the inverse of the observed block, shape (P, d, d)."""
        W = np.empty((*self.observed.shape, len(Sigma)))
        for some in self._slices():
            W[some] = _precision(Sigma, self.observed[some])[0]
        return W

    def loglik(self, mu: Floats, Sigma: Floats) -> float:
        """Return the log-likelihood; minus infinity where Sigma is not positive definite."""
        total = 0.0
        for part in self._parts(mu):
            try:
                W, log_det = part.precision(Sigma)
            except np.linalg.LinAlgError:
                return -math.inf
            trace = np.einsum("pij,pij->p", W, part.T)
            total -= float(part.count @ (part.cells * math.log(2 * math.pi) + log_det + trace)) / 2
        return total

    def gradient(self, mu: Floats, Sigma: Floats) -> tuple[Floats, Floats]:
        """Return the derivatives by mu, and G with ``dl = tr(G dSigma)``."""
        by_mu, G = np.zeros_like(mu), np.zeros_like(Sigma)
        for part in self._parts(mu):
            W, _ = part.precision(Sigma)
            by_mu += np.einsum("p,pij,pj->i", part.count, W, part.z, optimize=True)
            G += np.tensordot(part.count, W @ part.T @ W - W, 1) / 2
        return by_mu, G

    def information(self, mu: Floats, Sigma: Floats) -> Floats:
        """Return minus the Hessian by (mu, lower triangle of Sigma).

        For directions H and K of Sigma a pattern has ``m/2 tr(H W K (2 W T W - W))``, with mu
        ``m W K W z``, and for mu alone ``m W``. Summed over patterns before any H and K are named,
        the first is one product of stacks.
        """
        d = len(mu)
        by_mu = np.zeros((d, d))
        mixed = np.zeros((d * d, d))
        outer = np.zeros((d * d, d * d))
        for part in self._parts(mu):
            W, _ = part.precision(Sigma)
            weighted = W * part.count[:, None, None]
            by_mu += weighted.sum(axis=0)
            v = np.einsum("pij,pj->pi", W, part.z)
            flat = weighted.reshape(len(W), d * d).T
            mixed += flat @ v
            outer += flat @ (2 * W @ part.T @ W - W).reshape(len(W), d * d)
        a, b = lower_triangle(d)
        counted = np.where(a == b, 0.5, 1.0)
        M = mixed.reshape(d, d, d)
        by_both = (M[:, a, b] + M[:, b, a]) * counted
        F = outer.reshape(d, d, d, d)
        a1, b1, a2, b2 = a[:, None], b[:, None], a[None], b[None]
        form = F[b1, a2, b2, a1] + F[b1, b2, a2, a1] + F[a1, a2, b2, b1] + F[a1, b2, a2, b1]
        by_Sigma = form / 2 * counted * counted[:, None]
        return np.block([[by_mu, by_both], [by_both.T, (by_Sigma + by_Sigma.T) / 2]])

    def score_products(
        self, X: Floats, mu: Floats, Sigma: Floats, weights: Floats | None = None
    ) -> Floats:
        """Return the sum over rows of the outer product of their score with itself."""
        d = len(mu)
        a, b = lower_triangle(d)
        counted = np.where(a == b, 0.5, 1.0)
        total = np.zeros((d + len(a), d + len(a)))
        W = self.precisions(Sigma)
        entries = W[:, a, b]
        z = np.where(np.isfinite(X), X - mu, 0.0)
        u = np.empty_like(z)
        order = np.argsort(self.row_pattern, kind="stable")
        ends = np.searchsorted(self.row_pattern[order], np.arange(len(W) + 1))
        for p, precision in enumerate(W):
            rows = order[ends[p] : ends[p + 1]]
            u[rows] = z[rows] @ precision
        for some in chunks(len(X)):
            by_Sigma = (u[some][:, a] * u[some][:, b] - entries[self.row_pattern[some]]) * counted
            scores = np.hstack([u[some], by_Sigma])
            if weights is not None:
                scores *= weights[some, None]
            total += scores.T @ scores
        return total

    def em_step(self, mu: Floats, Sigma: Floats) -> tuple[Floats, Floats]:
        """Fill the gaps with what is expected of them, and take mean and covariance matrix."""
        shift, second = np.zeros_like(mu), np.zeros_like(Sigma)
        for part in self._parts(mu):
            W, _ = part.precision(Sigma)
            K = Sigma @ W  # the regression on what is observed; of itself the identity
            shift += np.einsum("p,pij,pj->i", part.count, K, part.z, optimize=True)
            filled = K @ part.T @ K.transpose(0, 2, 1) + Sigma - K @ Sigma
            second += np.tensordot(part.count, filled, 1)
        shift /= self.total
        second = second / self.total - np.outer(shift, shift)
        return mu + shift, (second + second.T) / 2

    def _slices(self) -> Iterator[slice]:
        P, d = self.observed.shape
        size = max(1, min(_STACK // d**2, _PRODUCTS // d**3))
        for start in range(0, P, size):
            yield slice(start, start + size)

    def _parts(self, mu: Floats) -> Iterator[_Part]:
        for some in self._slices():
            observed = self.observed[some]
            z = (self.mean[some] - mu) * observed
            T = self.scatter[some] + z[:, :, None] * z[:, None]
            yield _Part(observed, self.count[some], z, T)


@dataclass(frozen=True, eq=False)
class _Part:
    """Some patterns: deviations z of their means from mu, and second moments T about mu."""

    observed: Bools
    count: Floats
    z: Floats
    T: Floats

    @property
    def cells(self) -> Floats:
        return np.asarray(self.observed.sum(axis=1), dtype=np.float64)

    def precision(self, Sigma: Floats) -> tuple[Floats, Floats]:
        return _precision(Sigma, self.observed)


def _precision(Sigma: Floats, observed: Bools) -> tuple[Floats, Floats]:
    """Return W and ``log |Sigma_oo|`` for each pattern; LinAlgError unless all are positive."""
    both = observed[:, :, None] & observed[:, None]
    blocks = np.where(both, Sigma, np.eye(len(Sigma)))  # identity where missing: log det adds 0
    diagonal = np.linalg.cholesky(blocks).diagonal(axis1=1, axis2=2)
    W: Floats = np.where(both, np.linalg.inv(blocks), 0.0)
    return W, 2 * np.log(diagonal).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Saturated:
    """The maximum of the likelihood without a graph.

    Attributes
    ----------
    mean, Sigma : ndarray
        Where it is.
    loglik : float
        How high it is.
    n_iter : int
        Steps of EM and of Newton.
    converged : bool
        Whether it was reached.
    """

    mean: Floats
    Sigma: Floats
    loglik: float
    n_iter: int
    converged: bool


def saturated(patterns: Patterns) -> Saturated:
    """Find the saturated mean and covariance matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from bowfree.data.missing_patterns import Patterns, saturated
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, np.nan], [3.0, 2.0]])
    >>> found = saturated(Patterns.of(X))
    >>> found.mean.round(6), found.converged
    (array([1.5     , 1.071429]), True)
    """
    share = patterns.count[:, None] * patterns.observed
    weight = share.sum(axis=0)
    mu = (share * patterns.mean).sum(axis=0) / weight
    z = (patterns.mean - mu) * patterns.observed
    squares = patterns.scatter.diagonal(axis1=1, axis2=2) + z**2
    Sigma = np.diag((share * squares).sum(axis=0) / weight)
    value = patterns.loglik(mu, Sigma)
    newton = len(mu) <= _MOST_FOR_NEWTON
    for step in range(_MOST_STEPS):
        if newton and step >= _EM_FIRST:
            ahead = _newton_step(patterns, mu, Sigma, value)
            if ahead is not None:
                mu, Sigma, value, promised = ahead
                if promised <= _NEWTON_GAIN * patterns.total:
                    return Saturated(mu, Sigma, value, step + 1, True)
                continue
        mu, Sigma = patterns.em_step(mu, Sigma)
        before, value = value, patterns.loglik(mu, Sigma)
        if not math.isfinite(value):
            return Saturated(mu, Sigma, value, step + 1, False)
        if not newton and value - before <= _EM_GAIN * patterns.total:
            return Saturated(mu, Sigma, value, step + 1, True)
    return Saturated(mu, Sigma, value, _MOST_STEPS, False)


def _newton_step(
    patterns: Patterns, mu: Floats, Sigma: Floats, value: float
) -> tuple[Floats, Floats, float, float] | None:
    """Return the next point, its log-likelihood and what was promised; None: leave it to EM."""
    d = len(mu)
    a, b = lower_triangle(d)
    by_mu, G = patterns.gradient(mu, Sigma)
    gradient = np.concatenate([by_mu, np.where(a == b, 1.0, 2.0) * G[a, b]])
    J = patterns.information(mu, Sigma)
    scale = np.sqrt(np.abs(np.diag(J)))
    try:
        root = np.linalg.cholesky(J / scale / scale[:, None])
    except np.linalg.LinAlgError:
        return None
    half = np.linalg.solve(root, gradient / scale)
    promised = float(half @ half) / 2
    step = np.linalg.solve(root.T, half) / scale
    change = np.zeros_like(Sigma)
    change[a, b] = change[b, a] = step[d:]
    noise = 1e-14 * abs(value)  # of the log-likelihood itself, where the last steps are lost in it
    reached = patterns.loglik(mu + step[:d], Sigma + change)
    if reached < value - noise:
        return None
    return mu + step[:d], Sigma + change, reached, promised
