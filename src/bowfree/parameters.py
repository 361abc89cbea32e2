"""Parameters that many functions share: their types, their descriptions, and :func:`public`.

A parameter means the same in every function, so its description is written once, in
:data:`DESCRIPTIONS`. The decorator :func:`public` adds the descriptions of shared parameters to the
docstring of a function; the command line and the estimator use the same sentences.
"""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np

Rng: TypeAlias = "int | np.random.Generator | None"
"""Anything :func:`numpy.random.default_rng` accepts."""

GraphClass = Literal["bap", "dag", "bidirected", "ancestral", "arid"]
Method = Literal["newton", "ricf"]
Missing = Literal["fiml", "two-stage", "pairwise", "listwise"]
Correlation = Literal["pearson", "spearman", "kendall"]
StandardErrorKind = Literal["standard", "robust", "robust-huber-white", "bootstrap"]
TestKind = Literal["standard", "satorra-bentler", "yuan-bentler"]
Interval = Literal["percentile", "bias-corrected", "bca", "normal"]
Baseline = Literal["exogenous", "independence"]
Penalty: TypeAlias = "float | Literal['ebic']"
Kind = Literal["perfect", "mechanism", "activity", "noise"]
"""The kinds of intervention, numbered as in ``cpp/data/intervention_kinds.hpp``."""
Errors = Literal["gaussian", "nongaussian"]
Means = Literal["free", "shared"]
"""Whether each condition has its own mean, or the conditions share their intercepts."""

