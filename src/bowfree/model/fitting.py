"""Maximum likelihood of a given BAP (sections 2.2 and 2.3).

The model is ``X = B X + eps`` with ``cov(eps) = Omega``: an entry ``B[i, j]``, the effect of j on
i, for every directed edge ``j -> i``, and an entry ``Omega[i, j]`` for every bidirected edge. The
likelihood decomposes over the districts of the graph, so that the compiled core fits one district
after the other, each with a certificate of optimality.

The score of a graph (sections 2.3 and 3.1)

    s(G) = (max loglik - penalty (#nodes + #edges) log n) / n

is a sum over its districts C, and the term of C depends only on C and the edges into it:

    -1/2 (|C| log 2 pi + log |Omega_C| + tr(Omega_C^-1 (I-B)_C S (I-B)_C^T))
        - penalty log(n)/n (|C| + #edges into C).

So a change of one edge changes one or two terms, which makes greedy search affordable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from bowfree import _core
from bowfree.data.joint_moments import JointMoments
from bowfree.data.missing_values import IncompleteRows
from bowfree.data.moments import Moments
from bowfree.data.nominal import to_columns
from bowfree.data.options import DataOptions
from bowfree.data.sample import CompleteRows, Floats, NonGaussianRows, inverse_covariance
from bowfree.errors import BowfreeError, DataError, FitWarning, LearnedGraphWarning, warn
from bowfree.graph.encodings import Bits, members
from bowfree.graph.mixed_graph import GraphLike, MixedGraph
from bowfree.graph.text import quote
from bowfree.model.certificates import Certificate, MoreStarts, warn_if_doubtful, warn_if_several
from bowfree.model.constraints import Constraints, fit_constrained
from bowfree.model.context import DEFAULT_RULE, Context, ScoringRule, context_of
from bowfree.model.fiml import maximize
from bowfree.model.fit_result import Fit
from bowfree.model.joint_fit import ConditionParameters, JointFit
from bowfree.model.nongaussian import fit_errors
from bowfree.parallel.budget import Budget, random_generator
from bowfree.parameters import (
    Baseline,
    Correlation,
    Errors,
    Interval,
    Means,
    Method,
    Missing,
    Penalty,
    Rng,
    StandardErrorKind,
    TestKind,
    public,
)
from bowfree.results.display import Table, count
from bowfree.results.rows import Row, RowTable, row_table
from bowfree.results.serialization import ToDict
from bowfree.text_reading import short_repr
from bowfree.validation import check_choice, check_count, check_nonnegative

# A larger coefficient, in standard deviations, diverges.
_DIVERGING = 1e3
# Smallest F statistic of instruments that are not weak (Staiger and Stock, Econometrica 1997).
WEAK_INSTRUMENT = 10.0
_MORE_STARTS = get_args(MoreStarts)


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
    nominal: Sequence[str] = (),
    errors: Errors = "gaussian",
    penalty: Penalty | None = None,
    gamma: float | None = None,
    smallest_effect: float = 0.0,
    method: Method = "newton",
    max_iter: int | None = None,
    tol: float | None = None,
    n_starts: int | None = None,
    se: StandardErrorKind | None = None,
    test: TestKind | None = None,
    clusters: Any = None,
    baseline: Baseline = "exogenous",
    fixed_x: bool = False,
    n_bootstrap: int = 1000,
    interval: Interval = "percentile",
    equal: Sequence[Sequence[str]] = (),
    fixed: Mapping[str, float] | None = None,
    rng: Rng = None,
) -> Fit:
    """Fit a BAP by maximum likelihood, or with the distribution of its errors.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A bow-free acyclic path diagram, or one with bows (both ``x -> y`` and ``x <-> y``) whose
        parameters are identified, for example by an instrument. The result of a search brings its
        data (the holdout rows, if it has any) and its penalty.
    n : int or inf, optional
        Number of observations behind `cov`. With ``n=inf``, a population covariance matrix, the
        log-likelihood is per observation, the score has no penalty, and AIC, BIC, chi-square and
        standard errors are NaN.
    errors : {"gaussian", "nongaussian"}
        "nongaussian" estimates also the densities of the errors, and uses that errors not joined by
        ``<->`` are independent: intervals are narrower if errors are not normal. It is the default
        for moments and results with ``errors="nongaussian"``, and needs complete, independent rows
        of continuous variables. Likelihood, chi-square and fit indices remain those of covariances.
    penalty : float or "ebic", optional
        Weight of ``log n`` for each node and edge in the score; by default that of the result, or
        1, the paper's. 0.5 is the usual BIC, "ebic" the extended BIC.
    n_starts : int, optional
        Number of starting points of ``method="newton"``. The likelihood of some graphs has several
        maxima; the best one found is returned. By default one start, and 60 if the graph is far
        from the data.
    equal : sequence of sequences of str
        Edges whose parameters are equal, such as ``[["x1 -> x2", "x2 -> x3"]]``.
    fixed : mapping of str to float, optional
        Edges whose parameters have given values, such as ``{"x -> y": 0.5}``. Models of
        :func:`bowfree.formats.read_lavaan` bring their own labels and values.

    Returns
    -------
    Fit

    Warns
    -----
    FitWarning
        The instruments of a bow are weak; estimates with non-Gaussian errors did not converge, and
        those by covariances are returned; the fit of a district is not certified, or a coefficient
        diverges; or the likelihood of a graph that fits badly has several maxima, and `n_starts`
        was not passed.
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
    rule = context.scoring_rule(penalty, gamma, smallest_effect, method, max_iter)
    options = DataOptions(
        cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means, nominal,
        clusters, errors,
    )  # fmt: skip
    moments = context.read(data, options, bows=rule.method == "newton", constrained=True)
    check_choice("baseline", baseline, get_args(Baseline))
    if not isinstance(fixed_x, bool):
        raise BowfreeError(f"fixed_x must be True or False, got {short_repr(fixed_x)}")
    weighted = getattr(moments.sample, "weights", None) is not None
    clustered = getattr(moments.sample, "clusters", None) is not None
    if fixed_x and (
        isinstance(moments, JointMoments) or weighted or not (moments.plain or clustered)
    ):
        raise DataError(
            "fixed_x=True requires one table of complete rows without weights, or a covariance "
            "matrix; omit it"
        )
    generator = None if rng is None else random_generator(rng)  # for the starts and the resamples
    look = n_starts is None
    starts = 1 if n_starts is None else n_starts
    result = fit_sample(
        context.graph, moments, rule, se, test, tol=tol, n_starts=starts, rng=generator, look=look
    )
    constraints = Constraints.of(result.graph, equal, fixed) or context.constraints
    if constraints is not None:
        result = fit_constrained(result, constraints)
    if (baseline, fixed_x) != (result.baseline, result.fixed_x):
        result = replace(result, baseline=baseline, fixed_x=fixed_x)
    if isinstance(moments.sample, NonGaussianRows):
        result = _with_errors(result)
    if result.se == "bootstrap":
        check_count("n_bootstrap", n_bootstrap, 2)
        from bowfree.model.resampling import resample_fit

        result = resample_fit(result, n_bootstrap, interval, Budget(generator)).fit
    warn_if_doubtful(result.certificate)
    for weak in weak_instruments(result):
        warn(weak, FitWarning)
    if look:
        warn_if_several(result.certificate, result.n)
    warn_if_learned(context, result)
    return result


