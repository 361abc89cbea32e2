"""The section "Uncertainty": averages over graphs, bootstrap and stability selection."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from itertools import combinations
from typing import NamedTuple

import numpy as np

from bowfree.errors import BowfreeError, TimeIsUp
from bowfree.parallel.budget import Progress
from bowfree.parameters import Rng
from bowfree.results.display import count
from bowfree.search.result import SearchResult
from bowfree.uncertainty.average_result import AveragedEffects
from bowfree.uncertainty.averaging import averaged_effects
from bowfree.uncertainty.search_bootstrap import BootstrapResult
from bowfree.uncertainty.stability import StablePairs
from bowfree.visualization.layout import Floats
from bowfree.visualization.report.tables import Cell, Table, name_cell, percent, quantity
from bowfree.visualization.warnings import average_warnings

AVERAGE_SECONDS = 40.0  # time limit for averages that were not requested
MIN_SHARE = 0.05  # less probable or less frequent edges and effects are not listed


class AverageAttempt(NamedTuple):
    """Averaged effects, or why there are none; neither if there is nothing to average."""

    average: AveragedEffects | None = None
    reason: str = ""


def try_average(
    search: SearchResult,
    *,
    max_nodes: int,
    time_limit: float | None = AVERAGE_SECONDS,
    rng: Rng = 0,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> AverageAttempt:
    """Average over all probable graphs if that is possible within the time limit.

    The report and ``bowfree learn`` show averages where they take seconds. Searches that ended
    early and those over more than `max_nodes` variables are not averaged.
    """
    d = len(search.graph.nodes)
    if d < 2:
        return AverageAttempt()
    if not search.complete:
        return AverageAttempt(reason="the search was ended early")
    if d > max_nodes:
        return AverageAttempt(reason=f"with more than {max_nodes} variables they take minutes")
    try:
        average = averaged_effects(
            search,
            time_limit=time_limit,
            rng=rng,
            n_jobs=n_jobs,
            executor=executor,
            progress=progress,
        )
    except TimeIsUp:
        return AverageAttempt(reason=f"they take longer than {time_limit:g} s")
    except BowfreeError as error:
        return AverageAttempt(reason=str(error))
    return AverageAttempt(average)


class Part(NamedTuple):
    """A part of the section: title, introduction, warnings, and tables with their captions."""

    title: str
    text: str
    warnings: list[str]
    tables: list[tuple[Table, str]]


def average_part(average: AveragedEffects) -> Part:
    """Return the probabilities of effects and edges."""
    level = f"{100 * average.confidence:g} %"
    columns = [
        ("Cause", ""),
        ("On", ""),
        ("P(effect)", "probability that the first has an effect on the second"),
        ("P(+)", "probability of a positive effect"),
        ("P(−)", "probability of a negative effect"),
        ("Mean", "mean of the effect over all graphs, including those without it"),
        ("Lower", f"lower end of the {level} interval"),
        ("Upper", f"upper end of the {level} interval"),
    ]
    shares = (average.probability, average.positive, average.negative)
    rows = [
        [
            *_names(average.names, j, i),
            *(percent(float(x[i, j])) for x in shares),
            *(quantity(x[i, j]) for x in (average.mean, average.lower, average.upper)),
        ]
        for i, j in _frequent(average.probability)
    ]
    return Part(
        "Averaged over graphs",
        f"Averages over {count(average.n_graphs, 'graph')} in "
        f"{count(average.n_classes, 'class', 'classes')}, each weighted by its probability given "
        f"the data. The {level} intervals account for the uncertainty about the graph.",
        average_warnings(average),
        [
            (
                Table.cut("averaged-effects", columns, rows, by=2),
                "Total effects, with the uncertainty about the graph",
            ),
            (
                _pair_table("averaged-edges", average.names, average.directed, average.bidirected),
                "Probabilities of edges",
            ),
        ],
    )


def bootstrap_part(bootstrap: BootstrapResult) -> Part:
    """Return the frequencies of edges and effects in resampled data."""
    level = f"{100 * bootstrap.confidence:g} %"
    columns = [
        ("Cause", ""),
        ("On", ""),
        ("In all members", "share of resamples in which all equivalent graphs have an effect"),
        ("Lower", f"lower end of the {level} interval, for every equivalent graph"),
        ("Upper", f"upper end of the {level} interval"),
    ]
    lower, upper = bootstrap.total_effect_interval
    rows = [
        [
            *_names(bootstrap.names, j, i),
            percent(float(bootstrap.effect_frequency[i, j])),
            quantity(lower[i, j]),
            quantity(upper[i, j]),
        ]
        for i, j in _frequent(bootstrap.effect_frequency)
    ]
    names, directed, bidirected = bootstrap.names, bootstrap.directed, bootstrap.bidirected
    return Part(
        "Bootstrap",
        f"The search was repeated on {count(bootstrap.n_resamples, 'data set')} resampled from the "
        "rows. The tables show how often each edge and effect was found.",
        [f"Bootstrap: {note}." for note in bootstrap.notes],
        [
            (_pair_table("resampled-edges", names, directed, bidirected), "Frequencies of edges"),
            (Table.cut("resampled-effects", columns, rows, by=2), "Frequencies of effects"),
        ],
    )


def stability_part(stability: StablePairs) -> Part:
    """Return the pairs that are adjacent in most halves of the data."""
    columns = [("a", ""), ("b", ""), ("Adjacent in", "share of the halves of the data")]
    index = {name: k for k, name in enumerate(stability.names)}
    rows = [
        [name_cell(a), name_cell(b), percent(float(stability.frequency[index[a], index[b]]))]
        for a, b in stability.pairs
    ]
    return Part(
        "Stability selection",
        f"Pairs of variables that are adjacent in most of "
        f"{count(stability.n_halves, 'half', 'halves')} of the rows; the expected number of false "
        f"ones is at most {stability.max_false:g}.",
        [f"Stability selection: {note}." for note in stability.notes],
        [(Table.cut("stable-pairs", columns, rows, by=2), "Stable pairs")],
    )


def _names(names: tuple[str, ...], *index: int) -> list[Cell]:
    return [name_cell(names[k]) for k in index]


def _frequent(share: Floats) -> list[tuple[int, int]]:
    """Return the entries that are listed, the largest first."""
    found = [(i, j) for i, j in np.argwhere(share >= MIN_SHARE).tolist() if i != j]
    return sorted(found, key=lambda entry: -share[entry])


def _pair_table(name: str, names: tuple[str, ...], directed: Floats, bidirected: Floats) -> Table:
    """Return one row for each pair of variables that is adjacent often enough."""
    columns = [
        ("a", ""),
        ("b", ""),
        ("Adjacent", "by an edge of any kind"),
        ("a → b", "direct effect of a on b"),
        ("a ← b", "direct effect of b on a"),
        ("a ↔ b", "hidden common cause"),
    ]
    adjacent = directed + directed.T + bidirected
    pairs = [pair for pair in combinations(range(len(names)), 2) if adjacent[pair] >= MIN_SHARE]
    rows = [
        [
            *_names(names, i, j),
            percent(min(1.0, float(adjacent[i, j]))),
            *(percent(float(x)) for x in (directed[j, i], directed[i, j], bidirected[i, j])),
        ]
        for i, j in sorted(pairs, key=lambda pair: -adjacent[pair])
    ]
    return Table.cut(name, columns, rows, by=2)
