"""Comparison of several graphs on the same data.

Nesting of models is not a matter of edges: ``x -> y`` and ``x <-> y`` are the same model, and a
graph with other edges may contain another (section 2.4). :func:`bowfree.is_submodel` decides it
exactly. Nested pairs are compared by the difference of their chi-squares, all others by Vuong's
test, which tests whether the mean of the differences ``l_i(G) - l_i(H)`` of case-wise
log-likelihoods is zero. If the differences do not vary, the data cannot distinguish the graphs; the
first step of Vuong's procedure tests that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree.data.conditions import are_conditions, listed_conditions
from bowfree.data.frames import read_observations
from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.data.sample import inverse_covariance
from bowfree.equivalence.decision import is_submodel
from bowfree.errors import BowfreeError, GraphError
from bowfree.graph.mixed_graph import GraphLike, graph_of
from bowfree.model.certificates import warn_if_doubtful
from bowfree.model.context import context_of
from bowfree.model.fit_result import Fit
from bowfree.model.fitting import fit_sample
from bowfree.model.inference import case_scores, observed_information
from bowfree.parameters import Correlation, Means, Method, Missing, Penalty, Rng, public
from bowfree.results.display import MOST_ROWS, Table, count
from bowfree.results.rows import Cell, Row, RowTable, row_table
from bowfree.results.serialization import ToDict
from bowfree.text_reading import join_names, short_repr, similar_names
from bowfree.validation import as_list

Floats = npt.NDArray[np.float64]

_NUMBERS = ("n_parameters", "loglik", "df", "chi2", "p_value", "aic", "bic", "score")
# Weights of a sum of chi-squares below this fraction of the largest are rounding.
_NO_WEIGHT = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(RowTable, ToDict):
    """Fits of several graphs to the same data; made by :func:`bowfree.compare`.

    Attributes
    ----------
    names : tuple of str
        Names of the graphs.
    fits : tuple of Fit
        Their fits.
    pairs : tuple of Row
        All pairs: ``a``, ``b`` (names; `a` is the smaller model of a nested pair), ``relation``
        ("same model", "nested" or "not nested"), ``loglik`` (log-likelihood of b minus that of a),
        ``test`` ("chi-square difference", "Vuong", or "" if there is none), ``statistic``, ``df``,
        ``p_value`` and ``p_distinguishable``. Nested: difference of the chi-squares and of the
        degrees of freedom; a small p-value is evidence against `a`. Vuong: a z-value, positive in
        favor of b, with a two-sided p-value; ``p_distinguishable`` is small if the data can
        distinguish the graphs, and the z-value is meaningless otherwise.
    vuong : str
        Why there is no Vuong test; empty if there is one.
    """

    names: tuple[str, ...]
    fits: tuple[Fit, ...]
    pairs: tuple[Row, ...]
    vuong: str

    def fit(self, name: str) -> Fit:
        """Return the fit of one graph."""
        return self.fits[self._index(name)]

    def pair(self, a: str, b: str) -> Row:
        """Return the test between two graphs, in either order."""
        ends = {self.names[self._index(name)] for name in (a, b)}
        for pair in self.pairs:
            if {pair.a, pair.b} == ends:
                return pair
        raise BowfreeError(f"{short_repr(a)} twice: a pair consists of two different graphs")

    def _index(self, name: object) -> int:
        if isinstance(name, str) and name in self.names:
            return self.names.index(name)
        close = similar_names(name, self.names) if isinstance(name, str) else []
        hint = f"did you mean {close[0]!r}?" if close else f"there are {join_names(self.names)}"
        raise BowfreeError(f"no graph is called {short_repr(name)}; {hint}")

    @property
    def rows(self) -> list[Row]:
        """A row for each graph, as in :meth:`to_frame`.

        Columns name, graph, n_parameters, loglik, df, chi2, p_value (of the test that is valid for
        the data), aic, bic, score, and d_aic, d_bic: differences to the smallest.
        """
        least = {name: min(getattr(fit, name) for fit in self.fits) for name in ("aic", "bic")}
        return [
            Row(
                name=name,
                graph=str(fit.graph),
                **{key: getattr(fit, key) for key in _NUMBERS}
                | {key: getattr(fit.valid_test, key) for key in ("chi2", "p_value")},
                **{f"d_{key}": getattr(fit, key) - value for key, value in least.items()},
            )
            for name, fit in zip(self.names, self.fits, strict=True)
        ]

    def _content(self) -> Any:
        return {"n": self.fits[0].n, "graphs": self.rows, "pairs": self.pairs, "vuong": self.vuong}

    def _headline(self) -> str:
        # Equivalent graphs differ by rounding only.
        best = min(self.rows, key=lambda row: round(row.bic, 6))
        lowest = "" if math.isnan(best.bic) else f", lowest BIC: {best.name}"
        return f"{count(len(self), 'graph')}, n = {self.fits[0].n:g}{lowest}"

    def _sections(self) -> Iterator[str | Table]:
        yield self._headline()
        graphs: dict[str, Cell] = {
            "graph": "name",
            "parameters": "n_parameters",
            "loglik": "loglik:.3f",
            "chi-square": "chi2:.3f",
            "df": "df",
            "p": "p_value:p",
            "AIC": "aic:.2f",
            "BIC": "bic:.2f",
            "above best": "d_bic:.2f",
        }
        yield row_table(self.rows, graphs)
        pairs: dict[str, Cell] = {
            "pair": lambda p: f"{p.a} in {p.b}" if p.relation == "nested" else f"{p.a}, {p.b}",
            "models": "relation",
            "test": "test",
            "statistic": "statistic:.3f",
            "df": lambda p: str(p.df) if p.relation == "nested" else "",
            "p": "p_value:p",
            "p (distinguishable)": "p_distinguishable:p",
        }
        if self.pairs:
            yield ""
            left = (0, 1, 2)
            yield row_table(self.pairs, pairs, left=left, most=MOST_ROWS - 6, rest="more: .pairs")
        if self.vuong:
            yield self.vuong


@public
def compare(
    graphs: Mapping[str, GraphLike] | Sequence[GraphLike],
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
) -> Comparison:
    """Fit several graphs to the same data, and test every pair of them.

    Parameters
    ----------
    graphs : mapping from names to graphs, or sequence of graphs
        BAPs on the same variables, or results that have one. Without names they are called G1, G2,
        ... By default the data are those of the first result among them.
    data : array_like of shape (n, d), data frame or Moments, optional
        Observations in rows. Vuong's test requires them; moments or a covariance matrix are
        sufficient for everything else.
    penalty : float or "ebic", optional
        Weight of ``log n`` for each node and edge in the score; by default that of each result, or
        1, the paper's.

    References
    ----------
    Q. H. Vuong, Likelihood ratio tests for model selection and non-nested hypotheses, Econometrica
    57 (1989).

    Examples
    --------
    >>> import bowfree as bf
    >>> graphs = {"chain": bf.parse("x -> y -> z"), "full": bf.parse("x -> y -> z <-> x")}
    >>> S = [[1.0, 0.5, 0.4], [0.5, 1.0, 0.6], [0.4, 0.6, 1.0]]
    >>> pair = bf.compare(graphs, cov=S, n=200).pair("chain", "full")
    >>> pair.relation, round(pair.p_value, 4)
    ('nested', 0.0402)
    """
    if isinstance(graphs, Mapping):
        named = {str(name): graph for name, graph in graphs.items()}
    else:
        listed = as_list("graphs", graphs, "graphs", GraphError)
        named = {f"G{k}": graph for k, graph in enumerate(listed, start=1)}
    if not named:
        raise BowfreeError("no graphs to compare: pass a mapping from names to graphs, or a list")
    first, *others = (graph_of(graph) for graph in named.values())
    for other in others:
        if set(other.nodes) != set(first.nodes):
            odd = sorted(set(other.nodes) ^ set(first.nodes))
            raise GraphError(
                f"the graphs have different variables, {join_names(odd)}: models of different "
                "variables cannot be compared by their likelihoods"
            )
    contexts = [context_of(graph) for graph in named.values()]
    if data is None and cov is None:
        data = next((c.moments for c in contexts if c.moments is not None), None)
    options = DataOptions(cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means)
    fits = []
    for context in contexts:
        rule = context.scoring_rule(penalty, gamma, smallest_effect, method, max_iter)
        moments = options.read(data, context.graph)
        fit = fit_sample(context.graph, moments, rule, tol=tol, n_starts=n_starts, rng=rng)
        warn_if_doubtful(fit.certificate)
        fits.append(fit)
    cases, why = _cases(fits, data, options)
    pairs = tuple(
        _pair(one, other) for one, other in combinations(zip(named, fits, cases, strict=True), 2)
    )
    needed = any(pair.relation == "not nested" for pair in pairs)
    return Comparison(tuple(named), tuple(fits), pairs, why if needed else "")


def _cases(fits: Sequence[Fit], data: Any, options: DataOptions) -> tuple[list[Floats | None], str]:
    """Return the rows in the node order of each graph, or the reason why they cannot be used."""
    nothing: list[Floats | None] = [None] * len(fits)
    if isinstance(fits[0].moments, JointMoments):
        _ = fits[0].moments.S  # raises an error with targets, where nesting is another question
        return nothing, "no Vuong test: it is for one table, not for several conditions"
    if data is None or isinstance(data, Moments):
        return nothing, (
            "graphs that are not nested are compared by Vuong's test, which needs the rows: pass "
            "`data` instead of a covariance matrix or moments"
        )
    table = listed_conditions(data)[0].data if are_conditions(data) else data
    rows = [read_observations(table, fit.graph, "data")[1] for fit in fits]
    rows = [X - X.mean(axis=0) for X in rows]
    if options.shrinkage or not np.isfinite(rows[0]).all() or len(rows[0]) != fits[0].n:
        return nothing, (
            "no Vuong test: the maximized likelihood is not that of these rows (missing values, "
            "weights or shrinkage)"
        )
    return list(rows), ""


Fitted = tuple[str, Fit, Floats | None]


def _pair(one: Fitted, other: Fitted) -> Row:
    from scipy.special import chdtrc, ndtr

    inside = is_submodel(one[1].graph, other[1].graph, rng=0)
    around = is_submodel(other[1].graph, one[1].graph, rng=0)
    if around and not inside:
        one, other = other, one
    (a, small, X), (b, large, Y) = one, other
    loglik, df = large.loglik - small.loglik, small.df - large.df
    relation, test, statistic, p_value, p_distinct = "not nested", "", math.nan, math.nan, math.nan
    if inside and around:
        relation, df = "same model", 0
    elif inside or around:
        relation = "nested"
        if math.isfinite(small.n):
            scaled = small.test != "standard"
            test = "scaled chi-square difference" if scaled else "chi-square difference"
            statistic = max(2 * loglik, 0.0) / (_difference_factor(small, large) if scaled else 1.0)
            p_value = float(chdtrc(df, statistic))
    elif X is not None and Y is not None:
        test = "Vuong"
        difference = case_logliks(large, Y) - case_logliks(small, X)
        variance = float(np.var(difference))
        statistic = float(difference.sum() / math.sqrt(len(X) * variance))
        p_value = 2 * float(ndtr(-abs(statistic)))
        weights = _vuong_weights((small, X), (large, Y))
        p_distinct = weighted_chi2_tail(weights**2, len(X) * variance)
    found = {"test": test, "statistic": statistic, "df": df, "p_value": p_value}
    return Row(a=a, b=b, relation=relation, loglik=loglik, **found, p_distinguishable=p_distinct)


def _difference_factor(small: Fit, large: Fit) -> float:
    """Return the scaling factor of a difference of chi-squares (Satorra and Bentler 2001)."""
    means = [fit.df * fit.scaling_factor if fit.df else 0.0 for fit in (small, large)]
    factor = (means[0] - means[1]) / (small.df - large.df)
    return factor if factor > 0 else math.nan


def case_logliks(fit: Fit, deviations: Floats) -> Floats:
    """Return the log-likelihood of every row, given its deviations from the mean."""
    errors = deviations @ (np.eye(len(fit.B)) - fit.B).T
    distance = np.sum(errors * (errors @ inverse_covariance(fit.Omega)), axis=1)
    constant = len(fit.B) * math.log(2 * math.pi) + np.linalg.slogdet(fit.Omega)[1]
    logliks: Floats = -(constant + distance) / 2
    return logliks


def _vuong_weights(*fits: tuple[Fit, Floats]) -> Floats:
    """Return the eigenvalues of the matrix W in Vuong's theorem 3.3."""
    parts = [case_scores(fit.B, fit.Omega, X, fit._parameters) for fit, X in fits]
    scores, q = np.hstack(parts), parts[0].shape[1]
    unit = np.sqrt(np.mean(scores**2, axis=0))
    outer = (scores / unit).T @ (scores / unit) / len(scores)
    inverse = np.zeros_like(outer)
    for (fit, _), part, sign in zip(fits, (slice(q), slice(q, None)), (1.0, -1.0), strict=True):
        information = observed_information(fit.B, fit.Omega, fit.S, 1.0, fit._parameters)
        inverse[part, part] = sign * np.linalg.inv(information / np.outer(unit[part], unit[part]))
    return np.asarray(np.linalg.eigvals(outer @ inverse).real, dtype=np.float64)


