"""How sure the page can be of edges and effects: averages over graphs, and data drawn anew."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bowfree.results.display import count
from bowfree.uncertainty.average_result import AveragedEffects
from bowfree.uncertainty.search_bootstrap import BootstrapResult
from bowfree.uncertainty.stability import StablePairs
from bowfree.visualization.report.cells import Cell, Table, cut_rows, percent, quantity
from bowfree.visualization.svg import printable

Floats = npt.NDArray[np.float64]

LEAST = 0.05  # what is less probable, or found less often, is not listed


class Certainty(NamedTuple):
    """One part of the section: what was done, doubts about it, and tables with their captions."""

    title: str
    words: str
    doubts: list[str]
    tables: list[tuple[Table, str]]


def averaged(average: AveragedEffects) -> Certainty:
    """Return the probabilities of effects and edges."""
    level = f"{100 * average.level:g} %"
    columns = (
        ("Cause", ""),
        ("On", ""),
        ("P(effect)", "probability that the first has any effect on the second"),
        ("P(+)", "probability of a positive effect"),
        ("P(−)", "probability of a negative effect"),
        ("Mean", "mean of the effect over the graphs, those without one included"),
        ("Lower", f"lower end of the {level} interval"),
        ("Upper", f"upper end of the {level} interval"),
    )
    rows = [
        [
            *_names(average.names, j, i),
            *(percent(float(p[i, j])) for p in (average.probability, average.positive)),
            percent(float(average.negative[i, j])),
            *(quantity(x[i, j]) for x in (average.mean, average.lower, average.upper)),
        ]
        for i, j in _listed(average.probability)
    ]
    doubts = []
    if not average.mixed:
        doubts.append(
            "The chains behind the averaged effects have not mixed: their probabilities and "
            "intervals are rough. More steps make them more exact."
        )
    if not average.complete:
        doubts.append(
            "The averaged effects were cut short: a time limit, or one on the number of graphs, "
            "has left out some that are probable, too."
        )
    return Certainty(
        "Averaged over graphs",
        f"Not only the best graph and its class: {count(average.n_graphs, 'graph')} in "
        f"{count(average.n_classes, 'class', 'classes')}, each with the probability that the data "
        f"leave it. The {level} intervals take into account which graph is true.",
        doubts,
        [
            (
                Table("averaged-effects", columns, *cut_rows(rows, 2)),
                "Total effects, with the doubt about the graph in them",
            ),
            (
                _pairs("averaged-edges", average.names, average.directed, average.bidirected),
                "Probabilities of edges",
            ),
        ],
    )


def resampled(bootstrap: BootstrapResult) -> Certainty:
    """Return what came back on resampled data."""
    level = f"{100 * bootstrap.confidence:g} %"
    columns = (
        ("Cause", ""),
        ("On", ""),
        ("In all members", "share of resamples in which all equivalent graphs see an effect"),
        ("Lower", f"lower end of the {level} interval, whichever equivalent graph is true"),
        ("Upper", f"upper end of the {level} interval"),
    )
    lower, upper = bootstrap.total_effect_interval
    rows = [
        [
            *_names(bootstrap.names, j, i),
            percent(float(bootstrap.effect_frequency[i, j])),
            quantity(lower[i, j]),
            quantity(upper[i, j]),
        ]
        for i, j in _listed(bootstrap.effect_frequency)
    ]
    doubts = [f"On resampled data: {note}." for note in bootstrap.notes]
    return Certainty(
        "On resampled data",
        f"The search was repeated on {count(bootstrap.n_resamples, 'data set')} drawn from the "
        "rows: how often does an edge or an effect come back?",
        doubts,
        [
            (
                _pairs(
                    "resampled-edges", bootstrap.names, bootstrap.directed, bootstrap.bidirected
                ),
                "How often edges came back",
            ),
            (
                Table("resampled-effects", columns, *cut_rows(rows, 2)),
                "How often effects came back",
            ),
        ],
    )


def halved(stable: StablePairs) -> Certainty:
    """Return the pairs that are joined in most halves of the data."""
    columns = (("a", ""), ("b", ""), ("Joined in", "share of the halves of the data"))
    at = {name: k for k, name in enumerate(stable.names)}
    rows = [
        [*_names(stable.names, at[a], at[b]), percent(float(stable.frequency[at[a], at[b]]))]
        for a, b in stable.pairs
    ]
    doubts = [f"On halves of the data: {note}." for note in stable.notes]
    return Certainty(
        "On halves of the data",
        f"Pairs of variables that are joined in most of {count(stable.n_halves, 'half', 'halves')} "
        f"of the rows; at most {stable.max_false:g} of them is expected to be false.",
        doubts,
        [(Table("stable-pairs", columns, *cut_rows(rows, 2)), "Stable pairs")],
    )


def _names(names: tuple[str, ...], *at: int) -> list[Cell]:
    return [Cell(printable(names[k])) for k in at]


def _listed(share: Floats) -> list[tuple[int, int]]:
    """Return the places of shares that are worth a row, the largest first."""
    found = [(i, j) for i, j in np.argwhere(share >= LEAST).tolist() if i != j]
    return sorted(found, key=lambda place: -share[place])


def _pairs(name: str, names: tuple[str, ...], directed: Floats, bidirected: Floats) -> Table:
    """Return one row for each pair of variables that may be joined."""
    columns = (
        ("a", ""),
        ("b", ""),
        ("Joined", "by an edge of any kind"),
        ("a → b", "a acts on b directly"),
        ("a ← b", "b acts on a directly"),
        ("a ↔ b", "a hidden common cause"),
    )
    joined = directed + directed.T + bidirected
    pairs = [pair for pair in combinations(range(len(names)), 2) if joined[pair] >= LEAST]
    rows = [
        [
            *_names(names, i, j),
            percent(min(1.0, float(joined[i, j]))),
            *(percent(float(x)) for x in (directed[j, i], directed[i, j], bidirected[i, j])),
        ]
        for i, j in sorted(pairs, key=lambda pair: -joined[pair])
    ]
    return Table(name, columns, *cut_rows(rows, 2))
