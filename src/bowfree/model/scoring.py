"""The penalized score of a graph and its split over districts (sections 2.3 and 3.1).

    s(G) = (max loglik - penalty (#nodes + #edges) log n) / n

is a sum over the districts C of G, and the share of C depends only on C and the edges into it:

    -1/2 (|C| log 2 pi + log |Omega_C| + tr(Omega_C^-1 (I-B)_C S (I-B)_C^T))
        - penalty log(n)/n (|C| + #edges into C).

So a change of one edge changes one or two terms, which is what makes greedy search affordable.
Next: :mod:`bowfree.model.fitting` for the estimates behind a score.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bowfree.data.options import DataOptions
from bowfree.graph.graph_like import GraphLike
from bowfree.graph.text import quote
from bowfree.model.context import context_of
from bowfree.model.fitting import fit_moments, warn_if_doubtful
from bowfree.parameters import Correlation, Means, Method, Missing, Penalty, Rng, public
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count
from bowfree.results.frames import data_frame
from bowfree.results.serialization import ToDict


@dataclass(frozen=True, repr=False)
class DistrictScores(TextDisplay, ToDict, Mapping[tuple[str, ...], float]):
    """Scores by district: a mapping from the tuple of its nodes to its share.

    Attributes
    ----------
    districts : tuple of tuple of str
        The districts, ordered by their first node.
    scores : tuple of float
        Share of each.
    certified : tuple of bool
        Whether the fit behind each share is a certified maximum.
    """

    districts: tuple[tuple[str, ...], ...]
    scores: tuple[float, ...]
    certified: tuple[bool, ...]

    @property
    def total(self) -> float:
        """The score of the graph."""
        return math.fsum(self.scores)

    def __getitem__(self, district: tuple[str, ...]) -> float:
        try:
            return self.scores[self.districts.index(district)]
        except ValueError:
            raise KeyError(district) from None

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.districts)

    def __len__(self) -> int:
        return len(self.districts)

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each district.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns district (its nodes as one text), n_nodes, score (its share), certified.
        """
        return data_frame(
            {
                "district": [_said(nodes) for nodes in self.districts],
                "n_nodes": [len(nodes) for nodes in self.districts],
                "score": list(self.scores),
                "certified": list(self.certified),
            },
            backend,
        )

    def _content(self) -> dict[str, Any]:
        return vars(self)  # not the mapping, whose keys are no texts

    def _headline(self) -> str:
        return f"{count(len(self), 'district')}, score {self.total:.6f}"

    def _sections(self) -> Iterator[str | Table]:
        yield f"score {self.total:.6f}, the sum over {count(len(self), 'district')}"
        rows = [
            (_said(nodes), f"{share:.6f}", "" if certified else "not certified")
            for nodes, share, certified in zip(
                self.districts, self.scores, self.certified, strict=True
            )
        ]
        yield Table(
            ("district", "share", ""),
            rows,
            left=(0, 2),
            most=MOST_ROWS,
            rest="more: to_frame() has all",
        )


def _said(nodes: tuple[str, ...]) -> str:
    return ", ".join(map(quote, nodes))


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
    penalty: Penalty | None = None,
    gamma: float | None = None,
    smallest_effect: float = 0.0,
    method: Method = "newton",
    max_iter: int | None = None,
    tol: float | None = None,
    n_starts: int = 1,
    rng: Rng = None,
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
    >>> shares = bf.district_scores(g, cov=S, n=200)
    >>> {" ".join(district): round(share, 4) for district, share in shares.items()}
    {'x z': -3.0464, 'y': -1.3256}
    """
    context = context_of(graph)
    options = DataOptions(cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means)
    rule = context.scoring_rule(penalty, gamma, smallest_effect, method, max_iter)
    moments = context.read(data, options)
    fit = fit_moments(context.graph, moments, rule, tol=tol, n_starts=n_starts, rng=rng)
    warn_if_doubtful(fit.certificate)
    bap = fit.graph
    price = fit.penalty * math.log(fit.n) / fit.n if math.isfinite(fit.n) else 0.0
    own, n_own = fit._set_terms()
    scores = []
    for district in fit.certificate:
        members = [bap._node(name) for name in district.nodes]
        # Each bidirected edge of a district is counted at both of its ends.
        n_edges = sum(
            bap._parents[i].bit_count() + bap._spouses[i].bit_count() / 2 for i in members
        )
        objective = district.objective + float(own[members].sum())
        likelihood = -(len(members) * math.log(2 * math.pi) + objective) / 2
        scores.append(likelihood - price * (len(members) + n_edges + int(n_own[members].sum())))
    return DistrictScores(
        tuple(district.nodes for district in fit.certificate),
        tuple(scores),
        tuple(district.converged for district in fit.certificate),
    )


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
    penalty: Penalty | None = None,
    gamma: float | None = None,
    smallest_effect: float = 0.0,
    method: Method = "newton",
    max_iter: int | None = None,
    tol: float | None = None,
    n_starts: int = 1,
    rng: Rng = None,
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
        The sum of :func:`district_scores`, which is ``fit(graph, ...).score``.

    Warns
    -----
    FitWarning
        The fit of a district is not certified, or a coefficient diverges.

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
    context = context_of(graph)
    options = DataOptions(cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means)
    rule = context.scoring_rule(penalty, gamma, smallest_effect, method, max_iter)
    moments = context.read(data, options)
    fit = fit_moments(context.graph, moments, rule, tol=tol, n_starts=n_starts, rng=rng)
    warn_if_doubtful(fit.certificate)
    return fit.score