def weighted_chi2_tail(weights: Floats, x: float) -> float:
    """Return the probability that a weighted sum of chi-squares (one df each) is above `x`.

    By Imhof's inversion of the characteristic function, on the scale of the largest weight.
    """
    from scipy.special import chdtrc

    largest = float(weights.max())
    w = weights[weights > _NO_WEIGHT * largest] / largest
    k, x = len(w), x / largest
    bound = float(chdtrc(k, x))  # as if all weights were the largest
    if k == 1 or bound < 1e-9:
        return bound
    # The integral beyond `far` is at most 2 / (pi k) far^(-k/2) / prod sqrt(w), and much smaller
    # for few weights, because the integrand oscillates.
    spread = math.sqrt(float(np.prod(np.maximum(w, 1e-3))))
    far = min((2e8 / (math.pi * k * spread)) ** (2 / k), 5e3)
    # Intervals with at most one period of the sine, each integrated with 16 nodes.
    nodes, node_weights = np.polynomial.legendre.leggauss(16)
    half = far / math.ceil(far * (x + w.sum()) / 12) / 2
    centers = np.arange(half, far, 2 * half)
    total = 0.0
    for node, node_weight in zip(nodes, node_weights, strict=True):
        u = centers + half * node
        turned = w[:, None] * u
        theta = 0.5 * (np.arctan(turned).sum(axis=0) - x * u)
        size = u * np.exp(0.25 * np.log1p(turned**2).sum(axis=0))
        total += node_weight * half * float(np.sum(np.sin(theta) / size))
    return min(bound, max(0.0, 0.5 + total / math.pi))
