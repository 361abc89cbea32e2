"""Maximum likelihood for a given BAP: ``fit(graph, data)`` (sections 2.2 and 2.3).

The model is ``X = B X + eps`` with ``cov(eps) = Omega``: an entry ``B[i, j]``, the effect of j on
i, for every directed edge ``j -> i``, and an entry ``Omega[i, j]`` for every bidirected edge. The
likelihood splits over the districts of the graph (section 3.1), so the compiled core fits one
district after the other, and each fit brings its own certificate of optimality.

Next: :mod:`bowfree.model.fit_result` (what comes out), :mod:`bowfree.model.scoring` (graphs
compared).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.covariance import check_definite
from bowfree.data.joint_moments import JointMoments
from bowfree.data.missing_values import IncompleteRows
from bowfree.data.moments import Moments
from bowfree.errors import BowfreeError, FitWarning, LearnedGraphWarning, warn
from bowfree.graph.graph_like import GraphLike
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.certificate import Certificate
from bowfree.model.fiml import maximize
from bowfree.model.fit_result import Fit
from bowfree.model.inputs import graph_and_moments
from bowfree.model.joint_fit import JointFit
from bowfree.model.joint_variation import model_in
from bowfree.model.scoring_rule import DEFAULT_RULE, ScoringRule
from bowfree.model.variation import choose_inference
from bowfree.parallel.budget import random_generator
from bowfree.text_reading import join_names
from bowfree.validation import (
    DataOptions,
    FitOptions,
    InferenceOptions,
    ScoreOptions,
    SolverOptions,
    check_count,
    check_nonnegative,
    split_options,
)

Floats = npt.NDArray[np.float64]

# A coefficient of this size, in standard deviations, is on its way to infinity.
_RUNAWAY = 1e3


def fit(graph: GraphLike, data: Any = None, **options: Unpack[FitOptions]) -> Fit:
    """Fit a BAP by maximum likelihood.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A bow-free acyclic path diagram. The result of a search brings its data (the rows put
        aside, if it has a holdout) and its penalty.
    data : array_like of shape (n, d), data frame or Moments, optional
        Observations in rows; columns of a data frame are matched with the nodes by name.
    **options
        ``cov``, ``n``, ``ddof``, ``shrinkage``
            A covariance matrix in place of `data` (:class:`~bowfree.validation.DataOptions`). With
            ``n=inf``, a population covariance matrix, the log-likelihood is per observation, the
            score has no penalty, and what speaks of samples (AIC, BIC, chi-square, standard errors)
            is NaN.
        ``missing``, ``correlation``, ``ordinal``, ``weights``
            Gaps, ranks, ordered categories and sampling weights, as for :func:`bowfree.moments`.
        ``se``, ``test``, ``n_bootstrap``
            Standard errors and tests for data that are not normal
            (:class:`~bowfree.validation.InferenceOptions`).
        ``penalty``, ``gamma``, ``smallest_effect``
            Weight of ``log n`` per node and edge in the score: 1, the default, is the paper's, 0.5
            the usual BIC, ``"ebic"`` the extended one (with ``gamma``); ``smallest_effect`` is a
            floor below it (:class:`~bowfree.validation.ScoreOptions`).
        ``method``, ``max_iter``, ``tol``
            ``"newton"``, the default, goes on to a certified maximum. ``"ricf"`` is the paper's
            algorithm, from B = 0: at most `max_iter` sweeps (1000), or until the summed absolute
            change of B and Omega is below `tol` (1e-6); ``max_iter=10`` stops where the paper
            stopped, converged or not.
        ``n_starts``, ``rng``
            Number of starts of ``"newton"`` (1). The likelihood of some graphs has several maxima;
            the best one found is returned, and ``certificate`` says how many were met. With one
            start, that of the scores, others are only looked for where the misfit is gross.

    Returns
    -------
    Fit

    Warns
    -----
    FitWarning
        When a district's fit is not certified, or a coefficient runs to infinity; or when the
        likelihood of a graph that fits badly has several maxima, and `n_starts` was not given.
    LearnedGraphWarning
        When the graph was learned from the same rows: standard errors and tests take it as given,
        and say too much. Search with ``holdout=0.5``, or fit it to other rows.

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
    look = "n_starts" not in options
    result = fit_quietly(graph, data, options, look=look)
    warn_if_doubtful(result.certificate)
    if look:
        _warn_if_several(result.certificate)
    warn_if_learned(graph, result)
    return result


