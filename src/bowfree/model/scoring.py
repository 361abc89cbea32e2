"""Scores of graphs and of their districts (sections 2.3 and 3.1).

The score

    s(G) = (max loglik - penalty (#nodes + #edges) log n) / n

is a sum over the districts C of G, and the term of C depends only on C and the edges into it:

    -1/2 (|C| log 2 pi + log |Omega_C| + tr(Omega_C^-1 (I-B)_C S (I-B)_C^T))
        - penalty log(n)/n (|C| + #edges into C).

So a change of one edge changes one or two terms, which makes greedy search affordable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.data.sample import NonGaussianRows
from bowfree.graph.encodings import Bits
from bowfree.graph.mixed_graph import GraphLike
from bowfree.graph.text import quote
from bowfree.model.certificates import warn_if_doubtful
from bowfree.model.context import context_of
from bowfree.model.fit_result import Fit
from bowfree.model.fitting import fit_moments
from bowfree.parameters import Correlation, Errors, Means, Method, Missing, Penalty, public
from bowfree.results.display import Table, count
from bowfree.results.rows import Row, RowTable, row_table
from bowfree.results.serialization import ToDict

Floats = npt.NDArray[np.float64]


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
