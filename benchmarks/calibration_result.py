"""Coverage and reliability in the simulations of ``study_calibration.py``.

- *coverage*: the share of intervals that contain the true total effect, among all ordered pairs and
  among those with an effect; their width; and the share of false positives among the intervals that
  exclude zero;
- *reliability*: of all statements "there is an effect (or an edge) with probability p" with p in
  one bin, the share that is true, and the mean of p;
- the *Brier score*, the mean squared difference between probabilities and truth.

Standard errors are those of ratios over independent simulations, because the statements of one
simulation are dependent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bowfree.studies.runner import Study, markdown_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]

BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
_WHAT = ("effects", "edges", "adjacent")


class Ratio(NamedTuple):
    """A share or a mean, and its standard error over simulations."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.error:.3f})"


def _ratio(counts: Sequence[float], of: Sequence[float]) -> Ratio:
    """Return the sum of `counts` over the sum of `of`, one entry of each per simulation."""
    over, under = np.asarray(counts, float), np.asarray(of, float)
    if not under.sum() > 0:
        return Ratio(math.nan, math.nan)
    value = over.sum() / under.sum()
    k = len(over)
    spread = math.sqrt(np.sum((over - value * under) ** 2) * k / max(1, k - 1)) / under.sum()
    return Ratio(float(value), spread)


@dataclass(frozen=True)
class ReliabilityBin:
    """Statements with about the same probability.

    Attributes
    ----------
    count : int
        Number of statements.
    stated : float
        Mean of their probabilities.
    true : Ratio
        Share that is true.
    """

    count: int
    stated: float
    true: Ratio

    @property
    def reliable(self) -> bool:
        """Whether the share is within 0.05 or two standard errors of the mean probability.

        If all of a few statements are true, their spread is zero; then the standard error of
        independent statements with these probabilities is used.
        """
        independent = math.sqrt(self.stated * (1 - self.stated) / self.count)
        return abs(self.true.value - self.stated) <= max(0.05, 2 * self.true.error, 2 * independent)


@dataclass(frozen=True, eq=False)
class Statements:
    """Probabilities in one simulation, and whether each statement is true."""

    stated: Floats
    true: Truths

    def brier(self) -> float:
        """Return the mean squared difference between probabilities and truth."""
        return float(np.mean((self.stated - self.true) ** 2))


@dataclass(frozen=True, eq=False)
class CheckedIntervals:
    """Intervals of one simulation, compared with the true effects."""

    covered: Truths
    width: Floats
    excludes_zero: Truths


@dataclass(frozen=True, eq=False)
class CheckedSimulation:
    """The statements of one simulation, and the truth."""

    nonzero: Truths  # true effects, by ordered pair
    averaged: CheckedIntervals
    one_graph: CheckedIntervals
    effects: Statements
    edges: Statements
    adjacent: Statements
    mixed: bool
    seconds: float


