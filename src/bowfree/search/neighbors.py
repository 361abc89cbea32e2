"""What every single change of a graph would do to its fit, by refitting it.

One step of the search, shown to the user: add an edge, remove one, turn one around, exchange
``->`` for ``<->``. A change touches one or two districts (section 3.1), the compiled core fits only
those, and each once, so that the exact answer for all changes takes milliseconds where score tests
(:meth:`bowfree.Fit.modification_indices`) approximate the additions alone.

Next: :mod:`bowfree.search.greedy`, which takes the best change and asks again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.joint_moments import JointMoments
from bowfree.data.options import DataOptions
from bowfree.equivalence.decision import equivalent
from bowfree.equivalence.targets import targets_of
from bowfree.errors import GraphError
from bowfree.graph.encodings import (
    BACKWARD,
    BIDIRECTED,
    FORWARD,
    MARKS,
    NONE,
    index_pairs,
    states_of_graph,
)
from bowfree.graph.graph_like import GraphLike
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.names import node_index, parse_edge
from bowfree.graph.text import quote
from bowfree.model.fitting import fit_moments, warn_if_doubtful
from bowfree.model.inputs import graph_and_moments
from bowfree.model.scoring_rule import ScoringRule
from bowfree.parameters import Correlation, GraphClass, Means, Method, Missing, Penalty, public
from bowfree.results.display import (
    MOST_ROWS,
    Table,
    TextDisplay,
    count,
    number,
    p_cell,
    shorten_list,
)
from bowfree.results.frames import data_frame
from bowfree.results.serialization import ToDict
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace

# Log-likelihoods this close may be the same: the exact decision on equivalence is asked.
_MAYBE_EQUAL = 1e-6


@dataclass(frozen=True, repr=False)
class EdgeChange(TextDisplay, ToDict):
    """One change of one pair of variables, and what the refitted graph gains or loses by it.

    Attributes
    ----------
    a, b : str
        The pair.
    before, after : {"", "->", "<-", "<->"}
        What is between them now, and would be then; "" is no edge.
    loglik, chi2, score, aic, bic : float
        Differences, the changed graph minus the given one: a change for the better raises `loglik`
        and `score` and lowers the others. NaN where the changed graph cannot be fitted to these
        data.
    df : int
        Difference of the degrees of freedom: -1 for an edge added, 1 for one removed, else 0; more
        where conditions have parameters of the edge to themselves.
    p_value : float
        Of the likelihood-ratio test between the two, for an edge that is added or removed: small
        when it is needed. NaN for others, which are not nested.
    equivalent : bool
        No data can tell the changed graph from the given one.
    """

    a: str
    before: str
    after: str
    b: str
    loglik: float
    chi2: float
    df: int
    p_value: float
    score: float
    aic: float
    bic: float
    equivalent: bool

    @property
    def text(self) -> str:
        """The change in words, such as "add x -> y" or "x -> y becomes x <-> y"."""
        a, b = quote(self.a), quote(self.b)
        if not self.before:
            return f"add {a} {self.after} {b}"
        now = f"{a} {self.before} {b}"
        return f"{now} becomes {a} {self.after} {b}" if self.after else f"remove {now}"

    def _headline(self) -> str:
        if self.equivalent:
            return f"{self.text}: the same model"
        if math.isnan(self.chi2):
            return f"{self.text}: cannot be fitted"
        return f"{self.text}: chi-square {self.chi2:+.3f}, score {self.score:+.6f}"


@dataclass(frozen=True, repr=False)
class EdgeChanges(TextDisplay, ToDict):
    """All single changes of a graph, the best score first; iterable, with ``len``.

    Attributes
    ----------
    graph : MixedGraph
        The graph.
    changes : tuple of EdgeChange
        Sorted by the gain in score.
    loglik, chi2, score, bic : float
        Of the graph itself.
    n : float
        Number of observations.
    penalty : float
        Weight of ``log n`` per edge in the score.
    """

    graph: MixedGraph
    changes: tuple[EdgeChange, ...]
    loglik: float
    chi2: float
    score: float
    bic: float
    n: float
    penalty: float

    def __iter__(self) -> Iterator[EdgeChange]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def __getitem__(self, rank: int) -> EdgeChange:
        return self.changes[rank]

    def pair(self, a: str, b: str) -> tuple[EdgeChange, ...]:
        """Return the changes of one pair of variables, the best first."""
        ends = {self.graph.nodes[node_index(name, self.graph.nodes)] for name in (a, b)}
        return tuple(change for change in self.changes if {change.a, change.b} == ends)

    def to(self, a: str, mark: str | None = None, b: str | None = None) -> EdgeChange:
        """Return the change after which a pair has this edge.

        Parameters
        ----------
        a, mark, b : str
            ``.to("x", "->", "y")``, with mark ``"->"``, ``"<-"`` or ``"<->"``; or the edge as one
            text, ``.to("x -> y")``.

        Raises
        ------
        GraphError
            An unknown name, an edge that is there, or one that would leave the space of graphs.
        """
        nodes = self.graph.nodes
        i, kind, j = parse_edge(nodes, a, mark, b)
        x, y = nodes[i], nodes[j]
        forth, back = (kind, kind) if kind == "<->" else ("->", "<-")
        for change in self.pair(x, y):
            if change.after == (forth if change.a == x else back):
                return change
        there = self.graph.has_edge(f"{quote(x)} {kind} {quote(y)}")
        reason = "is in the graph already" if there else "is not possible in this space of graphs"
        raise GraphError(f"{quote(x)} {kind} {quote(y)} {reason}: it is no change of the graph")

    def without(self, a: str, b: str) -> EdgeChange:
        """Return the change that removes the edge between two variables."""
        for change in self.pair(a, b):
            if not change.after:
                return change
        raise GraphError(f"there is no edge between {quote(a)} and {quote(b)} to remove")

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each change.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns a, before, after, b, loglik, chi2, df, p_value, score, aic, bic, equivalent.
        """
        columns = tuple(EdgeChange.__dataclass_fields__)
        return data_frame({c: [getattr(e, c) for e in self.changes] for c in columns}, backend)

    def _headline(self) -> str:
        better = sum(change.score > 0 and not change.equivalent for change in self.changes)
        some = f"{better} with a better score" if better else "none with a better score"
        return f"{count(len(self), 'single change')} of {self.graph}, {some}"

    def _sections(self) -> Iterator[str | Table]:
        if not self.changes:
            yield "no single change is possible"
            return
        graph = shorten_list(str(self.graph), "changes.graph has all")
        yield f"differences to {graph} (score {self.score:.6f}, n = {self.n:g})"
        rows = [
            (
                change.text,
                number(change.chi2),
                f"{change.df:+d}" if change.df else "0",
                p_cell(change.p_value),
                number(change.bic),
                number(change.score, 6),
                "same model" if change.equivalent else "",
            )
            for change in self.changes
        ]
        headings = ("change", "chi-square", "df", "p", "BIC", "score", "")
        rest = "with lower scores: to_frame() has all"
        yield Table(headings, rows, left=(0, 6), most=MOST_ROWS, rest=rest)