_TEXT = """
data : array_like of shape (n, d), data frame or Moments, optional
    Observations in rows. Columns of a data frame are matched with the nodes of a graph by name.
cov : array_like of shape (d, d) or data frame, optional
    Covariance matrix, in place of `data`; requires `n`.
n : int or inf, optional
    Number of observations behind `cov`; ``inf`` for a population covariance matrix.
ddof : {1, 0}
    `cov` was computed with divisor ``n - ddof``.
shrinkage : float or "auto"
    Replace the covariance matrix ``S`` by ``(1 - shrinkage) S + shrinkage diag(S)``, which is
    positive definite even if ``n <= d``. "auto" chooses the amount by the method of Ledoit and
    Wolf, which requires the rows.
missing : {"fiml", "two-stage", "pairwise", "listwise"}, optional
    Treatment of missing values. By default they raise an error. "fiml" and "two-stage" use all
    observed values, "pairwise" does so for ordered categories, "listwise" drops incomplete rows.
correlation : {"pearson", "spearman", "kendall"}
    Use covariances, or rank correlations, which are invariant under monotone transformations.
ordinal : sequence of str
    Columns of ordered categories, coded as numbers. Ordered categoricals of pandas and polars are
    recognized without it.
nominal : sequence of str
    Columns of unordered categories, in words or numbers. Each is one node of the graph: 0 and 1 for
    two categories, otherwise a block of indicators. Booleans need no declaration.
weights : array_like of shape (n,) or str, optional
    Sampling weights, or the name of the column that contains them.
means : {"free", "shared"}
    For several conditions: each condition has its own mean, or all conditions share their
    intercepts except where an intervention acts.
space : SearchSpace, optional
    The graphs to consider. By default the space of the result that is passed in, or all BAPs.
graph_class : {"bap", "dag", "bidirected", "ancestral", "arid"}, optional
    Class of graphs to consider; overrides that of `space`.
max_in_degree : int, optional
    Largest number of arrowheads (from parents and spouses) at a node; overrides that of `space`.
max_district : int, optional
    Largest number of nodes in a district; overrides that of `space`.
max_edges : int, optional
    Largest number of edges; overrides that of `space`.
knowledge : Knowledge, optional
    Required and forbidden edges, tiers, unconfounded variables; overrides that of `space`.
penalty : float or "ebic"
    Weight of ``log n`` for each node and edge in the score: 1 is the paper's, 0.5 the usual BIC,
    "ebic" the extended BIC, ``0.5 + 2 gamma log d / log n``, for many variables.
gamma : float, optional
    Parameter of ``penalty="ebic"``, between 0 (the usual BIC) and 1; 0.5 by default.
smallest_effect : float
    Smallest partial correlation that justifies an edge. It raises the penalty of an edge to at least
    ``-n log(1 - smallest_effect**2) / 2``, for very large samples.
method : {"newton", "ricf"}
    "newton" converges to a certified maximum of the likelihood; "ricf" is the paper's algorithm,
    run for at most `max_iter` sweeps.
max_iter : int, optional
    Largest number of sweeps of ``method="ricf"``; 1000 by default, 10 in the paper's program.
tol : float, optional
    Tolerance of ``method="ricf"``: it stops when the summed absolute change of B and Omega is
    smaller; 1e-6 by default.
n_starts : int, optional
    Number of starting points of ``method="newton"``. The likelihood of some graphs has several
    maxima; the best one found is returned.
se : {"standard", "robust", "robust-huber-white", "bootstrap"}, optional
    Standard errors: those of normal theory, sandwich estimates around the expected ("robust") or
    the observed information ("robust-huber-white"), or bootstrap. By default "standard" for
    complete unweighted rows and "robust" otherwise, also with ``errors="nongaussian"``.
test : {"standard", "satorra-bentler", "yuan-bentler"}, optional
    The chi-square statistic, unscaled or scaled for data that are not normal.
clusters : str or array_like of shape (n,), optional
    Labels of the clusters of rows that may be dependent, such as persons or schools, or the name of
    the column that has them. Standard errors and tests are cluster-robust, the bootstrap resamples
    clusters, and scores count the effective number of rows: n divided by the design effect, by which
    the variances of correlations exceed those of independent rows, averaged over pairs.
errors : {"gaussian", "nongaussian"}
    Distribution of the errors in scores. "gaussian" uses covariances only, as the paper. With
    "nongaussian" the score is the evidence of a semiparametric likelihood: flexible margins, and for
    bidirected edges the dependence that hidden common causes produce. It can tell equivalent graphs
    apart, and needs complete, independent rows of continuous variables.
baseline : {"exogenous", "independence"}
    Baseline model of CFI and TLI. "exogenous" is lavaan's: it keeps the covariances among exogenous
    variables if all of these are free. "independence" is the empty graph.
fixed_x : bool
    Condition likelihood, AIC, BIC and robust inference on the exogenous variables, as lavaan does by
    default (``fixed.x``). Scores are never conditional.
n_bootstrap : int
    Number of bootstrap samples.
interval : {"percentile", "bias-corrected", "bca", "normal"}
    Bootstrap intervals: quantiles; corrected for bias (lavaan's "bca.simple"), for "bca" also for
    skewness; or a normal interval around the estimate minus its bias.
strategy : {"ils", "restart"} or Strategy
    "ils" is iterated local search, "restart" the paper's search: one climb from the empty graph and
    `restarts` climbs from uniform random graphs. A :class:`bowfree.search.Strategy` combines either
    of them with the options below, which override its fields.
starts : sequence of MixedGraph, optional
    Graphs to start from. With "restart" they replace the empty graph, and `restarts` is 0 unless
    it is specified; with "ils" they are perturbed and improved in the first round.
restarts : int, optional
    Number of random starts of "restart" (100), or of runs in the first round of "ils" (24 for up to
    30 variables, then 8, and ``800 / d`` beyond 100, at least 2).
rounds : int, optional
    Largest number of rounds of perturbations of "ils". By default the search ends after 3 rounds in
    a row without a gain (2 beyond 12 variables, 1 beyond 30), later if the runs disagree.
direction : {"both", "forward", "backward", "forward-change", "backward-change"}, optional
    Steps that a climb of "restart" may take: all (the default); only additions, the paper's forward
    search; only deletions; additions and changes of edge type, called forward in the authors' R
    program; deletions and changes, called backward there.
neighbors : int, optional
    Examine random batches of this many neighbors, and move to the best one of the first batch that
    has a better graph. By default all neighbors are examined.
max_steps : int, optional
    Largest number of steps of a climb.
plateau : int, optional
    Number of graphs of equal score to visit at a local optimum, in search of one with a better
    neighbor; a run that returns to graphs found there does not repeat this. By default ``800 / d`` with
    "ils" up to 12 variables and ``400 / d`` beyond, and 0 with "restart" as in the paper.
work : float, optional
    Upper bound on the multiplications of the whole search; a second has about 3e9. It is divided
    evenly among the runs of a round. A run that reaches its bound ends with its best graph. By
    default only runs with more than 12 variables are bounded, because of very large districts.
keep : int, optional
    Largest number of graphs in the pool, 300 by default.
window : float, optional
    The pool contains graphs within this many units of ``n * score`` of the best one, 10 by default.
cache_mb : float, optional
    Memory for the scores of districts in megabytes, 256 by default.
targets : sequence of sequences of str, optional
    The variables intervened on in each condition, ``()`` for an observational condition.
kind : {"perfect", "mechanism", "activity", "noise"}
    What an intervention does to its targets.
prior : {"density", "flat"}
    Prior distribution of the graph: all numbers of edges are equally probable, or all graphs are.
temperature : float
    Posterior weights are raised to the power ``1 / temperature``; above 1 they are more equal.
formula : {"corrected", "as-published"}
    ``(I - B)^-1``, the matrix of total effects, or ``(I + B)^-1``, which the authors' program
    computes: there, paths with an odd number of edges have the wrong sign.
zero : float
    Effects count as no effect if their absolute value, in standard deviations of the variables,
    is at most `zero`.
limit : int
    Largest number of members of an equivalence class to enumerate.
confidence : float
    Confidence level of intervals.
backend : {"pandas", "polars", "pyarrow"}
    Library of the data frame.
rng : int or numpy.random.Generator, optional
    Seed or generator. The same seed gives the same result for any number of threads or workers,
    unless a time limit ends the computation.
n_jobs : int, optional
    Number of threads; None is one, -1 one per core.
executor : concurrent.futures.Executor, optional
    Runs independent tasks in place of threads of this process.
time_limit : float, optional
    Seconds after which the function returns what it has, marked as incomplete.
progress : callable, optional
    Called with a :class:`bowfree.Progress` several times a second.
equivalence_class : EquivalenceClass, optional
    The class of the best graph. By default it is enumerated, up to a limit that the report states
    when it is reached.
bounds : EffectBounds, optional
    Bounds of the total effects over that class. By default they are computed.
average : AveragedEffects, optional
    Result of :func:`bowfree.averaged_effects`. By default it is computed after a complete search
    over at most 12 variables; otherwise the report states why it is missing.
bootstrap : BootstrapResult, optional
    Result of :func:`bowfree.bootstrap` on the same data.
stability : StablePairs, optional
    Result of :func:`bowfree.stability_selection` on the same data.
settings : mapping, optional
    Further options to list under "Reproduce".
average_time_limit : float, optional
    Seconds for computing `average`; None for no limit. If the limit is reached, the report says so,
    and may differ between machines.
title : str
    Heading of the page.
note : str
    A line below the heading, such as a date.
ax : matplotlib.axes.Axes, optional
    Where to draw. By default on a new figure.
"""