@dataclass(frozen=True, eq=False)
class CalibrationCell:
    """All simulations of one kind.

    Attributes
    ----------
    d, n : int
        Number of variables and of observations.
    density : str
        "sparse" or "dense": true graphs with in-degrees of at most 2 or 3; or drawn from the
        "prior".
    simulations : tuple
        One entry per simulation.
    """

    d: int
    n: int
    density: str
    simulations: tuple[CheckedSimulation, ...]

    def coverage(self, *, nonzero: bool = False, one_graph: bool = False) -> Ratio:
        """Return the share of intervals that contain the true effect.

        Parameters
        ----------
        nonzero : bool
            Only for non-zero true effects.
        one_graph : bool
            For the intervals of the best graph, as if it had not been learned from the data.
        """
        counts, of = [], []
        for simulation in self.simulations:
            intervals = simulation.one_graph if one_graph else simulation.averaged
            asked = simulation.nonzero if nonzero else np.ones_like(simulation.nonzero)
            counts.append(float(intervals.covered[asked].sum()))
            of.append(float(asked.sum()))
        return _ratio(counts, of)

    def wrong(self, *, one_graph: bool = False) -> Ratio:
        """Return the share of zero effects among intervals that exclude zero."""
        counts, of = [], []
        for simulation in self.simulations:
            intervals = simulation.one_graph if one_graph else simulation.averaged
            counts.append(float((intervals.excludes_zero & ~simulation.nonzero).sum()))
            of.append(float(intervals.excludes_zero.sum()))
        return _ratio(counts, of)

    def excluding(self) -> float:
        """Return the mean number of intervals that exclude zero in a simulation."""
        return float(np.mean([s.averaged.excludes_zero.sum() for s in self.simulations]))

    def width(self) -> float:
        """Return the median width of the intervals of non-zero effects."""
        return float(
            np.median(np.concatenate([s.averaged.width[s.nonzero] for s in self.simulations]))
        )

    def brier(self, what: str) -> Ratio:
        """Return the Brier score of "effects", "edges" or "adjacent"."""
        scores = [getattr(simulation, what).brier() for simulation in self.simulations]
        return _ratio(scores, [1.0] * len(scores))

    def reliability(self, what: str) -> tuple[ReliabilityBin, ...]:
        """Return the bins of the statements about "effects", "edges" or "adjacent"."""
        statements: list[Statements] = [getattr(s, what) for s in self.simulations]
        bins = []
        for low, high in pairwise(BINS):
            inside = [(s.stated >= low) & ((s.stated < high) | (high == 1.0)) for s in statements]
            count = int(sum(part.sum() for part in inside))
            if count == 0:
                continue
            stated = sum(
                float(s.stated[part].sum()) for s, part in zip(statements, inside, strict=True)
            )
            true = _ratio(
                [float(s.true[part].sum()) for s, part in zip(statements, inside, strict=True)],
                [float(part.sum()) for part in inside],
            )
            bins.append(ReliabilityBin(count, stated / count, true))
        return tuple(bins)

    @property
    def mixed(self) -> float:
        """Share of simulations whose chains have mixed."""
        return float(np.mean([simulation.mixed for simulation in self.simulations]))

    @property
    def cpu_seconds(self) -> float:
        """Mean processor time of a search and its average."""
        return float(np.mean([simulation.seconds for simulation in self.simulations]))

    def row(self) -> dict[str, Any]:
        """Return the numbers of the table."""
        kept = {what: [entry.reliable for entry in self.reliability(what)] for what in _WHAT}
        return {
            "d": self.d,
            "n": self.n,
            "density": self.density,
            "simulations": len(self.simulations),
            "coverage": self.coverage(),
            "coverage_nonzero": self.coverage(nonzero=True),
            "one_graph_coverage_nonzero": self.coverage(nonzero=True, one_graph=True),
            "width": self.width(),
            "excluding_zero": self.excluding(),
            "wrong": self.wrong(),
            "one_graph_wrong": self.wrong(one_graph=True),
            **{f"brier_{what}": self.brier(what) for what in kept},
            **{f"bins_{what}": f"{sum(bins)} of {len(bins)}" for what, bins in kept.items()},
            "mixed": self.mixed,
            "cpu_seconds": self.cpu_seconds,
        }


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationStudy(Study):
    """All cells of the study; complete unless a time limit or an interrupt ended it early."""

    _stem = "calibration"

    cells: tuple[CalibrationCell, ...]
    complete: bool

    def table(self) -> str:
        """Return one line for each cell, in Markdown."""
        headings = (
            "variables",
            "n",
            "graphs",
            "coverage",
            "... of non-zero effects",
            "... of one graph alone",
            "median width",
            "exclude zero, of these wrong",
            "one graph: wrong",
            "Brier score: effects, edges, adjacencies",
            "reliable bins: the same",
            "mixed",
            "CPU s",
        )
        rows = []
        for cell in self.cells:
            row = cell.row()
            rows.append(
                (
                    cell.d,
                    cell.n,
                    cell.density,
                    row["coverage"],
                    row["coverage_nonzero"],
                    row["one_graph_coverage_nonzero"],
                    f"{row['width']:.2f}",
                    f"{row['excluding_zero']:.1f}, {row['wrong']}",
                    row["one_graph_wrong"],
                    ", ".join(f"{row[f'brier_{w}'].value:.3f}" for w in _WHAT),
                    ", ".join(row[f"bins_{w}"] for w in _WHAT),
                    f"{row['mixed']:.2f}",
                    f"{row['cpu_seconds']:.1f}",
                )
            )
        return markdown_table(headings, rows)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the numbers of each cell."""
        return [cell.row() for cell in self.cells]

    def records(self) -> list[dict[str, Any]]:
        """Return one record for each bin."""
        return [
            {
                "d": cell.d,
                "n": cell.n,
                "graphs": cell.density,
                "what": what,
                "count": entry.count,
                "stated": f"{entry.stated:.4f}",
                "true": f"{entry.true.value:.4f}",
                "error": f"{entry.true.error:.4f}",
            }
            for cell in self.cells
            for what in _WHAT
            for entry in cell.reliability(what)
        ]

    def figures(self) -> dict[str, Figure]:
        """Draw the reliability of every cell."""
        import matplotlib.pyplot as plt

        height, width = -(-len(self.cells) // 3), min(3, len(self.cells))
        figure, axes = plt.subplots(
            height,
            width,
            figsize=(3.4 * width, 3.4 * height),
            layout="constrained",
            squeeze=False,
            sharex=True,
            sharey=True,
        )
        for ax in axes.flat[len(self.cells) :]:
            ax.set_visible(False)
        for cell, ax in zip(self.cells, axes.flat, strict=False):
            plot_reliability(cell, ax)
        axes.flat[0].legend(frameon=False, fontsize=8, loc="upper left")
        return {"": figure}

    def _headline(self) -> str:
        return f"calibration in {len(self.cells)} cells"


_COLORS = {"effects": "#0072b2", "edges": "#d55e00"}


def plot_reliability(cell: CalibrationCell, ax: Axes) -> None:
    """Draw the share of true statements against their probability, with two standard errors."""
    ax.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--")
    for what, color in _COLORS.items():
        bins = cell.reliability(what)
        ax.errorbar(
            [entry.stated for entry in bins],
            [entry.true.value for entry in bins],
            yerr=[2 * entry.true.error for entry in bins],
            fmt="o-",
            ms=4,
            lw=1,
            color=color,
            label=f"P({what[:-1]})",
        )
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set_title(f"{cell.d} variables, n = {cell.n}, {cell.density}", fontsize=9)
    ax.set_xlabel("stated")
    ax.set_ylabel("true")
    ax.label_outer()
    ax.spines[["top", "right"]].set_visible(False)