def fit_quietly(
    given: GraphLike,
    data: Any = None,
    options: Mapping[str, Any] | None = None,
    *,
    look: bool = False,
) -> Fit:
    """Do what :func:`fit` does, for those who tell the user by other means what is doubtful.

    With `look`, other maxima are looked for where there may be some, and counted.
    """
    words = (DataOptions, ScoreOptions, SolverOptions, InferenceOptions)
    data_options, score_options, solver_options, wanted = split_options(
        "fit", options or {}, *words
    )
    bap, moments = graph_and_moments(given, data, data_options)
    score_options.setdefault("penalty", getattr(given, "penalty", 1.0))
    rule = ScoringRule(**score_options)
    rows = moments.sample
    full = isinstance(rows, IncompleteRows) and rows.approach == "fiml"
    se, test = choose_inference(
        moments, wanted.get("se"), wanted.get("test"), full_information=full
    )
    rng = solver_options.pop("rng", None)
    if rng is not None:
        rng = random_generator(rng)  # one for the starts and for the resamples
    result = fit_moments(bap, moments, rule, n=moments.n_rows, rng=rng, look=look, **solver_options)
    if full:
        result = fit_cells(result)
    if se == "bootstrap":
        n_bootstrap = check_count("n_bootstrap", wanted.get("n_bootstrap", 1000), 2)
        resampled = _resampled(result, rule, n_bootstrap, random_generator(rng))
        return replace(result, se=se, test=test, resampled=resampled)
    return result if (se, test) == (result.se, result.test) else replace(result, se=se, test=test)


def fit_cells(start: Fit) -> Fit:
    """Go from a fit to the moments of rows with gaps to the maximum of their likelihood."""
    rows = start.moments.sample
    if not isinstance(rows, IncompleteRows):
        raise TypeError(f"no gaps in {rows!r}")
    if start.method != "newton":
        raise BowfreeError(
            f"method={start.method!r} fits covariance matrices: with missing='fiml' leave it out, "
            "or choose missing='two-stage'"
        )
    best = maximize(rows, start.B, start.Omega, start._parameters)
    # One certificate for all: with gaps the likelihood does not split over the districts.
    per_row = -2 * best.loglik / start.n - len(start.B) * math.log(2 * math.pi)
    diverging = not best.converged and bool(np.abs(start._standardized()[0]).max() > _RUNAWAY)
    certificate = Certificate(
        start.graph.nodes,
        per_row,
        best.converged,
        best.decrement,
        best.gradient_norm,
        best.smallest_eigenvalue,
        diverging,
        best.n_iter,
        max(district.n_optima for district in start.certificate),
    )
    return replace(
        start,
        B=best.B,
        Omega=best.Omega,
        mean=best.mean,
        certificate=(certificate,),
        full_information=True,
    )


def _resampled(fit: Fit, rule: ScoringRule, count: int, rng: np.random.Generator) -> Floats:
    """Return the parameters of fits to resampled rows, one sample to a row."""
    sample = fit.moments.sample
    assert sample is not None  # choose_inference has refused it
    drawn = []
    for _ in range(count):
        S, rows = sample.redrawn(rng.integers(sample.n_rows, size=sample.n_rows))
        moments = Moments._unchecked(fit.graph.nodes, S, float(sample.n_rows), None, rows)
        check_definite(moments.names, S, moments.n, fit.graph)
        again = fit_moments(fit.graph, moments, rule)
        drawn.append((fit_cells(again) if fit.full_information else again)._values())
    return np.array(drawn)