def _parse(text: str) -> dict[str, str]:
    entries = re.split(r"\n(?=\S)", text.strip("\n"))
    return {entry.partition(" : ")[0]: entry for entry in entries}


DESCRIPTIONS = _parse(_TEXT)
"""Numpydoc entries of the shared parameters, by name."""


def summary(name: str) -> str:
    """Return the description of a shared parameter as one line, without its type."""
    return " ".join(DESCRIPTIONS[name].partition("\n")[2].split())


F = TypeVar("F", bound=Callable[..., Any])


def public(function: F) -> F:
    """Complete the docstring of a public function, and name close matches of wrong keywords.

    Shared parameters that the docstring does not describe are added to its section "Parameters".
    """
    function.__doc__ = complete_docstring(function)
    names = list(inspect.signature(function).parameters)
    known = frozenset(names)

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if kwargs and not known.issuperset(kwargs):
            raise unknown_keyword(
                function.__name__, next(k for k in kwargs if k not in known), names
            )
        return function(*args, **kwargs)

    return checked  # type: ignore[return-value]


def unknown_keyword(function: str, name: str, known: list[str]) -> TypeError:
    """Return the error for a keyword that the function does not have."""
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known)}"
    return TypeError(f"{function}() got an unexpected keyword argument {name!r}; {hint}")


def complete_docstring(function: Callable[..., Any]) -> str:
    """Return the docstring with the descriptions of all shared parameters that it lacks."""
    doc = inspect.cleandoc(function.__doc__ or "")
    head, heading, rest = doc.partition("Parameters\n----------\n")
    if not heading:
        return doc
    following = re.search(r"\n\n(?=\S[^\n]*\n-{3,}\n)", rest)
    own, after = (rest[: following.start()], rest[following.start() :]) if following else (rest, "")
    described = {
        name.strip(" *")
        for line in re.findall(r"^(\S[^:\n]*?)(?: ?:.*)?$", own, flags=re.MULTILINE)
        for name in line.split(",")
    }
    missing = [
        textwrap.dedent(DESCRIPTIONS[name])
        for name in inspect.signature(function).parameters
        if name not in described and name in DESCRIPTIONS
    ]
    return head + heading + "\n".join([own.rstrip("\n"), *missing]) + after