def _with_errors(start: Fit) -> Fit:
    """Improve a fit by covariances by the distribution of the errors."""
    for name, value, usual in (
        ("se", start.se, ("robust", "bootstrap")),
        ("method", start.method, ("newton",)),
        ("fixed_x", start.fixed_x, (False,)),
    ):
        if value not in usual:
            raise BowfreeError(
                f"{name} = {value!r} is for estimates by covariances: omit it, or use "
                "errors='gaussian' (for the result of a search, fit(result.graph, data))"
            )
    if start.constraints is not None:
        raise BowfreeError(
            "equal and fixed parameters cannot be combined with errors='nongaussian'; use "
            "errors='gaussian' with se='robust'"
        )
    found = fit_errors(start)
    if found is None:
        warn(
            "the estimates with non-Gaussian errors did not converge; those by covariances, with "
            "robust standard errors, are returned instead",
            FitWarning,
        )
    return found or start


def weak_instruments(fit: Fit) -> list[str]:
    """Describe bows that the data hardly determine, by the rule of thumb for instruments (F < 10)."""
    if fit.graph.is_bow_free() or not math.isfinite(fit.n):
        return []
    found = []
    errors = fit.standard_errors().B
    for cause, effect in fit.graph.bows():
        x, y = fit.graph._node(cause), fit.graph._node(effect)
        others = [p for p in members(fit.graph._parents[y]) if p != x]
        block = np.ix_([x, *others], [x, *others])
        variance = 1 / inverse_covariance(fit.Sigma[block])[0, 0]
        # The instruments explain share = Omega / noise of the variance of the cause, other causes
        # fixed: F = n share / (1 - share). The share exceeds 1 if constraints determine the edge.
        noise = fit.n * errors[y, x] ** 2 * variance
        if not WEAK_INSTRUMENT * (noise - fit.Omega[y, y]) <= fit.n * fit.Omega[y, y]:
            strength = fit.n * fit.Omega[y, y] / (noise - fit.Omega[y, y])
            found.append(
                f"the instruments of {quote(cause)} -> {quote(effect)} are weak: an F statistic of "
                f"about {strength:.3g}, below {WEAK_INSTRUMENT:g}; its interval and test are "
                "unreliable"
            )
    return found


