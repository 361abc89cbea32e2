"""Which absent edges would improve a fit: score tests, without a refit.

For a parameter that the graph fixes at zero, the gradient of the log-likelihood at the fit says
whether the likelihood would grow if it were free, and the information says how far. With gradient
g, information c of the new parameter, information I of the free ones and k between the two,

    index = g^2 / (c - k I^-1 k^T),    expected change = g / (c - k I^-1 k^T),

which is what lavaan's ``modindices`` computes (expected information). The index is about the fall
of chi-square if the edge were added; :func:`bowfree.edge_changes` has the exact one.

An edge is looked at when the graph stays a BAP with it. A second edge at a pair would be a bow or
a cycle, and an edge from a descendant a cycle: these are skipped, and listed as such.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree.errors import GraphError
from bowfree.graph.names import EdgeLookup
from bowfree.graph.text import quote
from bowfree.model.inference import Parameter, expected_information
from bowfree.results.display import (
    MOST_ROWS,
    Table,
    TextDisplay,
    count,
    number,
    p_cell,
    p_text,
    significant,
)
from bowfree.results.frames import data_frame
from bowfree.results.serialization import ToDict

if TYPE_CHECKING:
    from bowfree.model.fit_result import Fit


Floats = npt.NDArray[np.float64]
Edge = tuple[str, Literal["->", "<->"], str]

# Candidates whose information is computed at once: some megabytes of numbers.
_AT_ONCE = 1000
# What is left of a candidate's information after the free parameters; below, it is rounding.
_NOTHING_LEFT = 1e-10


@dataclass(frozen=True, repr=False)
class ModificationIndex(TextDisplay, ToDict):
    """What one absent edge would bring.

    Attributes
    ----------
    a, mark, b : str
        The edge: ``"x", "->", "y"`` or ``"x", "<->", "y"``.
    index : float
        About the fall of chi-square if the edge were added; NaN for ``n = inf``, and where the data
        say nothing about the edge.
    p_value : float
        Of the hypothesis that the edge is absent (one degree of freedom).
    expected_change : float
        About the value that its parameter would have.
    std_all : float
        The same in standard deviations of the variables, or as a correlation of the errors.
    """

    a: str
    mark: Literal["->", "<->"]
    b: str
    index: float
    p_value: float
    expected_change: float
    std_all: float

    def _headline(self) -> str:
        known = "" if math.isnan(self.index) else f" {self.index:.3f}, {p_text(self.p_value)}"
        change = "" if math.isnan(self.expected_change) else f"change {self.expected_change:.4f}"
        return f"{_text((self.a, self.mark, self.b))}:{known or ' no test'}; {change}".rstrip("; ")


@dataclass(frozen=True, repr=False)
class ModificationIndices(TextDisplay, ToDict, EdgeLookup[ModificationIndex]):
    """The score tests of all edges that could be added; iterable, with ``len``, largest first.

    Attributes
    ----------
    entries : tuple of ModificationIndex
        Sorted by their index.
    bows, cycles : tuple of (str, str, str)
        Edges that were skipped: with them the graph would have two edges at a pair of which one is
        bidirected, or a directed cycle.
    names : tuple of str
        The variables.
    n : float
        Number of observations.
    """

    entries: tuple[ModificationIndex, ...]
    bows: tuple[Edge, ...]
    cycles: tuple[Edge, ...]
    names: tuple[str, ...]
    n: float

    def __iter__(self) -> Iterator[ModificationIndex]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, rank: int) -> ModificationIndex:
        return self.entries[rank]

    def _at_edge(self, i: int, mark: Literal["->", "<->"], j: int) -> ModificationIndex:
        wanted = {(self.names[i], mark, self.names[j])}
        if mark == "<->":
            wanted.add((self.names[j], mark, self.names[i]))
        for entry in self.entries:
            if (entry.a, entry.mark, entry.b) in wanted:
                return entry
        text = _text((self.names[i], mark, self.names[j]))
        for what, skipped in (("a bow", self.bows), ("a cycle", self.cycles)):
            if wanted & set(skipped):
                raise GraphError(f"{text} would make {what}, and was skipped; remove an edge first")
        raise GraphError(f"{text} is in the graph already: fit.edge(...) has its estimate")

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each edge that could be added.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns a, mark, b, index, p_value, expected_change, std_all.
        """
        columns = tuple(ModificationIndex.__dataclass_fields__)
        return data_frame({c: [getattr(e, c) for e in self.entries] for c in columns}, backend)

    def _headline(self) -> str:
        best = f", largest for {_text((e.a, e.mark, e.b))}" if (e := self._largest()) else ""
        return f"{count(len(self), 'edge')} that could be added{best}"

    def _largest(self) -> ModificationIndex | None:
        return self.entries[0] if self.entries and not math.isnan(self.entries[0].index) else None

    def _sections(self) -> Iterator[str | Table]:
        if self.entries:
            rows = [
                (
                    _text((e.a, e.mark, e.b)),
                    number(e.index),
                    p_cell(e.p_value),
                    significant(e.expected_change, 4),
                    number(e.std_all),
                )
                for e in self.entries
            ]
            headings = ("edge", "index", "p", "expected change", "std. all")
            yield Table(headings, rows, most=MOST_ROWS, rest="smaller ones: to_frame() has all")
        else:
            yield "no edge can be added"
        skipped = [
            f"{len(edges)} would make a {what}"
            for what, edges in (("bow", self.bows), ("cycle", self.cycles))
            if edges
        ]
        if skipped:
            yield f"skipped: {', '.join(skipped)}"