def fit_given(function: str, given: GraphLike, data: Any, options: Mapping[str, Any]) -> Fit:
    """Fit what the user of `function` gave, to be scored; no warnings."""
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
    n: float | None = None,
    tol: float | None = None,
    n_starts: int = 1,
    rng: Any = None,
    look: bool = False,
    seconds: float | None = None,
) -> Fit:
    """Fit a graph to moments that have passed the gate; the options are those of :func:`fit`.

    The likelihood is that of `n` observations, by default those that the moments are worth. With
    `look`, other maxima are looked for where there may be some, and counted. After so many
    `seconds` it ends with :class:`~bowfree.errors.TimeIsUp`: half a fit has no value.
    """
    if rule.method == "newton" and tol is not None:
        raise BowfreeError("tol is an option of method='ricf'; 'newton' runs until it is certified")
    if check_count("n_starts", n_starts, 1) != 1 and rule.method == "ricf":
        raise BowfreeError("n_starts is an option of method='newton'; 'ricf' has the paper's start")
    size = moments.n if n is None else n
    rule = rule.settled(size, len(graph))
    core = _core.fit_graph(
        moments._core_data(rule.method),
        *graph._bits(),
        method=rule.method,
        max_iter=rule.sweeps,
        tol=1e-6 if tol is None else check_nonnegative("tol", tol),
        n_starts=n_starts,
        seed=int(random_generator(rng).integers(2**63)) if n_starts > 1 else 0,
        look=look,
        seconds=seconds,
    )
    certificate = tuple(
        Certificate(tuple([graph.nodes[i] for i in district]), *numbers)
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
    fitted = (
        graph,
        size,
        B,
        Omega,
        rule.weight,
        rule.method,
        certificate,
        moments.mean,
        moments,
    )
    if not isinstance(moments, JointMoments):
        return Fit(*fitted)
    alike = moments._alike and moments.means == "free"
    own = () if alike else range(len(moments.conditions))
    return JointFit(*fitted, own=tuple(model_in(core, e) for e in own))


def warn_if_doubtful(certificate: tuple[Certificate, ...]) -> None:
    """Say which districts have no certified maximum."""
    for district in certificate:
        if district.converged:
            continue
        where = f"district {{{join_names(district.nodes)}}}"
        if district.diverging:
            warn(
                f"{where}: a coefficient runs to infinity, or Omega to a singular matrix, while "
                "the likelihood still grows; there may be no finite maximum (more starts can tell)",
                FitWarning,
            )
        else:
            warn(
                f"{where}: no certified maximum after {district.n_iter} iterations (the score may "
                f"still gain {district.decrement:.2g}); try more starts or iterations, or another "
                "graph",
                FitWarning,
            )


def warn_if_learned(given: GraphLike, result: Fit) -> None:
    """Say that a search has chosen the graph on these very rows."""
    learned = getattr(given, "learned_from", None)
    if learned is not None and learned._same_as(result.moments):
        warn(
            "the graph was learned from the same rows: standard errors, intervals and the "
            "chi-square test take it as given, and say too much; search with holdout=0.5, give "
            "other rows by result.fit(holdout=rows), or see averaged_effects",
            LearnedGraphWarning,
        )


def _warn_if_several(certificate: tuple[Certificate, ...]) -> None:
    """Say which districts have other maxima, of which a higher one may have been missed."""
    for district in certificate:
        if district.n_optima > 1:
            warn(
                f"district {{{join_names(district.nodes)}}}: the graph fits badly, and its likelihood "
                f"has several maxima ({district.n_optima} were met); this is the one from the "
                "usual start, n_starts=20 returns the highest of twenty",
                FitWarning,
            )