def fit_quietly(graph: GraphLike, data: Any = None, *, penalty: Penalty | None = None) -> Fit:
    """Fit a graph with the defaults of :func:`fit`, without warnings."""
    context = context_of(graph)
    moments = context.read(data, DataOptions(), bows=True)
    found = fit_sample(context.graph, moments, context.scoring_rule(penalty))
    own = fit_errors(found) if isinstance(moments.sample, NonGaussianRows) else None
    return own or found


def fit_sample(
    graph: MixedGraph,
    moments: Moments,
    rule: ScoringRule,
    se: StandardErrorKind | None = None,
    test: TestKind | None = None,
    **solver: Any,
) -> Fit:
    """Fit a graph to all rows behind the moments, those with missing values included."""
    graph, moments = to_columns(graph, moments)
    full = isinstance(moments.sample, IncompleteRows) and moments.sample.approach == "fiml"
    se, test = choose_inference(moments, se, test, full_information=full)
    result = fit_moments(graph, moments, rule, n=moments.n_rows, **solver)
    if full:
        result = fit_cells(result)
    return result if (se, test) == (result.se, result.test) else replace(result, se=se, test=test)


def choose_inference(
    moments: Moments, se: StandardErrorKind | None, test: TestKind | None, *, full_information: bool
) -> tuple[StandardErrorKind, TestKind]:
    """Check kinds of standard errors and tests; by default normal theory where it is valid."""
    if se is not None:
        check_choice("se", se, get_args(StandardErrorKind))
    if test is not None:
        check_choice("test", test, get_args(TestKind))
    wanted = [f"se={se!r}"] * (se not in (None, "standard"))
    wanted += [f"test={test!r}"] * (test not in (None, "standard"))
    if wanted and isinstance(moments, JointMoments):
        raise DataError(
            f"{' and '.join(wanted)} are for one sample; omit them with several conditions"
        )
    if wanted and moments.sample is None:
        raise DataError(
            f"{' and '.join(wanted)} need the observations, because a covariance matrix does not "
            "determine its own sampling variation; pass the rows as `data`"
        )
    if full_information and test == "satorra-bentler":
        raise BowfreeError(
            "test='satorra-bentler' is for estimates from a covariance matrix; with "
            "missing='fiml' use test='yuan-bentler', or choose missing='two-stage'"
        )
    kinds: tuple[StandardErrorKind, TestKind] = ("robust", "satorra-bentler")
    nongaussian = isinstance(moments.sample, NonGaussianRows)
    if full_information or (moments.plain and not nongaussian):
        kinds = ("standard", "standard")
    elif isinstance(moments.sample, CompleteRows) and moments.sample.clusters is not None:
        kinds = ("robust-huber-white", "yuan-bentler")  # as in lavaan
    return se or kinds[0], test or kinds[1]


