"""Effects and edges averaged over graphs: Bayesian model averaging after a search.

With finite data many graphs have almost the same probability as the best one, and standard errors
that take the learned graph for the true one are too small. :func:`averaged_effects` averages over
all graphs, each with its posterior probability (:mod:`bowfree.uncertainty.posterior`).

After a search, graphs are sampled by Markov chains (:mod:`bowfree.uncertainty.mcmc`) that start
from its pool; with up to five variables all graphs are scored instead, as by an exhaustive search,
so the weights are exact. The lightest graphs, whose total probability is at most 0.001, are left
out, so no probability changes by more. By covariances, members
of a class are equally probable. The most probable classes are therefore enumerated, and the weight
of a class is divided equally among its members, whichever of them were sampled. Scores with
``errors="nongaussian"`` differ within a class; then every graph counts for itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from bowfree import _core
from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.data.nominal import BlockMoments, split_blocks
from bowfree.data.options import DataOptions
from bowfree.data.sample import Floats, Indices, NonGaussianRows
from bowfree.effects.bounds import (
    ZERO,
    Formula,
    effect_counter,
    read_graphs,
    read_moments,
)
from bowfree.equivalence.targets import Targets, targets_of
from bowfree.errors import BowfreeError, TimeIsUp, WorkersLost, WorkInterrupted
from bowfree.graph.encodings import Bits, bits_of_states, graphs_of_bits
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_result import Fit
from bowfree.model.fitting import fit_moments, score_graphs
from bowfree.model.nongaussian import fit_errors
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import Correlation, Errors, GraphClass, Means, Missing, Rng, public
from bowfree.results.rows import Row
from bowfree.search.exhaustive import ExhaustiveResult, score_all_graphs
from bowfree.search.greedy import check_finite_n
from bowfree.search.result import SearchResult
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace
from bowfree.uncertainty.average_result import N_BATCHES, AveragedEffects, WeightedGraphs
from bowfree.uncertainty.mcmc import ChainPlan, sample_structures
from bowfree.uncertainty.posterior import (
    GraphPosterior,
    Prior,
    with_scaled_size,
    with_tempered_errors,
)
from bowfree.uncertainty.structure_samples import StructureSamples
from bowfree.validation import (
    check_choice,
    check_count,
    check_fraction,
    check_nonnegative,
    check_positive,
)

Counted = Literal["graphs", "classes"]
AverageErrors = Literal["standard", "robust"]

MAX_ROBUST = 50  # variables; Gamma has (d (d + 1) / 2)^2 entries

MAX_SAMPLES = 1000  # of each chain
MIN_SAMPLES = 250  # fewer could not be as precise as mixed chains have to be
MAX_ENTRIES = 10**6  # samples times squared number of variables, of each chain
MAX_ENUMERATED = 5  # variables; an average over all graphs takes 0.5 to 2 seconds
LEAST_SECONDS = 5.0  # time limit with which all graphs of five variables are scored
MAX_SPECIAL = 4  # the same with categories or several conditions, where fits take longer
NEGLIGIBLE = 1e-3  # total probability of the graphs that an average leaves out
WINDOW = 15.0  # of log weights, if it is not known which graphs there are
CLASS_TOLERANCE = 1e-4  # of log weights of equivalent graphs
LAST_SECONDS = 0.5  # to average over the samples after Ctrl-C
MAX_ERROR_FITS, ERROR_SHARE = 50, 0.95  # graphs whose estimates use the distribution of the errors
FEW_VARIABLES = 12  # up to which steps are so fast that chains may be extended twice


@dataclass(frozen=True)
class AverageSettings:
    """Parameters of :func:`averaged_effects` that all kinds of input share."""

    confidence: float = 0.95
    count: Counted = "graphs"
    window: float | None = None
    max_classes: int = 300
    limit: int = 300
    formula: Formula = "corrected"
    zero: float = ZERO
    se: AverageErrors | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "confidence", check_fraction("confidence", self.confidence))
        check_choice("count", self.count, get_args(Counted))
        if self.window is not None:
            object.__setattr__(self, "window", check_positive("window", self.window))
        check_count("max_classes", self.max_classes, 1)
        check_count("limit", self.limit, 1)
        check_choice("formula", self.formula, get_args(Formula))
        object.__setattr__(self, "zero", check_nonnegative("zero", self.zero))
        if self.se is not None:
            check_choice("se", self.se, get_args(AverageErrors))


@public
def averaged_effects(
    graphs: SearchResult | ExhaustiveResult | StructureSamples | Iterable[MixedGraph],
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
    clusters: Any = None,
    errors: Errors = "gaussian",
    space: SearchSpace | None = None,
    graph_class: GraphClass | None = None,
    max_in_degree: int | None = None,
    max_district: int | None = None,
    max_edges: int | None = None,
    knowledge: Knowledge | None = None,
    penalty: float = 0.5,
    prior: Prior = "density",
    temperature: float = 1.0,
    confidence: float = 0.95,
    count: Counted = "graphs",
    steps: int = 40_000,
    max_steps: int | None = None,
    window: float | None = None,
    max_classes: int = 300,
    limit: int = 300,
    formula: Formula = "corrected",
    zero: float = ZERO,
    se: AverageErrors | None = None,
    rng: Rng = None,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> AveragedEffects:
    """Average total effects and edges over graphs, weighted by their posterior probabilities.

    Parameters
    ----------
    graphs : SearchResult, ExhaustiveResult, StructureSamples, or iterable of MixedGraph
        Where the graphs come from. After a search of more than five variables, graphs are sampled
        by four Markov chains that start from its pool, and are weighted by how often they were
        sampled; so are those of `StructureSamples`. With fewer variables all graphs of the space are
        used; with five, chains are used for several conditions, for categories and with a
        `time_limit` below 5 seconds. All graphs, those of an exhaustive search and those of an
        iterable are weighted by their posterior probabilities. Results of a search or of chains have
        their own data and space.
    data : array_like of shape (n, d), data frame or Moments, optional
        Observations in rows; only with an iterable of graphs.
    penalty : float
        Weight of ``log n`` for each node and edge in the score that the posterior is computed from.
        The default, 0.5, makes ``n`` times the score the BIC approximation of the log marginal
        likelihood. It does not depend on the penalty of the search: a search at ``penalty=2`` is
        averaged at 0.5. Chains of :func:`bowfree.structure_mcmc` have sampled from a posterior of
        their own, which is used instead of `penalty`, `prior` and `temperature`.
    confidence : float
        Probability that the intervals should cover.
    count : {"graphs", "classes"}
        Whether all graphs have the same prior weight, so that the weight of a class is proportional
        to its number of members, or all classes have.
    steps : int
        Number of steps of each chain after a search, in addition to a burn-in of ``steps / 4``.
    max_steps : int, optional
        Chains that have not mixed are extended as in :func:`bowfree.structure_mcmc`, up to this
        number of steps; by default ``7 * steps`` for up to 12 variables, else ``3 * steps``.
    window : float, optional
        Graphs count if their log weight is within `window` of the best one. By default, all graphs of
        a space count but the lightest, whose total probability is at most 0.001; with an iterable of
        graphs or ``count="classes"``, the window is 15.
    max_classes : int
        Number of classes to enumerate, the most probable first. Other classes are represented by
        the graphs that were sampled.
    limit : int
        Largest number of members of each connected component of a class to enumerate. A class with
        more members is represented by the graphs that were sampled; the result says which are.
    se : {"standard", "robust"}, optional
        Standard errors of the estimates within a graph: those of normal theory, or sandwich
        estimates, which hold for any distribution, for ranks, ordered categories, missing values
        and weights. By default "robust" where the rows are known, without interventions, and there
        are at most 50 variables; otherwise "standard". Under interventions with known rows, those
        of normal theory are multiplied by the root of `AveragedEffects.scaling`.
    time_limit : float, optional
        Seconds after which the result is returned, marked as incomplete. Half of the time is for
        the chains, or for scoring the graphs of an iterable, the rest for the classes.

    Notes
    -----
    With ``errors="nongaussian"`` probabilities are those of single graphs, because equivalent graphs
    have different scores; the evidence beyond covariances is raised to the power 0.7, as in
    :func:`bowfree.structure_mcmc`. The effects in the most probable graphs, up to 50 that have .95 of the
    probability, are those of ``fit(errors="nongaussian")``; in the others, with ``se="standard"`` and with
    another formula, they are those of the fit by covariances.

    Raises
    ------
    WorkersLost, WorkInterrupted
        If all workers of the executor are lost, or on Ctrl-C while graphs are sampled. The
        attribute ``result`` has the average over the samples drawn so far.

    Examples
    --------
    >>> import bowfree as bf
    >>> sem = bf.random_sem(bf.parse("x -> y <- z, y -> w"), rng=5)
    >>> result = bf.exhaustive_search(sem.sample(2000, rng=2, as_frame="pandas"))
    >>> average = bf.averaged_effects(result)
    >>> effect = average.effect(of="y", on="w")
    >>> effect.probability > 0.9, bool(effect.lower < sem.B[3, 1] < effect.upper)
    (True, True)
    """
    settings = AverageSettings(confidence, count, window, max_classes, limit, formula, zero, se)
    check_count("steps", steps, 4)
    if max_steps is not None:
        check_count("max_steps", max_steps, steps)
    budget = Budget(rng, n_jobs, time_limit, progress, executor)
    posterior = GraphPosterior(penalty, prior, temperature)
    found = (
        graphs if isinstance(graphs, SearchResult | ExhaustiveResult | StructureSamples) else None
    )
    space = found.space if space is None and found is not None else space
    within = SearchSpace.of(space, graph_class, max_in_degree, max_district, max_edges, knowledge)
    if graph_class in ("ancestral", "arid") and not isinstance(graphs, SearchResult):
        raise BowfreeError(
            f"graph_class = {graph_class!r} requires a SearchResult, whose chains stay in the "
            "class; use 'bap', 'dag' or 'bidirected' here"
        )
    options = DataOptions(
        cov, n, ddof, shrinkage, missing, correlation, ordinal, weights, means, nominal, clusters,
        errors,
    )  # fmt: skip
    if found is None:
        first, rest = read_graphs(graphs)
        moments = read_moments(first, data, options)
        moments._require_definite("districts of other graphs may be larger")
    else:
        if data is not None:
            raise BowfreeError(f"a {type(found).__name__} has its own data; omit `data`")
        options.refuse(f"a {type(found).__name__} has its own data; omit it")
        moments = found.moments
    check_finite_n(moments)
    if isinstance(moments, JointMoments) and moments._has_rows and not moments.targets:
        moments = moments._one_table()
    average = Average(with_tempered_errors(moments), within, posterior, settings, budget)
    if average.nongaussian and count == "classes":
        raise BowfreeError(
            "count = 'classes' requires scores of covariances: errors='nongaussian' weighs each graph "
            "of a class by itself"
        )
    d = len(moments.names)
    special = isinstance(moments, JointMoments | BlockMoments)
    in_time = d <= MAX_SPECIAL or time_limit is None or time_limit >= LEAST_SECONDS
    few = d <= (MAX_SPECIAL if special else MAX_ENUMERATED) and in_time
    if isinstance(graphs, SearchResult) and few and not average.nongaussian:
        with suppress(TimeIsUp):  # then chains take the rest of the time
            half = budget.with_share(0.5)
            graphs = score_all_graphs(graphs.moments, within, graphs.rule, half)
    if isinstance(graphs, SearchResult):
        return average.scaled(graphs.graph).of_search(graphs, steps, max_steps)
    if isinstance(graphs, StructureSamples):
        if posterior not in (GraphPosterior(), graphs.posterior):
            raise BowfreeError(
                f"the chains sampled from {graphs.posterior}: omit `penalty`, `prior` and "
                "`temperature`, or pass them to structure_mcmc"
            )
        return average.of_samples(graphs)
    if isinstance(graphs, ExhaustiveResult):
        return average.scaled(graphs.graph).of_all_graphs(graphs)
    return average.of_graphs(list(rest))


@dataclass(frozen=True)
class Average:
    """Averages over graphs of different origin, for the same data and settings."""

    moments: Moments
    space: SearchSpace
    posterior: GraphPosterior
    settings: AverageSettings
    budget: Budget
    scaling: float = 1.0
    nonnormal_edges: tuple[Row, ...] = ()

    @property
    def nongaussian(self) -> bool:
        """Whether scores use the rows beyond their covariances, and tell equivalent graphs apart."""
        return isinstance(self.moments.sample, NonGaussianRows)

    def scaled(self, graph: MixedGraph) -> Average:
        """Return the average with weights that do not assume normal data, from a good graph."""
        moments = self.moments
        small = len(moments.names) <= MAX_ROBUST
        by_condition = isinstance(moments, JointMoments) and moments._has_rows and small
        chosen = self.settings.se == "standard" or (self.se == "standard" and not by_condition)
        if chosen or self.nongaussian:
            return self
        moments, scaling, edges = with_scaled_size(moments, graph)
        return replace(self, moments=moments, scaling=scaling, nonnormal_edges=edges)

    def of_search(self, found: SearchResult, steps: int, max_steps: int | None) -> AveragedEffects:
        """Average over graphs sampled by chains that start from the pool of a search."""
        d = len(self.moments.names)
        size = min(MAX_SAMPLES, steps, max(MIN_SAMPLES, MAX_ENTRIES // d**2))
        plan = ChainPlan(
            steps=steps,
            max_steps=max_steps or (7 if d <= FEW_VARIABLES else 3) * steps,
            thin=steps // size,
        )
        try:
            samples = sample_structures(
                self.moments, self.space, self.posterior, plan, self.budget.with_share(0.5), found
            )
        except WorkersLost as lost:
            if lost.result is not None:
                lost.result = self.of_samples(lost.result)
            raise
        except WorkInterrupted as stop:
            average = replace(self, budget=Budget(time_limit=LAST_SECONDS))
            try:
                so_far = average.of_samples(stop.result)
            except TimeIsUp:
                raise KeyboardInterrupt from stop
            raise WorkInterrupted(so_far) from stop
        return self.of_samples(samples)

    def of_samples(self, samples: StructureSamples) -> AveragedEffects:
        """Average over the graphs that chains have sampled, weighted by their frequencies."""
        states, batches = samples._distinct(N_BATCHES)
        bits = bits_of_states(len(self.moments.names), states)
        batches = batches / batches.sum()
        graphs = WeightedGraphs(
            *bits, batches.sum(axis=1), True, samples, samples.complete, batches
        )
        return self.over(graphs)

    def of_all_graphs(self, found: ExhaustiveResult) -> AveragedEffects:
        """Average over the graphs of an exhaustive search, with exact weights."""
        # The scores at the penalty, and the sample size, of the posterior.
        price = found.penalty * math.log(found.moments.n) / found.moments.n
        own_price = self.posterior.penalty * math.log(self.moments.n) / self.moments.n
        scores = found.scores + (price - own_price) * found.parameter_counts()
        if self.nongaussian:
            bits = bits_of_states(len(self.moments.names), found._states())
            scores = score_graphs(self.moments, self.posterior.penalty, *bits)
        log_weights = self.posterior.log_weights(
            scores, found.edge_counts(), self.moments, self.space
        )
        # In the order of their codes, because scores of equivalent graphs differ by rounding.
        near = self._near(log_weights, listed=True)
        codes, log_weights = found.codes[near], log_weights[near]
        order = np.argsort(codes)
        bits = _core.graphs_of_codes(len(self.moments.names), codes[order])
        return self.over(WeightedGraphs(*bits, _normalize(log_weights[order]), True))

    def of_graphs(self, graphs: Sequence[MixedGraph]) -> AveragedEffects:
        """Average over the classes of some graphs."""
        graphs = list(dict.fromkeys(graphs))
        parents, spouses = map(np.stack, zip(*(graph._bits() for graph in graphs), strict=True))
        half = self.budget.with_share(0.5).seconds_left
        if self.nongaussian:
            F = -2 * score_graphs(self.moments, 0.0, parents, spouses, half)
        else:
            F = self._counter().objectives(parents, spouses, half, self.budget.seconds_left)
        complete, graphs = len(F) == len(graphs), graphs[: len(F)]
        n_edges = np.array([graph.n_edges for graph in graphs])
        n_own = np.zeros_like(n_edges)  # parameters of single conditions
        if isinstance(self.moments, JointMoments):
            n_own += [self.moments._own_numbers(graph).sum() for graph in graphs]
        elif isinstance(self.moments, BlockMoments):
            extra = self.moments.extra_parameters()
            edges = [
                [(graph._node(a), graph._node(b)) for a, _, b in graph.edges] for graph in graphs
            ]
            n_own += [sum(int(extra[pair]) for pair in pairs) for pairs in edges]

        def log_weights(average: Average) -> Floats:
            n = average.moments.n
            price = average.posterior.penalty * math.log(n) / n
            scores = -0.5 * F - price * (n_edges + n_own)
            return average.posterior.log_weights(scores, n_edges, average.moments, average.space)

        best = graphs[int(np.argmax(log_weights(self)))]
        scaled = self.scaled(best)
        weights = log_weights(scaled)
        near = self._near(weights)
        if not self.nongaussian:
            first = first_of_class(parents[near], spouses[near], self._conditions())
            near = near[first == np.arange(len(first))]
        weighted = WeightedGraphs(
            parents[near],
            spouses[near],
            _normalize(weights[near]),
            self.nongaussian,
            None,
            complete,
        )
        return scaled.over(weighted)

    def _near(self, log_weights: Floats, listed: bool = False) -> Indices:
        """Return the graphs that count, the heaviest first; `listed`: all graphs are given."""
        order = np.argsort(-log_weights, kind="stable")
        heaviest = log_weights[order]
        if self.settings.window is None and listed and self.settings.count == "graphs":
            from_lightest = np.cumsum(_normalize(heaviest)[::-1])
            least = heaviest[::-1][np.searchsorted(from_lightest, NEGLIGIBLE)]
            least -= CLASS_TOLERANCE  # keeps classes whole
        else:
            least = heaviest[0] - (self.settings.window or WINDOW)
        return np.asarray(order[heaviest >= least], dtype=np.intp)

    def _conditions(self) -> Targets:
        return targets_of(self.moments, self.moments.names)

    @cached_property
    def se(self) -> AverageErrors:
        """The kind of standard errors: the one that was chosen, or the default for the data."""
        moments, _ = split_blocks(self.moments)
        known = moments.sample is not None and not isinstance(moments, JointMoments)
        if self.settings.se == "robust" and not known:
            raise BowfreeError(
                "se = 'robust' requires rows without interventions: pass the data instead of a "
                "covariance matrix or conditions with targets, or choose se='standard'"
            )
        small = len(moments.names) <= MAX_ROBUST
        return self.settings.se or ("robust" if known and small else "standard")

    def _counter(self) -> _core.EffectCounter:
        (columns, _), Gamma = split_blocks(self.moments), None
        if self.se == "robust":
            Gamma = np.ascontiguousarray(columns.Gamma * (columns.n / columns.n_rows))
        formula, zero = self.settings.formula, self.settings.zero
        return effect_counter(self.moments, formula, zero, variances=True, Gamma=Gamma)

    def _error_effects(
        self, parents: Bits, spouses: Bits, weights: Floats
    ) -> tuple[Floats | None, bool]:
        """Return effects in the first graphs, and their standard errors, shape (m, 2, d, d).

        They use the distribution of the errors. None if the scores do not. The second value is
        whether there was time for all of these graphs.
        """
        if not self.nongaussian or self.se == "standard" or self.settings.formula != "corrected":
            return None, True
        most = int(np.searchsorted(np.cumsum(weights), ERROR_SHARE * weights.sum())) + 1
        most = min(most, len(weights), MAX_ERROR_FITS)
        found: list[list[Floats]] = []
        for graph in graphs_of_bits(self.moments.names, parents[:most], spouses[:most]):
            if self.budget.expired:
                break
            start = fit_moments(graph, self.moments)
            assert isinstance(start, Fit)
            effects = (fit_errors(start) or replace(start, se="robust")).total_effects()
            found.append([effects.estimate - np.eye(len(graph)), effects.se])
        d = len(self.moments.names)
        return np.array(found).reshape(len(found), 2, d, d), len(found) == most

    def over(self, graphs: WeightedGraphs) -> AveragedEffects:
        """Average over the classes of the graphs, the heaviest class first."""
        settings, moments, conditions = self.settings, self.moments, self._conditions()
        n_graphs = len(graphs.weights)
        first = np.arange(n_graphs)
        if graphs.all_members and not self.nongaussian:
            first = first_of_class(graphs.parents, graphs.spouses, conditions)
        mass = np.bincount(first, weights=graphs.weights, minlength=n_graphs)
        order = np.lexsort((np.arange(n_graphs), first, -mass[first]))
        begins = np.flatnonzero(np.diff(first[order], prepend=-1))
        sizes = np.diff(begins, append=n_graphs)
        # The weight of a class is multiplied by its number of members to this power.
        power = {(True, "classes"): -1, (False, "graphs"): 1}.get(
            (graphs.all_members, settings.count), 0
        )
        enumerated = 0 if self.nongaussian else min(len(sizes), settings.max_classes)
        all_classes = not power or enumerated == len(sizes)
        if power:  # then only classes whose members are counted have a weight
            sizes = sizes[:enumerated]
            order = order[: sizes.sum()]
        parents, spouses = graphs.parents[order], graphs.spouses[order]
        by_errors, in_time = self._error_effects(parents, spouses, graphs.weights[order])
        total, parts, weight = _core.average_classes(
            self._counter(),
            parents,
            spouses,
            graphs.weights[order].tolist(),
            (graphs.batches[order] if len(graphs.batches) else graphs.batches).tolist(),
            sizes.tolist(),
            enumerated,
            power,
            moments.n,
            settings.confidence,
            settings.limit,
            self.space.member_masks(moments.names),
            conditions.core,
            self.budget.seconds_left,
            by_errors,
        )
        if self.nongaussian:  # a class of its own for each graph
            total |= dict.fromkeys(("min_abs", "max_abs"), total["mean_abs"])
            total["probability_all_members"] = total["positive"] + total["negative"]
            parts = [(share, [1], True) for share in graphs.weights[order[: settings.max_classes]]]
        heads = begins[: len(parts)]
        classes = [
            Row(graph=graph, weight=part / weight, n_members=math.prod(components), complete=whole)
            for graph, (part, components, whole) in zip(
                graphs_of_bits(moments.names, parents[heads], spouses[heads]), parts, strict=True
            )
        ]
        classes.sort(key=lambda row: -row.weight)
        return AveragedEffects(
            names=split_blocks(moments)[0].names,
            **total,
            classes=tuple(classes),
            n_graphs=n_graphs,
            n_classes=len(begins),
            confidence=settings.confidence,
            count=settings.count,
            posterior=graphs.samples.posterior if graphs.samples else self.posterior,
            formula=settings.formula,
            se=self.se,
            scaling=self.scaling,
            nonnormal_edges=self.nonnormal_edges,
            complete=(
                all_classes
                and len(parts) >= enumerated
                and (power != 0 or weight > 1 - 1e-9)
                and (power == 0 or all(row.complete for row in classes))
                and graphs.complete
                and in_time
            ),
            samples=graphs.samples,
            errors="nongaussian" if self.nongaussian else "gaussian",
            targets=conditions.sets,
            kind=conditions.kind,
            _graphs=graphs,
            _moments=moments,
        )


def _normalize(log_weights: Floats) -> Floats:
    weights: Floats = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    return weights


def first_of_class(parents: Bits, spouses: Bits, conditions: Targets) -> Indices:
    """Return for each graph the index of the first graph that is equivalent to it; exact."""
    conditions.check_identified_skeleton("an average over classes")
    found = _core.first_of_class(parents, spouses, 0, conditions.core)
    return np.asarray(found, dtype=np.intp)
