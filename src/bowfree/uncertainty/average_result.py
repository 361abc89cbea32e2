"""Effects and edges with their probabilities; computed by :func:`bowfree.averaged_effects`.

An effect along directed paths depends on the districts that the paths visit and on their incoming
edges only, because the likelihood is a product over districts. Graphs that agree in these are
fitted once, without the rest of the graph.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bowfree import _core
from bowfree.data.covariance import safe_inverse
from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.data.nominal import split_blocks, to_columns
from bowfree.data.sample import Floats, Indices
from bowfree.effects.bounds import Formula, Uncertainty
from bowfree.effects.mediation import Effect, NamedEffects, effect_along, named_effects
from bowfree.equivalence.targets import Kinds
from bowfree.errors import BowfreeError
from bowfree.graph.encodings import Bits, graphs_of_bits
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.names import EdgeLookup
from bowfree.graph.text import quote
from bowfree.model.effect_tables import (
    EffectMatrices,
    decimals,
    effect_pairs,
    effect_table,
    quantities,
)
from bowfree.model.inference import observed_information
from bowfree.parameters import Errors
from bowfree.results.display import MOST_ROWS, Table, count, shorten_list, significant
from bowfree.results.frozen import Frozen
from bowfree.results.rows import Row
from bowfree.uncertainty.posterior import GraphPosterior, fit_covariances, sandwich_of
from bowfree.uncertainty.structure_samples import StructureSamples
from bowfree.validation import check_count

N_BATCHES = 8  # of samples, for Monte Carlo errors; half-chains, as in the core
SCALED = 1.2  # smallest `scaling` that is printed
PRINTED = 0.1  # smallest probability of an effect that is printed

# Of a mixture: weight, its parts by batch, estimate, standard error.
_Part = tuple[float, Floats, float, float]

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


class WeightedGraphs(NamedTuple):
    """Graphs and their weights, before they are grouped into classes."""

    parents: Bits  # (graphs, d, words)
    spouses: Bits
    weights: Floats  # sum to 1
    all_members: bool  # whether the weight of a class is the sum over its graphs here, or of one
    samples: StructureSamples | None = None
    complete: bool = True
    batches: Floats = np.zeros((0, N_BATCHES))  # parts of the weights from batches of samples


@dataclass(frozen=True, eq=False, repr=False)
class AveragedEffects(EffectMatrices, EdgeLookup[Row], Frozen):
    """Effects and edges averaged over graphs; entry ``[i, j]`` is about the effect of j on i.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of rows and columns; a nominal variable of three or more
        categories is replaced by its indicators, such as "team=b".
    lower, upper : ndarray of shape (d, d)
        Interval of the effect, which accounts for the sampling error of the estimates, the member
        of the class and the class. Its probability is at least `confidence`, and also its
        probability given that there is an effect (of a probability above 0.01). It contains zero
        unless the effect is more probable than `confidence`.
    lower_mcse, upper_mcse : ndarray of shape (d, d)
        Monte Carlo standard errors of `lower` and `upper`, by the jackknife over half-chains; 0 if
        no graph was sampled.
    mean, mean_abs : ndarray of shape (d, d)
        Mean of the effect, and of its absolute value. Where a fit is nearly singular, effects have no
        bound, and one such graph would decide the mean: estimates that are farther from the interval
        than ten times its width count as that far. The mean is zero if the interval is.
    positive, negative : ndarray of shape (d, d)
        Probability of a positive and of a negative effect.
    directed : ndarray of shape (d, d)
        Probability of the edge j -> i.
    bidirected : ndarray of shape (d, d)
        Probability of the edge i <-> j.
    without_se : ndarray of shape (d, d)
        Probability of graphs in which the effect has no standard error, because the information
        matrix is singular there. They are not part of the interval.
    probability_all_members : ndarray of shape (d, d)
        Probability that all members of the class have an effect of j on i. This and the next two
        are averages over `classes`.
    min_abs, max_abs : ndarray of shape (d, d)
        Mean of the smallest and of the largest absolute effect over the class.
    classes : tuple of Row
        The classes that were enumerated, the most probable first: ``graph`` (a member), ``weight``
        (the probability of the class), ``n_members`` and ``complete`` (False if a limit left out
        members).
    n_graphs, n_classes : int
        Number of graphs that were averaged, and of their classes.
    errors : {"gaussian", "nongaussian"}
        The errors of the score. With "nongaussian" equivalent graphs have different probabilities,
        and each graph counts as a class of its own.
    confidence : float
        Probability that the intervals should cover.
    count : {"graphs", "classes"}
        Whether graphs or classes have the same prior weight.
    posterior : GraphPosterior
        Posterior distribution of the graph: penalty, prior, temperature.
    formula : {"corrected", "as-published"}
        ``(I - B)^-1``, or the authors' ``(I + B)^-1``.
    se : {"standard", "robust"}
        Whether standard errors and weights assume normal data.
    scaling : float
        Satorra and Bentler's factor c of the best graph, at least 1. Graphs are weighted as if there
        were n / c observations; 1 if ``se="standard"`` or chains were passed.
    nonnormal_edges : tuple of Row
        Edges of the best graph whose sandwich standard error is more than ``2 * sqrt(scaling)``
        times that of normal theory: ``a``, ``mark``, ``b``, ``ratio``. Their probabilities may be
        too large.
    complete : bool
        False if `time_limit`, `max_classes` or `limit` left out graphs.
    samples : StructureSamples or None
        The chains that sampled the graphs, with their diagnostics.
    targets : tuple of tuple of str
        The variables intervened on in each condition of the data; ``((),)`` for one condition
        without intervention.
    kind : str or tuple of str
        What the interventions do (:mod:`bowfree.equivalence.targets`), one for each condition if
        they differ.
    """

    names: tuple[str, ...]
    lower: Floats
    upper: Floats
    lower_mcse: Floats
    upper_mcse: Floats
    mean: Floats
    mean_abs: Floats
    positive: Floats
    negative: Floats
    directed: Floats
    bidirected: Floats
    without_se: Floats
    probability_all_members: Floats
    min_abs: Floats
    max_abs: Floats
    classes: tuple[Row, ...]
    n_graphs: int
    n_classes: int
    confidence: float
    count: str
    posterior: GraphPosterior
    formula: Formula
    se: str
    scaling: float
    nonnormal_edges: tuple[Row, ...]
    complete: bool
    samples: StructureSamples | None
    errors: Errors
    targets: tuple[tuple[str, ...], ...]
    kind: Kinds
    _graphs: WeightedGraphs
    _moments: Moments

    _columns: ClassVar = (
        "probability", "mcse", "positive", "negative", "mean", "lower", "upper",
        "lower_mcse", "upper_mcse", "probability_all_members", "min_abs", "mean_abs", "max_abs", "directed", "bidirected",
    )  # fmt: skip

    @property
    def probability(self) -> Floats:
        """Probability of an effect, shape (d, d)."""
        total: Floats = np.minimum(self.positive + self.negative, 1.0)  # sums of weights round
        total.setflags(write=False)
        return total

    @property
    def covers(self) -> tuple[Uncertainty, ...]:
        """Sources of uncertainty that `lower` and `upper` account for: all three."""
        return ("estimates", "members", "classes")

    @property
    def mcse(self) -> Floats:
        """Monte Carlo standard error of `probability`, shape (d, d); 0 if no graph was sampled.

        It is that of the sampled graphs, and an upper bound where all members of a class count.
        """
        if self.samples is None:
            return np.zeros_like(self.positive)
        nodes = self._nodes
        errors: Floats = self.samples.effect_mcse[np.ix_(nodes, nodes)]
        return errors

    @property
    def _nodes(self) -> Indices:
        """The number of the variable of each column."""
        sizes = split_blocks(self._moments)[1] or [1] * len(self.names)
        return np.repeat(np.arange(len(sizes)), sizes)

    @property
    def adjacent(self) -> Floats:
        """Probability of an edge of any kind, shape (d, d), symmetric."""
        total: Floats = np.minimum(self.directed + self.directed.T + self.bidirected, 1.0)
        return total

    @property
    def mixed(self) -> bool:
        """Whether the chains agree; see :attr:`StructureSamples.mixed`."""
        return self.samples is None or self.samples.mixed

    def describe_graphs(self) -> str:
        """Return the number of graphs and classes in words."""
        graphs = count(self.n_graphs, "graph")
        if self.errors == "nongaussian":
            return graphs
        return f"{graphs} in {count(self.n_classes, 'class', 'classes')}"

    def path_effects(
        self,
        *,
        of: str,
        on: str,
        through: str | Iterable[str] = (),
        avoiding: str | Iterable[str] = (),
        max_paths: int = 10,
    ) -> AveragedPathEffects:
        """Average direct, indirect and path-specific effects over the graphs.

        Parameters
        ----------
        of, on, through, avoiding
            As for :func:`bowfree.effects.path_effects`.
        max_paths : int
            Number of single paths to list, the most probable first; 0 lists none.

        Returns
        -------
        AveragedPathEffects
            Probability, mean and interval of each effect. Graphs are weighted by how often they
            were sampled, so that the total effect may differ from :meth:`effect`, in which the
            members of a class have equal weights, by Monte Carlo error.

        Examples
        --------
        >>> import bowfree as bf
        >>> sem = bf.random_sem(bf.parse("x -> m -> y <- x, z -> m"), rng=3)
        >>> result = bf.exhaustive_search(sem.sample(2000, rng=2, as_frame="pandas"))
        >>> paths = bf.averaged_effects(result).path_effects(of="m", on="y", through="x")
        >>> paths.effect("direct").probability > 0.5, paths.effect("through x").probability < 0.1
        (True, True)
        """
        return average_paths(self, of, on, through, avoiding, max_paths)

    def _at_edge(self, i: int, mark: str, j: int) -> Row:
        matrix = self.directed if mark == "->" else self.bidirected
        return Row(a=self.names[i], mark=mark, b=self.names[j], probability=float(matrix[j, i]))

    def _content(self) -> Any:
        fields = super()._content().items()
        own = {name: x for name, x in fields if name != "samples" and not name.startswith("_")}
        derived = ("probability", "mcse", "adjacent", "mixed", "covers")
        return own | {name: getattr(self, name) for name in derived}

    def _headline(self) -> str:
        some = f"{count(len(self.names), 'variable')}, {self.describe_graphs()}"
        notes = ", not complete" * (not self.complete) + ", chains NOT MIXED" * (not self.mixed)
        return some + notes

    def _nonnormal_note(self) -> str:
        edges = ", ".join(
            f"{quote(row.a)} {row.mark} {quote(row.b)} ({row.ratio:.1f} times)"
            for row in self.nonnormal_edges
        )
        return (
            "probabilities that depend on these edges may be too large, because robust standard "
            f"errors exceed those of normal theory: {shorten_list(edges, '.nonnormal_edges has all')}"
        )

    def _sections(self) -> Iterator[str | Table]:
        sources = " and graphs" if self.errors == "nongaussian" else ", members and classes"
        yield (
            f"average over {self.describe_graphs()}, the most probable with "
            f"{self.classes[0].weight:.2f}; {100 * self.confidence:g} % intervals that account for "
            f"estimates{sources}"
        )
        if not self.mixed:
            yield "NOT MIXED: probabilities are not precise yet; increase `steps` or `max_steps`"
        if not self.complete:
            yield "NOT COMPLETE: `time_limit`, `max_classes` or `limit` left out graphs"
        if self.scaling >= SCALED:
            yield f"the data are not normal: weighted as {self.scaling:.1f} times fewer observations"
        if self.nonnormal_edges:
            yield f"NOT NORMAL: {self._nonnormal_note()}"
        pairs = effect_pairs(self.probability >= PRINTED)
        pairs.sort(key=lambda pair: (-self.probability[pair], -self.mean_abs[pair]))
        if pairs:
            yield effect_table(
                "effect",
                self.names,
                pairs,
                {
                    "P(effect)": decimals(self.probability, 2),
                    "P(+)": decimals(self.positive, 2),
                    "P(-)": decimals(self.negative, 2),
                    "mean": quantities(self.mean, 3, 1e-10 * self.mean_abs),
                    "lower": quantities(self.lower, 3),
                    "upper": quantities(self.upper, 3),
                },
                size=self.probability,
            )
        nodes = self._nodes
        apart = nodes[:, None] != nodes  # categories of one variable have no effect on each other
        others = len(effect_pairs((self.probability < PRINTED) & apart))
        if others:
            what = count(others, "other effect")
            yield f"{what} with a probability below {PRINTED:g}: see to_frame()"


# --- effects along paths ---------------------------------------------------------------------------


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