def modification_indices(fit: Fit) -> ModificationIndices:
    """Test every edge that could be added; see :meth:`bowfree.Fit.modification_indices`."""
    from scipy.special import chdtrc

    names = fit.graph.nodes
    legal, bows, cycles = _absent_edges(fit)
    gradient, information = _efficient_scores(fit, legal)
    with np.errstate(divide="ignore", invalid="ignore"):
        change = gradient / information
        index = fit.n * gradient * change if math.isfinite(fit.n) else np.full(len(legal), np.nan)
    p_values = chdtrc(1, index)
    # Equivalent additions have equal indices, which differ by rounding only; NaN comes last.
    order = np.argsort(-index.round(6), kind="stable")

    def named(parameter: Parameter) -> Edge:
        kind, i, j = parameter
        return (names[j], "->", names[i]) if kind == "B" else (names[i], "<->", names[j])

    sd, sd_errors = np.sqrt(np.diag(fit.Sigma)), np.sqrt(np.diag(fit.Omega))
    entries = []
    for s in order.tolist():
        kind, i, j = legal[s]
        unit = sd[i] / sd[j] if kind == "B" else sd_errors[i] * sd_errors[j]
        numbers = (index[s], p_values[s], change[s], change[s] / unit)
        entries.append(ModificationIndex(*named(legal[s]), *map(float, numbers)))
    return ModificationIndices(
        tuple(entries), tuple(map(named, bows)), tuple(map(named, cycles)), names, fit.n
    )


def _absent_edges(fit: Fit) -> tuple[list[Parameter], list[Parameter], list[Parameter]]:
    """Return the parameters that could be freed, and those that would make a bow or a cycle."""
    graph = fit.graph
    parents, spouses = graph._parents, graph._spouses
    below = [graph._mask(graph.descendants(name)) for name in graph.nodes]
    legal: list[Parameter] = []
    bows: list[Parameter] = []
    cycles: list[Parameter] = []
    for j in range(len(graph)):
        for i in range(len(graph)):
            if i == j or parents[i] >> j & 1:
                continue
            # The effect of j on i: a cycle when i is above j already.
            if below[i] >> j & 1:
                cycles.append(("B", i, j))
            elif spouses[i] >> j & 1:
                bows.append(("B", i, j))
            else:
                legal.append(("B", i, j))
    for i in range(len(graph)):
        for j in range(i + 1, len(graph)):
            if spouses[i] >> j & 1:
                continue
            joined = parents[i] >> j & 1 or parents[j] >> i & 1
            (bows if joined else legal).append(("Omega", i, j))
    return legal, bows, cycles


