"""The section "Uncertainty": averages over graphs, bootstrap and stability selection."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bowfree.errors import BowfreeError, TimeIsUp
from bowfree.results.display import count
from bowfree.search.result import SearchResult
from bowfree.uncertainty.average_result import AveragedEffects
from bowfree.uncertainty.averaging import averaged_effects
from bowfree.uncertainty.search_bootstrap import BootstrapResult
from bowfree.uncertainty.stability import StablePairs
from bowfree.visualization.layout import Floats
from bowfree.visualization.report.tables import (
    Column,
    Table,
    name_cell,
    percent,
    quantity,
    table,
)
from bowfree.visualization.warnings import average_warnings

AVERAGE_SECONDS = 40.0  # time limit for averages that were not requested
MIN_SHARE = 0.05  # less probable or less frequent edges and effects are not listed


def try_average(
    search: SearchResult, *, max_nodes: int, time_limit: float | None, **budget: Any
) -> AveragedEffects | str:
    """Average over all probable graphs within the time limit, or return why that is not possible.

    The report and ``bowfree learn`` show averages where they take seconds. Searches that ended
    early and those over more than `max_nodes` variables are not averaged. The reason is empty if
    there is nothing to average.
    """
    d = len(search.graph.nodes)
    if d < 2:
        return ""
    if not search.complete:
        return "the search was ended early"
    if d > max_nodes:
        return f"with more than {max_nodes} variables they take minutes"
    try:
        return averaged_effects(search, **{"rng": 0, **budget}, time_limit=time_limit)
    except TimeIsUp:
        return f"they take longer than {time_limit:g} s"
    except BowfreeError as error:
        return str(error)


class Part(NamedTuple):
    """A part of the section: title, introduction, warnings, and tables with their captions."""

    title: str
    text: str
    warnings: list[str]
    tables: list[tuple[Table, str]]


def average_part(average: AveragedEffects) -> Part:
    """Return the probabilities of effects and edges."""
    level = f"{100 * average.confidence:g} %"
    names = average.names
    mean = "mean of the effect over all graphs, including those without it"
    columns: list[Column] = [
        ("Cause", "", lambda p: name_cell(names[p[1]])),
        ("On", "", lambda p: name_cell(names[p[0]])),
        ("P(effect)", "of the first on the second", lambda p: percent(average.probability[p])),
        ("P(+)", "probability of a positive effect", lambda p: percent(average.positive[p])),
        ("P(−)", "probability of a negative effect", lambda p: percent(average.negative[p])),
        ("Mean", mean, lambda p: quantity(average.mean[p])),
        ("Lower", f"end of the {level} interval", lambda p: quantity(average.lower[p])),
        ("Upper", f"end of the {level} interval", lambda p: quantity(average.upper[p])),
    ]
    effects = table("averaged-effects", _frequent(average.probability), columns, by=2)
    return Part(
        "Averaged over graphs",
        f"Averages over {average.describe_graphs()}, each weighted by its probability given "
        f"the data. The {level} intervals account for the uncertainty about the graph.",
        average_warnings(average),
        [
            (effects, "Total effects, with the uncertainty about the graph"),
            (_pair_table("averaged-edges", average), "Probabilities of edges"),
        ],
    )


def bootstrap_part(bootstrap: BootstrapResult) -> Part:
    """Return the frequencies of edges and effects in resampled data."""
    level = f"{100 * bootstrap.confidence:g} %"
    names, share = bootstrap.names, bootstrap.effect_frequency
    lower, upper = bootstrap.total_effect_interval
    members = "share of resamples in which all equivalent graphs have an effect"
    columns: list[Column] = [
        ("Cause", "", lambda p: name_cell(names[p[1]])),
        ("On", "", lambda p: name_cell(names[p[0]])),
        ("In all members", members, lambda p: percent(share[p])),
        ("Lower", f"end of the {level} interval", lambda p: quantity(lower[p])),
        ("Upper", f"end of the {level} interval", lambda p: quantity(upper[p])),
    ]
    effects = table("resampled-effects", _frequent(share), columns, by=2)
    return Part(
        "Bootstrap",
        f"The search was repeated on {count(bootstrap.n_resamples, 'data set')} resampled from the "
        "rows. The tables show how often each edge and effect was found.",
        [f"Bootstrap: {note}." for note in bootstrap.notes],
        [
            (_pair_table("resampled-edges", bootstrap), "Frequencies of edges"),
            (effects, "Frequencies of effects"),
        ],
    )


def stability_part(stability: StablePairs) -> Part:
    """Return the pairs that are adjacent in most halves of the data."""
    index = stability.names.index
    halves = "share of the halves of the data"
    columns: list[Column] = [
        ("a", "", lambda p: name_cell(p[0])),
        ("b", "", lambda p: name_cell(p[1])),
        ("Adjacent in", halves, lambda p: percent(stability.frequency[index(p[0]), index(p[1])])),
    ]
    return Part(
        "Stability selection",
        f"Pairs of variables that are adjacent in most of "
        f"{count(stability.n_halves, 'half', 'halves')} of the rows; the expected number of false "
        f"ones is at most {stability.max_false:g}.",
        [f"Stability selection: {note}." for note in stability.notes],
        [(table("stable-pairs", stability.pairs, columns, by=2), "Stable pairs")],
    )


def _frequent(share: Floats) -> list[tuple[int, int]]:
    """Return the entries that are listed, the largest first."""
    found = [(i, j) for i, j in np.argwhere(share >= MIN_SHARE).tolist() if i != j]
    return sorted(found, key=lambda entry: -share[entry])


def _pair_table(name: str, result: AveragedEffects | BootstrapResult) -> Table:
    """Return one row for each pair of variables that is adjacent often enough."""
    names, directed, bidirected = result.names, result.directed, result.bidirected
    adjacent = np.minimum(directed + directed.T + bidirected, 1.0)
    columns: list[Column] = [
        ("a", "", lambda p: name_cell(names[p[0]])),
        ("b", "", lambda p: name_cell(names[p[1]])),
        ("Adjacent", "by an edge of any kind", lambda p: percent(adjacent[p])),
        ("a → b", "direct effect of a on b", lambda p: percent(directed[p[::-1]])),
        ("a ← b", "direct effect of b on a", lambda p: percent(directed[p])),
        ("a ↔ b", "hidden common cause", lambda p: percent(bidirected[p])),
    ]
    pairs = [(i, j) for i, j in _frequent(adjacent) if i < j]
    return table(name, pairs, columns, by=2)