def fit_cells(start: Fit) -> Fit:
    """Maximize the likelihood of the observed values, from a fit to the moments of their rows."""
    rows = start.moments.sample
    assert isinstance(rows, IncompleteRows)
    if start.method != "newton":
        raise BowfreeError(
            f"method={start.method!r} fits covariance matrices: omit it with missing='fiml', or "
            "choose missing='two-stage'"
        )
    estimates, reached = maximize(rows, start.B, start.Omega, start._parameters)
    # One certificate, because the likelihood does not decompose over districts here.
    certificate = Certificate(
        start.graph.nodes,
        diverging=not reached["converged"]
        and bool(np.abs(start._standardized()[0]).max() > _DIVERGING),
        n_optima=max(district.n_optima for district in start.certificate),
        **reached,
    )
    return replace(start, certificate=(certificate,), two_stage=start, **estimates)


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
    """Fit a graph to validated moments; the options are those of :func:`fit`.

    The likelihood is that of `n` observations, by default of ``moments.n``. With `look`, further
    starts are tried if the graph is far from the data. After `seconds` it raises
    :class:`~bowfree.errors.TimeIsUp`.
    """
    graph, moments = to_columns(graph, moments)
    if rule.method == "newton" and tol is not None:
        raise BowfreeError("tol is an option of method='ricf'; 'newton' runs until it converges")
    if check_count("n_starts", n_starts, 1) != 1 and rule.method == "ricf":
        raise BowfreeError("n_starts is an option of method='newton'; 'ricf' has one start")
    size = moments.n if n is None else n
    rule = rule.resolve(size, len(graph))
    core = _core.fit_graph(
        moments._core_data(rule.method),
        *graph._bits(),
        method=rule.method,
        max_iter=rule.sweeps,
        tol=1e-6 if tol is None else check_nonnegative("tol", tol),
        n_starts=n_starts,
        seed=int(random_generator(rng).integers(2**63)) if n_starts > 1 else 0,
        more_starts=look,
        seconds=seconds,
    )
    districts: Any = core.certificates
    names = graph.nodes
    certificate = tuple(
        [
            Certificate(tuple([names[i] for i in nodes]), *[*own, _MORE_STARTS[more], rounded])
            for nodes, *own, more, rounded in districts
        ]
    )
    B, Omega = core.B, core.Omega
    B.flags.writeable = Omega.flags.writeable = False
    fitted = (graph, size, B, Omega, rule, certificate, moments.mean, moments)
    if not isinstance(moments, JointMoments):
        return Fit(*fitted)
    alike = moments._alike and moments.means == "free"
    own = () if alike else range(len(moments.conditions))
    parts = ((core.B_in(e), core.Omega_in(e), core.intercepts_in(e)) for e in own)
    return JointFit(*fitted, own=tuple(ConditionParameters(*part) for part in parts))


def warn_if_learned(context: Context, result: Fit) -> None:
    """Warn if a search has chosen the graph on the rows that it was fitted to."""
    if context.learned and context.moments is not None and context.moments._same_as(result.moments):
        warn(
            "the graph was learned from the same rows: standard errors are too small, intervals "
            "too narrow, and the chi-square test is too optimistic; search with holdout=0.5, fit "
            "other rows by result.fit(holdout=rows), or use averaged_effects",
            LearnedGraphWarning,
        )


@dataclass(frozen=True, repr=False)
class DistrictScores(RowTable, ToDict):
    """The score of a graph by district; iterable, with ``len``.

    Attributes
    ----------
    rows : tuple of Row
        One for each district, ordered by their first nodes: ``district`` (its nodes), ``score``
        (its term of the score) and ``certified`` (whether its fit is a certified maximum).
    """

    rows: tuple[Row, ...]
    _cells: ClassVar = {
        "district": lambda row: ", ".join(map(quote, row.district)),
        "score": "score:.6f",
        "": lambda row: "" if row.certified else "not certified",
    }

    @property
    def total(self) -> float:
        """The score of the graph."""
        return math.fsum(row.score for row in self.rows)

    def _headline(self) -> str:
        return f"{count(len(self), 'district')}, score {self.total:.6f}"

    def _sections(self) -> Iterator[str | Table]:
        yield f"score {self.total:.6f}, the sum over {count(len(self), 'district')}"
        yield row_table(self.rows, self._cells, left=(0, 2))


