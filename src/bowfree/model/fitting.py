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
from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np

from bowfree import _core
from bowfree.budget import Budget
from bowfree.errors import BowfreeError, FitWarning
from bowfree.graph.given import GraphLike
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_result import Certificate, Fit
from bowfree.model.given import graph_and_moments
from bowfree.model.moments import Moments
from bowfree.model.scoring_rule import DEFAULT_RULE, ScoringRule
from bowfree.options import (
    DataOptions,
    FitOptions,
    ScoreOptions,
    SolverOptions,
    at_least,
    not_negative,
    split_options,
)

__all__ = ["fit"]


def fit(graph: GraphLike, data: Any = None, **options: Unpack[FitOptions]) -> Fit:
    """Fit a BAP by maximum likelihood.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A bow-free acyclic path diagram. The result of a search brings its data and its penalty.
    data : array_like of shape (n, d), data frame or Moments, optional
        Observations in rows; columns of a data frame are matched with the nodes by name.
    **options
        ``cov``, ``n``, ``ddof``, ``shrinkage``
            A covariance matrix in place of `data` (:class:`~bowfree.options.DataOptions`). With
            ``n=inf``, a population covariance matrix, the log-likelihood is per observation, the
            score has no penalty, and what speaks of samples (AIC, BIC, chi-square, standard errors)
            is NaN.
        ``penalty``
            Weight of ``log n`` per node and edge in the score: 1, the default, is the paper's, 0.5
            the usual BIC.
        ``method``, ``max_iter``, ``tol``
            ``"newton"``, the default, goes on to a certified maximum. ``"ricf"`` is the paper's
            algorithm, from B = 0: at most `max_iter` sweeps (1000), or until the summed absolute
            change of B and Omega is below `tol` (1e-6); ``max_iter=10`` stops where the paper
            stopped, converged or not.
        ``n_starts``, ``rng``
            Number of starts of ``"newton"`` (1). The likelihood of some graphs has several maxima;
            the best one found is returned, and ``certificate`` says how many were met.

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
    result = fit_given("fit", graph, data, options)
    warn_if_doubtful(result.certificate, stacklevel=3)
    return result


def fit_given(function: str, given: GraphLike, data: Any, options: Mapping[str, Any]) -> Fit:
    """Fit what the user of `function` gave; no warnings."""
    groups = split_options(function, options, DataOptions, ScoreOptions, SolverOptions)
    data_options, score_options, solver_options = groups
    graph, moments = graph_and_moments(given, data, data_options)
    score_options.setdefault("penalty", getattr(given, "penalty", 1.0))
    return fit_moments(graph, moments, ScoringRule(**score_options), **solver_options)


def fit_moments(
    graph: MixedGraph,
    moments: Moments,
    rule: ScoringRule = DEFAULT_RULE,
    *,
    tol: float | None = None,
    n_starts: int = 1,
    rng: Any = None,
) -> Fit:
    """Fit a graph to moments that have passed the gate; the options are those of :func:`fit`."""
    if rule.method == "newton" and tol is not None:
        raise BowfreeError("tol is an option of method='ricf'; 'newton' runs until it is certified")
    if at_least("n_starts", n_starts, 1) != 1 and rule.method == "ricf":
        raise BowfreeError("n_starts is an option of method='newton'; 'ricf' has the paper's start")
    core = _core.fit_graph(
        np.ascontiguousarray(moments.S),
        *graph._bits(),
        method=rule.method,
        max_iter=rule.sweeps,
        tol=1e-6 if tol is None else not_negative("tol", tol),
        n_starts=n_starts,
        seed=int(Budget(rng).generator().integers(2**63)) if n_starts > 1 else 0,
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
    rest = (rule.penalty, rule.method, certificate, moments.mean)
    return Fit(graph, moments.n, moments.S, B, Omega, *rest)


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