@public
def edge_changes(
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
    space: SearchSpace | None = None,
    graph_class: GraphClass | None = None,
    max_in_degree: int | None = None,
    max_district: int | None = None,
    max_edges: int | None = None,
    knowledge: Knowledge | None = None,
    penalty: Penalty | None = None,
    gamma: float | None = None,
    smallest_effect: float = 0.0,
    method: Method = "newton",
    max_iter: int | None = None,
) -> EdgeChanges:
    """Refit every graph that differs in one edge, and compare it with the original graph.

    Parameters
    ----------
    graph : MixedGraph, or a result that has one
        A BAP. The result of a search provides its data, its space and its penalty.
    penalty : float or "ebic", optional
        Weight of ``log n`` for each node and edge in the score. By default that of the result, or 1
        for a graph.

    Returns
    -------
    EdgeChanges
        Every permitted addition, removal, reversal and change of kind, the best score first.

    Warns
    -----
    FitWarning
        When the fit of the graph itself is not certified.

    Notes
    -----
    As in the search, each district is fitted from one start. Where the likelihood has several
    maxima, a :func:`bowfree.fit` of the changed graph with more ``n_starts`` may be higher.

    References
    ----------
    Section 3.1 of the paper.

    Examples
    --------
    >>> import bowfree as bf
    >>> S = [[1.0, 0.5, 0.4], [0.5, 1.0, 0.6], [0.4, 0.6, 1.0]]
    >>> changes = bf.edge_changes(bf.parse("x -> y -> z"), cov=S, n=200)
    >>> print(changes[0])
    x -> y becomes x <- y: the same model
    >>> print(changes.to("x -> z"))
    add x -> z: chi-square -4.211, score -0.015965
    """
    options = DataOptions(cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means)
    bap, moments = graph_and_moments(graph, data, options._given())
    if penalty is None:
        penalty = float(getattr(graph, "penalty", 1.0))
    rule = ScoringRule(penalty, method, max_iter, gamma, smallest_effect)
    rule = rule.settled(moments.n, len(bap))
    within = SearchSpace.of(
        getattr(graph, "space", None) if space is None else space,
        graph_class=graph_class,
        max_in_degree=max_in_degree,
        max_district=max_district,
        max_edges=max_edges,
        knowledge=knowledge,
    )
    within.check_start(bap, bap.nodes)
    fit = fit_moments(bap, moments, rule)
    warn_if_doubtful(fit.certificate)
    moves, gains = _core.edge_changes(
        moments._core_data(rule.method), *bap._bits(), within.rules(bap.nodes), rule.sweeps
    )
    n = moments.n
    finite = math.isfinite(n)
    logliks = np.where(np.isfinite(gains), gains, np.nan) * (n if finite else 1.0)
    price = rule.weight * math.log(n) / n if finite else 0.0
    states = dict(zip(index_pairs(len(bap)), states_of_graph(bap).tolist(), strict=True))

    from scipy.special import chdtrc

    own = moments._own if isinstance(moments, JointMoments) else None
    conditions = targets_of(moments, moments.names)
    changes = []
    for (i, j, state), loglik in zip(moves.tolist(), logliks.tolist(), strict=True):
        now, a, b = states[i, j], bap.nodes[i], bap.nodes[j]
        more = _n_parameters(state, i, j, own) - _n_parameters(now, i, j, own)
        nested = NONE in (state, now)
        same = more == 0 and abs(loglik) < _MAYBE_EQUAL
        changed = _changed(bap, i, j, MARKS[now], MARKS[state]) if same else bap
        if same and equivalent(bap, changed, targets=conditions.sets, kind=conditions.kind, rng=0):
            loglik = 0.0  # but for rounding
        else:
            same = False
        chi2 = -2 * loglik + 0.0 if finite else math.nan
        changes.append(
            EdgeChange(
                a,
                MARKS[now],
                MARKS[state],
                b,
                loglik,
                chi2,
                -more,
                float(chdtrc(abs(more), abs(chi2))) if nested else math.nan,
                loglik / n - price * more if finite else loglik,
                chi2 + 2 * more,
                chi2 + math.log(n) * more if finite else math.nan,
                same,
            )
        )
    # Equally good changes stay in the order of their pairs, whatever the last bits of a score say.
    changes.sort(key=lambda c: math.inf if math.isnan(c.score) else -round(c.score, 10))
    return EdgeChanges(
        bap, tuple(changes), fit.loglik, fit.chi2, fit.score, fit.bic, n, rule.weight
    )


def _n_parameters(
    state: int, i: int, j: int, own: tuple[npt.NDArray[np.int_], npt.NDArray[np.int_]] | None
) -> int:
    """Return how many parameters a pair has, with those that conditions have to themselves."""
    if state == NONE:
        return 0
    if own is None:
        return 1
    B, Omega = own
    return 1 + int({FORWARD: B[j, i], BACKWARD: B[i, j], BIDIRECTED: Omega[i, j]}[state])


def _changed(graph: MixedGraph, i: int, j: int, before: str, after: str) -> MixedGraph:
    a, b = quote(graph.nodes[i]), quote(graph.nodes[j])
    return graph.replace(f"{a} {before} {b}", f"{a} {after} {b}")