@public
def district_scores(
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
    nominal: Sequence[str] = (),
    penalty: Penalty | None = None,
    gamma: float | None = None,
    smallest_effect: float = 0.0,
    method: Method = "newton",
    max_iter: int | None = None,
) -> DistrictScores:
    """Score each district of a graph.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A BAP. The result of a search brings its data and its penalty.
    penalty : float or "ebic", optional
        Weight of ``log n`` for each node and edge; by default that of the result, or 1, the
        paper's. With ``n=inf`` there is no penalty.

    Returns
    -------
    DistrictScores

    Warns
    -----
    FitWarning
        The fit of a district is not certified, or a coefficient diverges.

    References
    ----------
    Section 3.1 of the paper, appendix A.2.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y -> z <-> x")
    >>> S = [[1.0, 0.5, 0.7], [0.5, 1.0, 0.8], [0.7, 0.8, 2.0]]
    >>> for row in bf.model.district_scores(g, cov=S, n=200):
    ...     print(row.district, round(row.score, 4))
    ('x', 'z') -3.0464
    ('y',) -1.3256
    """
    options = DataOptions(
        cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means, nominal
    )
    rule = (penalty, gamma, smallest_effect, method, max_iter)
    fit = _fit_for_score(graph, data, options, *rule)
    bap = fit.graph
    price = fit.penalty * math.log(fit.n) / fit.n if math.isfinite(fit.n) else 0.0
    own, n_own = np.zeros(len(bap)), np.zeros(len(bap), dtype=int)
    if isinstance(fit.moments, JointMoments):
        own, n_own = fit.moments._set_objective(), fit.moments._own_numbers(bap)
    rows = []
    for district in fit.certificate:
        members = [bap._node(name) for name in district.nodes]
        # Each bidirected edge of a district is counted at both of its ends.
        n_edges = sum(
            bap._parents[i].bit_count() + bap._spouses[i].bit_count() / 2 for i in members
        )
        objective = district.objective + float(own[members].sum())
        likelihood = -(len(members) * math.log(2 * math.pi) + objective) / 2
        score = likelihood - price * (len(members) + n_edges + int(n_own[members].sum()))
        rows.append(Row(district=district.nodes, score=score, certified=district.converged))
    return DistrictScores(tuple(rows))


def _fit_for_score(graph: GraphLike, data: Any, options: DataOptions, *penalty: Any) -> Fit:
    """Fit a graph from the canonical start, which scores are computed from."""
    context = context_of(graph)
    rule = context.scoring_rule(*penalty)
    moments = context.read(data, options, bows=rule.method == "newton")
    fit = fit_moments(context.graph, moments, rule)
    warn_if_doubtful(fit.certificate)
    return fit


@public
def score(
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
    nominal: Sequence[str] = (),
    errors: Errors = "gaussian",
    penalty: Penalty | None = None,
    gamma: float | None = None,
    smallest_effect: float = 0.0,
    method: Method = "newton",
    max_iter: int | None = None,
) -> float:
    """Return the penalized score of a graph; higher is better.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A BAP. The result of a search brings its data and its penalty.
    penalty : float or "ebic", optional
        Weight of ``log n`` for each node and edge; by default that of the result, or 1, the
        paper's. With ``n=inf`` there is no penalty.

    Returns
    -------
    float
        The sum of :func:`district_scores`, which is ``fit(graph, ...).score``; with
        ``errors="nongaussian"`` the evidence of the rows beyond their covariances is added.

    References
    ----------
    Section 2.3 of the paper, eq. (score).

    Examples
    --------
    >>> import bowfree as bf
    >>> S = [[1.0, 0.5], [0.5, 1.0]]
    >>> bf.score(bf.parse("x, y"), cov=S, n=200) < bf.score(bf.parse("x -> y"), cov=S, n=200)
    True
    """
    options = DataOptions(
        cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means, nominal,
        errors=errors,
    )  # fmt: skip
    fit = _fit_for_score(graph, data, options, penalty, gamma, smallest_effect, method, max_iter)
    if not isinstance(fit.moments.sample, NonGaussianRows):
        return fit.score
    parents, spouses = fit.graph._bits()
    return float(score_graphs(fit.moments, fit.penalty, parents[None], spouses[None])[0])


def score_graphs(
    moments: Moments, penalty: float, parents: Bits, spouses: Bits, seconds: float | None = None
) -> Floats:
    """Return the scores of graphs, shape (graphs, d, words), or of the first ones in the time."""
    data = moments._core_data()
    return np.asarray(_core.score_graphs(data, moments.n, penalty, parents, spouses, seconds))
