"""Path effects averaged over graphs: :meth:`bowfree.AveragedEffects.path_effects`.

An effect along directed paths depends on the districts that the paths visit and on their incoming
edges only, because the likelihood is a product over districts. Graphs that agree in these are
fitted once, without the rest of the graph.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.covariance import safe_inverse
from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.data.nominal import to_columns
from bowfree.effects.mediation import Effect, NamedEffects, effect_along, named_effects
from bowfree.errors import BowfreeError
from bowfree.graph.encodings import graphs_of_bits
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.model.inference import observed_information
from bowfree.results.display import MOST_ROWS, Table, significant
from bowfree.results.rows import Row
from bowfree.uncertainty.average_result import N_BATCHES, AveragedEffects
from bowfree.uncertainty.posterior import fit_covariances, sandwich_of
from bowfree.validation import check_count

Floats = npt.NDArray[np.float64]
_Part = tuple[
    float, Floats, float, float
]  # of a mixture: weight, by batch, estimate, standard error

MOST_PATHS = 100  # of one graph
RARE = 0.01  # probability below which a single path is not listed
# Probability up to which an effect is neglected: less than for total effects, because a path of
# several edges is improbable even if it exists.
NEGLECTED = 0.001


@dataclass(frozen=True, repr=False)
class AveragedPathEffects(NamedEffects):
    """Path effects averaged over graphs; see :meth:`bowfree.AveragedEffects.path_effects`.

    Attributes
    ----------
    of, on : str
        Cause and outcome.
    rows : tuple of Row
        ``effect`` ("total", "direct", "indirect", "through m", or a path), ``probability`` (that
        such a path exists), ``mcse`` (its Monte Carlo standard error; 0 if no graph was sampled),
        ``mean``, ``lower`` and ``upper``. Mean and interval include the graphs without a path,
        where the effect is zero, as in :class:`bowfree.AveragedEffects`; both ends are zero if
        the probability is at most 0.001.
    confidence : float
        Probability that the intervals should cover.
    """

    confidence: float
    _columns: ClassVar = ("effect", "probability", "mcse", "mean", "lower", "upper")

    def _headline(self) -> str:
        first = self.rows[0]
        return (
            f"effect of {quote(self.of)} on {quote(self.on)}: P = {first.probability:.2f}, "
            f"{significant(first.lower)} to {significant(first.upper)}"
        )

    def _sections(self) -> Iterator[str | Table]:
        yield f"effects of {quote(self.of)} on {quote(self.on)}, averaged over graphs"
        level = f"{100 * self.confidence:g} %"
        rows = [
            (
                row.effect,
                f"{row.probability:.2f}",
                *map(significant, (row.mean, row.lower, row.upper)),
            )
            for row in self.rows
        ]
        heading = ("effect", "P(path)", "mean", f"{level} lower", f"{level} upper")
        yield Table(heading, rows, left=(0,), most=MOST_ROWS, rest="more: to_frame() has all")


def average_paths(
    average: AveragedEffects,
    of: str,
    on: str,
    through: str | Iterable[str],
    avoiding: str | Iterable[str],
    max_paths: int,
) -> AveragedPathEffects:
    """Average the effects along the paths from one variable to another."""
    check_count("max_paths", max_paths, 0)
    empty = MixedGraph(average.names)
    through, avoiding = (sorted(empty._names(empty._mask(x))) for x in (through, avoiding))
    graphs, moments = average._graphs, average._moments
    if isinstance(moments, JointMoments) or average.formula != "corrected":
        raise BowfreeError(
            "path effects are averaged for data of one condition and formula='corrected' only; "
            "path_effects takes the fit of one graph to several conditions"
        )
    if not graphs.all_members:
        raise BowfreeError(
            "path effects are averaged over the graphs of a search or of chains: pass one of these "
            "to averaged_effects instead of single graphs"
        )
    sampled = len(graphs.batches) > 0
    batches = graphs.batches if sampled else np.zeros((len(graphs.weights), N_BATCHES))
    known: dict[MixedGraph, tuple[float, Floats]] = {}
    columns = moments
    names = list(named_effects(empty, of, on, through, avoiding))  # also checks the arguments
    for graph, weight, shares in zip(
        graphs_of_bits(moments.names, graphs.parents, graphs.spouses),
        graphs.weights.tolist(),
        batches,
        strict=True,
    ):
        graph, columns = to_columns(graph, moments)
        if of not in graph.ancestors(on):
            continue
        part = districts_on_paths(graph, of, on)
        before, parts = known.get(part, (0.0, np.zeros(N_BATCHES)))
        known[part] = (before + weight, parts + shares)
    found: dict[str, list[_Part]] = {name: [] for name in names}
    for graph, (weight, shares) in known.items():
        own = dict(
            zip(names, named_effects(graph, of, on, through, avoiding).values(), strict=True)
        )
        for path in islice(graph.directed_paths(of, on), MOST_PATHS if max_paths else 0):
            if path.length > 1:
                own[str(path)] = effect_along(graph, path.nodes)
        for name, (estimate, error) in _estimates(graph, columns, average.se, own).items():
            found.setdefault(name, []).append((weight, shares, estimate, error))
    totals = batches.sum(axis=0)
    rows = [_row(name, parts, average.confidence, totals) for name, parts in found.items()]
    single = [row for row in rows[len(names) :] if row.probability >= RARE]
    single.sort(key=lambda row: -row.probability)
    listed = (*rows[: len(names)], *single[:max_paths])
    return AveragedPathEffects(of, on, listed, average.confidence)


def _row(name: str, parts: list[_Part], confidence: float, totals: Floats) -> Row:
    """Return the row of an effect; `totals` are the weights of all graphs by batch."""
    known = np.array([(w, estimate, error) for w, _, estimate, error in parts if error > 0])
    rest = 1.0 - sum(weight for weight, _, _, error in parts if not error > 0)
    weights, estimates, errors = np.ascontiguousarray(known.reshape(-1, 3).T)
    mean, lower, upper = _core.summarize_mixture(
        weights, estimates, errors, confidence, rest, NEGLECTED
    )
    batches = sum((shares for _, shares, _, _ in parts), np.zeros(N_BATCHES))
    share = batches / np.where(totals > 0, totals, 1.0)
    return Row(
        effect=name,
        probability=min(sum((part[0] for part in parts), 0.0), 1.0),
        mcse=float(share.std(ddof=1)) / math.sqrt(N_BATCHES),
        mean=mean,
        lower=lower,
        upper=upper,
    )


def districts_on_paths(graph: MixedGraph, of: str, on: str) -> MixedGraph:
    """Return the districts that the directed paths visit after their start, with incoming edges."""
    visited = graph.descendants(of) & graph.ancestors(on) - {of}
    members = {node for part in graph.districts() if visited & {*part} for node in part}
    return MixedGraph(
        graph.nodes,
        [(a, b) for a, b in graph.directed if b in members],
        [(a, b) for a, b in graph.bidirected if a in members],
    )


def _estimates(
    graph: MixedGraph, moments: Moments, se: str, effects: dict[str, Effect]
) -> dict[str, tuple[float, float]]:
    """Return the effects of which a path exists, with their standard errors."""
    used = [node for node in graph.nodes if graph.neighbors(node)]
    own = moments.take(used)
    fit = fit_covariances(graph.subgraph(used), own)
    if se == "robust":
        V = sandwich_of(fit, own).covariance("observed") / own.n
    else:
        V = safe_inverse(observed_information(fit.B, fit.Omega, fit.S, own.n, fit._parameters))
    places = [graph._node(node) for node in used]
    B = np.zeros((len(graph), len(graph)))
    B[np.ix_(places, places)] = fit.B
    rows = [s for s, (kind, _, _) in enumerate(fit._parameters) if kind == "B"]
    i, j = np.array([[places[v] for v in fit._parameters[s][1:]] for s in rows]).T
    V = V[np.ix_(rows, rows)]
    found = {}
    for name, effect in effects.items():
        estimate, gradient = effect(B)
        if gradient.any():
            slope = gradient[i, j]
            found[name] = (estimate, math.sqrt(max(float(slope @ V @ slope), 0.0)))
    return found
