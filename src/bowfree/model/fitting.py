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
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.joint_moments import JointMoments
from bowfree.data.missing_values import IncompleteRows
from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.errors import BowfreeError, FitWarning, LearnedGraphWarning, warn
from bowfree.graph.graph_like import GraphLike
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.certificate import Certificate, MoreStarts
from bowfree.model.context import Context, context_of
from bowfree.model.fiml import maximize
from bowfree.model.fit_result import Fit
from bowfree.model.joint_fit import JointFit
from bowfree.model.joint_variation import model_in
from bowfree.model.scoring_rule import DEFAULT_RULE, ScoringRule
from bowfree.model.variation import choose_inference
from bowfree.parallel.budget import random_generator
from bowfree.parameters import (
    Correlation,
    Means,
    Method,
    Missing,
    Penalty,
    Rng,
    StandardErrorKind,
    TestKind,
    public,
)
from bowfree.results.display import significant
from bowfree.text_reading import join_names
from bowfree.validation import check_count, check_nonnegative

Floats = npt.NDArray[np.float64]

# A coefficient of this size, in standard deviations, is on its way to infinity.
_RUNAWAY = 1e3


@public
def fit(
    graph: GraphLike,
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    shrinkage: float | Literal["auto"] = 0.0,
    missing: Missing | None = None,
    correlation: Correlation = "pearson",
    ordinal: Sequence[str] = (),
    weights: Any = None,
    means: Means = "free",
    penalty: Penalty | None = None,
    gamma: float | None = None,
    smallest_effect: float = 0.0,
    method: Method = "newton",
    max_iter: int | None = None,
    tol: float | None = None,
    n_starts: int | None = None,
    se: StandardErrorKind | None = None,
    test: TestKind | None = None,
    n_bootstrap: int = 1000,
    rng: Rng = None,
) -> Fit:
    """Fit a BAP by maximum likelihood.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A bow-free acyclic path diagram. The result of a search brings its data (the holdout rows,
        if it has any) and its penalty.
    n : int or inf, optional
        Number of observations behind `cov`. With ``n=inf``, a population covariance matrix, the
        log-likelihood is per observation, the score has no penalty, and AIC, BIC, chi-square and
        standard errors are NaN.
    penalty : float or "ebic", optional
        Weight of ``log n`` for each node and edge in the score; by default that of the result, or
        1, the paper's. 0.5 is the usual BIC, "ebic" the extended BIC.
    n_starts : int, optional
        Number of starting points of ``method="newton"``. By default one, and more where the graph
        fits badly, which warns if there are several maxima. The likelihood of some graphs has
        several maxima; the best one found is returned.
    n_bootstrap : int
        Number of bootstrap samples for ``se="bootstrap"``.

    Returns
    -------
    Fit

    Warns
    -----
    FitWarning
        The fit of a district is not certified, or a coefficient diverges; or the likelihood of a
        graph that fits badly has several maxima, and `n_starts` was not passed.
    LearnedGraphWarning
        The graph was learned from the same rows, so that standard errors are too small and tests
        too optimistic. Search with ``holdout=0.5``, or fit the graph to other rows.

    References
    ----------
    Sections 2.2 and 2.3 of the paper, eqs. (covmat), (likelihood), (maxlikelihood), (score).

    Examples
    --------
    The instrumental-variable-like graph ``x -> y -> z`` with ``x <-> z``:

    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.7], [0.5, 1.0, 0.8], [0.7, 0.8, 2.0]]
    >>> result = bf.fit(bf.parse("x -> y -> z <-> x"), cov=S, n=200)
    >>> round(float(result.B[1, 0]), 3), round(float(result.B[2, 1]), 3)
    (0.5, 0.6)
    """
    context = context_of(graph)
    moments = context.read(
        data,
        DataOptions(cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means),
    )
    rule = context.scoring_rule(penalty, gamma, smallest_effect, method, max_iter)
    generator = None if rng is None else random_generator(rng)  # for the starts and the resamples
    look = n_starts is None
    starts = 1 if n_starts is None else n_starts
    result = fit_sample(
        context.graph, moments, rule, se, test, tol=tol, n_starts=starts, rng=generator, look=look
    )
    if result.se == "bootstrap":
        check_count("n_bootstrap", n_bootstrap, 2)
        from bowfree.model.resampling import resampled_parameters

        resampled = resampled_parameters(result, n_bootstrap, random_generator(generator))
        result = replace(result, resampled=resampled)
    warn_if_doubtful(result.certificate)
    if look:
        _warn_if_several(result.certificate, result.n)
    warn_if_learned(context, result)
    return result


def fit_quietly(graph: GraphLike, data: Any = None, *, penalty: Penalty | None = None) -> Fit:
    """Fit a graph with the defaults of :func:`fit`, without warnings."""
    context = context_of(graph)
    moments = context.read(data, DataOptions())
    return fit_sample(context.graph, moments, context.scoring_rule(penalty))


def fit_sample(
    graph: MixedGraph,
    moments: Moments,
    rule: ScoringRule,
    se: StandardErrorKind | None = None,
    test: TestKind | None = None,
    **solver: Any,
) -> Fit:
    """Fit a graph to all rows behind the moments, those with missing values included."""
    full = isinstance(moments.sample, IncompleteRows) and moments.sample.approach == "fiml"
    se, test = choose_inference(moments, se, test, full_information=full)
    result = fit_moments(graph, moments, rule, n=moments.n_rows, **solver)
    if full:
        result = fit_cells(result)
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
            [(high - low) / 2 for high, low in zip(core.canonical, core.objective, strict=True)],
            [get_args(MoreStarts)[state] for state in core.more_starts],
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
        rule,
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


def warn_if_learned(context: Context, result: Fit) -> None:
    """Warn if a search has chosen the graph on the rows that it was fitted to."""
    if context.learned and context.moments is not None and context.moments._same_as(result.moments):
        warn(
            "the graph was learned from the same rows: standard errors are too small, intervals "
            "too narrow, and the chi-square test is too optimistic; search with holdout=0.5, fit "
            "other rows by result.fit(holdout=rows), or use averaged_effects",
            LearnedGraphWarning,
        )


def _warn_if_several(certificate: tuple[Certificate, ...], n: float) -> None:
    """Warn about districts whose likelihood has several maxima, or may have."""
    for district in certificate:
        where = f"district {{{join_names(district.nodes)}}}: the graph fits badly"
        if district.n_optima > 1:
            higher = ""
            if district.gain > 0 and math.isfinite(n):
                higher = (
                    f", {significant(n * district.gain)} log-likelihood units above the maximum "
                    "that scores use"
                )
            warn(
                f"{where}, and its likelihood has several maxima ({district.n_optima} found); this "
                f"fit is the highest of them{higher}. n_starts= tries more starting points",
                FitWarning,
            )
        elif district.more_starts == "too large":
            warn(
                f"{where}, and its likelihood may have other, higher maxima; none were looked for "
                "because the district has too many parameters. n_starts=20 looks for them",
                FitWarning,
            )