def _efficient_scores(fit: Fit, candidates: list[Parameter]) -> tuple[Floats, Floats]:
    """Return the gradient in each candidate, and what the free parameters leave of its information.

    Both are per observation; NaN where the free parameters are not identified, or leave nothing.
    """
    A = np.eye(len(fit.B)) - fit.B
    W, E = (np.asarray(np.linalg.inv(matrix), dtype=np.float64) for matrix in (fit.Omega, A))
    WAS = W @ A @ fit.S
    towards_B, towards_Omega = WAS, WAS @ A.T @ W - W
    gradient = np.array(
        [(towards_B if kind == "B" else towards_Omega)[i, j] for kind, i, j in candidates]
    )
    known = expected_information(fit.B, fit.Omega, 1.0, fit._parameters)
    scale = 1 / np.sqrt(np.diag(known))
    try:
        root = np.linalg.cholesky(known * np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return gradient, np.full(len(candidates), np.nan)
    from scipy.linalg import solve_triangular

    between = _Information(W, E, fit.Sigma, fit._parameters)
    own, left = np.empty(len(candidates)), np.empty(len(candidates))
    for start in range(0, len(candidates), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        own[some], shared = between.candidates(candidates[some])
        shared = solve_triangular(root, (scale * shared).T, lower=True, overwrite_b=True)
        left[some] = own[some] - np.einsum("st,st->t", shared, shared)
    left[~(left > _NOTHING_LEFT * own)] = np.nan
    return gradient, left


class _Information:
    """Expected information of absent parameters, per observation, and between them and free ones.

    In the terms of :func:`~bowfree.model.inference.expected_information` a parameter (matrix, i, j)
    has U = e_i, and V = Omega E^T e_j for an effect or e_j for a covariance (half of it for a
    variance). The products that the information of two parameters is made of, with W the inverse of
    Omega and E that of I - B, are then entries of W, E and Sigma, and nothing has to be solved:

        U^T W U'    W[i, i']
        V^T W U'    E[j, i'] or W[j, i']
        V^T W V'    Sigma[j, j'], E[j, j'] or W[j, j'], for two effects, one, none
    """

    def __init__(
        self, W: Floats, E: Floats, Sigma: Floats, parameters: Sequence[Parameter]
    ) -> None:
        self.W, self.E, self.Sigma = W, E, Sigma
        rows = np.array([i for _, i, _ in parameters])
        columns = np.array([j for _, _, j in parameters])
        effect = np.array([kind == "B" for kind, _, _ in parameters])
        half = np.where(rows == columns, 0.5, 1.0)
        # One column for each free parameter; the rows of VWU and VWV are for the V that a candidate
        # can have, first those of effects, then those of covariances.
        self.WU, self.WV = W[:, rows], np.where(effect, E.T[:, columns], half * W[:, columns])
        EV = np.where(effect, Sigma[:, columns], half * E[:, columns])
        self.VWU, self.VWV = np.vstack([E[:, rows], self.WU]), np.vstack([EV, self.WV])

    def candidates(self, parameters: Sequence[Parameter]) -> tuple[Floats, Floats]:
        """Return their own information, and the rows of it that they share with the free ones."""
        i = np.array([i for _, i, _ in parameters])
        j = np.array([j for _, _, j in parameters])
        effect = np.array([kind == "B" for kind, _, _ in parameters])
        crossed = np.where(effect, self.E[j, i], self.W[j, i])
        own = crossed**2 + self.W[i, i] * np.where(effect, self.Sigma[j, j], self.W[j, j])
        V = np.where(effect, j, j + len(self.W))
        return own, self.VWU[V] * self.WV[i] + self.WU[i] * self.VWV[V]


def _text(edge: tuple[str, str, str]) -> str:
    a, mark, b = edge
    return f"{quote(a)} {mark} {quote(b)}"
