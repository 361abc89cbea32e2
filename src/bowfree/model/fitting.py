"""Maximum likelihood for a given BAP: ``fit(graph, data)`` (sections 2.2 and 2.3).

The model is ``X = B X + eps`` with ``cov(eps) = Omega``: an entry ``B[i, j]``, the effect of j on
i, for every directed edge ``j -> i``, and an entry ``Omega[i, j]`` for every bidirected edge. The
likelihood splits over the districts of the graph (section 3.1), so the compiled core fits one
district after the other, and each fit brings its own certificate of optimality.

Next: :mod:`bowfree.model.fit_result` (what comes out), :mod:`bowfree.model.scoring` (graphs
compared).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from bowfree import _core
from bowfree.errors import BowfreeError, FitWarning
from bowfree.graph.given import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_result import Certificate, Fit, Method
from bowfree.model.moments import Moments, read_moments

__all__ = ["fit"]

_RICF_ONLY = "max_iter and tol are options of method='ricf'; 'newton' runs until it is certified"


def fit(
    graph: GraphLike,
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    penalty: float | None = None,
    method: Method = "newton",
    max_iter: int | None = None,
    tol: float | None = None,
    n_starts: int = 1,
    rng: Any = None,
) -> Fit:
    """Fit a BAP by maximum likelihood.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A bow-free acyclic path diagram. The result of a search brings its data and its penalty.
    data : array_like of shape (n, d) or data frame, optional
        Observations in rows; columns of a data frame are matched with the nodes by name.
    cov : array_like of shape (d, d) or data frame, optional
        Covariance matrix, in place of `data`.
    n : int or inf, optional
        Number of observations behind `cov`. With ``inf``, a population covariance matrix, the
        log-likelihood is per observation, the score has no penalty, and what speaks of samples
        (AIC, BIC, chi-square, standard errors) is NaN.
    ddof : {1, 0}
        `cov` was computed with divisor ``n - ddof``.
    penalty : float
        Weight of ``log n`` per node and edge in the score: 1, the default, is the paper's, 0.5 the
        usual BIC.
    method : {"newton", "ricf"}
        ``"newton"`` goes on to a certified maximum. ``"ricf"`` is the algorithm of the paper, from
        B = 0; with ``max_iter=10`` it stops where the paper stopped, converged or not.
    max_iter, tol : int, float, optional
        Only for ``"ricf"``: largest number of sweeps (default 1000), and the summed absolute
        change of B and Omega below which it stops (default 1e-6).
    n_starts : int
        Only for ``"newton"``: number of starts. The likelihood of some graphs has several maxima;
        the best one found is returned, and ``certificate`` says how many were met.
    rng : seed or numpy.random.Generator, optional
        For the starts after the first.

    Returns
    -------
    Fit

    Warns
    -----
    FitWarning
        When a district's fit is not certified, or a coefficient runs to infinity.

    References
    ----------
    Sections 2.2 and 2.3 of the paper, eqs. (covmat), (likelihood), (maxlikelihood), (score).

    Examples
    --------
    The instrumental-variable-like graph ``x -> y -> z`` with ``x <-> z``:

    >>> import bowfree as bf
    >>> g = bf.MixedGraph(list("xyz"), directed=[("x", "y"), ("y", "z")], bidirected=[("x", "z")])
    >>> S = [[1.0, 0.5, 0.7], [0.5, 1.0, 0.8], [0.7, 0.8, 2.0]]
    >>> result = bf.fit(g, cov=S, n=200)
    >>> round(float(result.B[1, 0]), 3), round(float(result.B[2, 1]), 3)
    (0.5, 0.6)
    """
    bap = graph_of(graph)
    if data is None and cov is None:
        data = getattr(graph, "moments", None)
    moments = read_moments(data, cov=cov, n=n, ddof=ddof, graph=bap)
    result = fit_moments(
        bap,
        moments,
        penalty=float(getattr(graph, "penalty", 1.0)) if penalty is None else penalty,
        method=method,
        max_iter=max_iter,
        tol=tol,
        n_starts=n_starts,
        rng=rng,
    )
    warn_if_doubtful(result.certificate, stacklevel=3)
    return result


def fit_moments(
    graph: MixedGraph,
    moments: Moments,
    *,
    penalty: float = 1.0,
    method: Method = "newton",
    max_iter: int | None = None,
    tol: float | None = None,
    n_starts: int = 1,
    rng: Any = None,
) -> Fit:
    """Fit a graph to moments that have passed the gate; the options are those of :func:`fit`."""
    if not penalty >= 0:
        raise BowfreeError(f"penalty = {penalty!r}: must be a number >= 0 (1 is the paper's)")
    sweeps = sweeps_of(method, max_iter)
    if method == "newton" and tol is not None:
        raise BowfreeError(_RICF_ONLY)
    if method == "ricf" and n_starts != 1:
        raise BowfreeError("n_starts is an option of method='newton'; 'ricf' has the paper's start")
    if n_starts < 1:
        raise BowfreeError(f"n_starts = {n_starts}: must be at least 1")
    seed = int(np.random.default_rng(rng).integers(2**63)) if n_starts > 1 else 0
    core = _core.fit_graph(
        np.ascontiguousarray(moments.S),
        *graph._bits(),
        method=method,
        max_iter=sweeps,
        tol=1e-6 if tol is None else tol,
        n_starts=n_starts,
        seed=seed,
    )
    certificate = tuple(
        Certificate(tuple(graph.nodes[i] for i in district), *numbers)
        for district, *numbers in zip(
            core.districts,
            core.objective,
            core.converged,
            core.decrement,
            core.gradient_norm,
            core.smallest_eigenvalue,
            core.diverging,
            core.n_iter,
            core.n_optima,
            strict=True,
        )
    )
    B, Omega = core.B, core.Omega
    B.flags.writeable = Omega.flags.writeable = False
    return Fit(graph, moments.n, moments.S, B, Omega, penalty, method, certificate)


def sweeps_of(method: Method, max_iter: int | None) -> int:
    """Return the number of RICF sweeps behind a score, 0 for a converged one."""
    if method not in ("newton", "ricf"):
        raise BowfreeError(f"method = {method!r}: must be 'newton' or 'ricf'")
    if method == "newton":
        if max_iter is not None:
            raise BowfreeError(_RICF_ONLY)
        return 0
    if max_iter is not None and max_iter < 1:
        raise BowfreeError(f"max_iter = {max_iter}: must be at least 1")
    return 1000 if max_iter is None else max_iter


def warn_if_doubtful(certificate: tuple[Certificate, ...], *, stacklevel: int) -> None:
    """Say which districts have no certified maximum."""
    for district in certificate:
        where = f"district {{{', '.join(district.nodes)}}}"
        if district.diverging:
            warnings.warn(
                f"{where}: a coefficient runs to infinity, or Omega to a singular matrix, while "
                "the likelihood still grows; there may be no finite maximum (more starts can tell)",
                FitWarning,
                stacklevel=stacklevel + 1,
            )
        elif not district.converged:
            warnings.warn(
                f"{where}: no certified maximum after {district.n_iter} iterations (the score may "
                f"still gain {district.decrement:.2g}); try more starts or iterations, or another "
                "graph",
                FitWarning,
                stacklevel=stacklevel + 1,
            )
