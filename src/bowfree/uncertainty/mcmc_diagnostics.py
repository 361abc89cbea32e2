"""Have the chains of a simulation converged? Split R-hat and effective sample size.

Both look at a number (a score, or whether an edge is there) along several chains. *Split R-hat*
compares the spread between half-chains with the spread inside them: it tends to 1 from above, and
values over about 1.01 say that the chains have not yet seen the same. The *effective sample size*
is the number of independent draws that would give a mean as precise as the chains do.

Used by :mod:`bowfree.uncertainty.structure_mcmc`.

References
----------
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Bürkner, Rank-normalization, folding, and
localization: an improved R-hat, Bayesian Analysis 16 (2021). An indicator ("the edge is there")
keeps its R-hat under rank normalization, so that only scores are worth it.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def normal_ranks(draws: npt.ArrayLike) -> Floats:
    """Return the normal scores of the ranks of all draws together, equal draws having equal ones.

    R-hat of these notices chains that differ in spread or in tails as well as in their mean.
    """
    from scipy.special import ndtri  # takes as long to import as all of bowfree

    values = np.asarray(draws, dtype=np.float64)
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - 0.5 * (times - 1))[place].reshape(values.shape)
    scores: Floats = ndtri((ranks - 0.375) / (values.size + 0.25))
    return scores


def split_r_hat(draws: npt.ArrayLike) -> float:
    """Return the split R-hat of draws of shape (chains, samples).

    1 when all draws are equal; infinite when every half-chain is constant and they differ; NaN
    with fewer than 4 samples per chain.

    Examples
    --------
    >>> from bowfree.uncertainty.mcmc_diagnostics import split_r_hat
    >>> split_r_hat([[0, 1, 0, 1, 0, 1], [5, 6, 5, 6, 5, 6]]) > 4
    True
    """
    halves = _halves(draws)
    n = halves.shape[1]
    if n < 2:
        return math.nan
    # Asked of the draws themselves: the variance of equal numbers can be some 1e-32.
    if (halves == halves[:, :1]).all():
        return 1.0 if (halves == halves[0, 0]).all() else math.inf
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    return math.sqrt((n - 1) / n + between / within)


def effective_sample_size(draws: npt.ArrayLike) -> float:
    """Return how many independent draws the draws of shape (chains, samples) are worth.

    NaN when all are equal (nothing varies, so nothing can be said) and with fewer than 4 samples
    per chain.

    Notes
    -----
    Autocorrelations are estimated over all half-chains together and summed in pairs as long as the
    sums are positive, made non-increasing (Geyer's initial monotone sequence).
    """
    halves = _halves(draws)
    m, n = halves.shape
    if n < 2 or (halves == halves[0, 0]).all():
        return math.nan
    centered = halves - halves.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centered, n=2 * n, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, n=2 * n, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + halves.mean(axis=1).var(ddof=1)
    correlation = 1.0 - (within - covariance) / total
    correlation[0] = 1.0
    pairs = correlation[: n - n % 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0.0)
    kept = np.minimum.accumulate(pairs[: negative[0]] if len(negative) else pairs)
    time = -1.0 + 2.0 * kept.sum()
    # Alternating chains can be worth more than their number; a bound keeps the estimate sane.
    return float(min(m * n / max(time, 1e-300), m * n * math.log10(m * n)))


def _halves(draws: npt.ArrayLike) -> Floats:
    """Cut every chain in two; an odd draw in the middle is left out."""
    chains = np.asarray(draws, dtype=np.float64)
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, chains.shape[1] - half :]])
