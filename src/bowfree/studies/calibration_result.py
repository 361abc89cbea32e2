"""What came of the simulations of a calibration study: coverage, reliability, table and figure.

Every stated certainty of a simulation was held against the model that its data came from
(:mod:`bowfree.studies.calibration_study`). Here they are counted:

- *coverage*: how many intervals hold the true total effect, among all ordered pairs and among
  those with an effect; how wide they are; and, of the intervals that exclude zero, how many are
  about an effect that is zero in truth;
- *reliability*: of all statements "with probability p there is an effect" (or an edge of a kind)
  with p in one bin, the share that is true, beside the mean of p;
- the *Brier score*, the mean squared distance of the probabilities from what is true.

Standard errors are those of ratios over independent simulations, because the statements of one
simulation stand or fall together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bowfree.studies.files import write_csv, write_figure, write_json, write_text

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
    def kept(self) -> bool:
        """Whether the share is within 0.05 or two standard errors of what was stated.

        Of a few statements all may be true, which has no spread; then the standard error of as many
        independent statements that are as probable as stated holds.
        """
        independent = math.sqrt(self.stated * (1 - self.stated) / self.count)
        return abs(self.true.value - self.stated) <= max(0.05, 2 * self.true.error, 2 * independent)


@dataclass(frozen=True, eq=False)
class Statements:
    """Probabilities stated in one simulation, and whether each came true."""

    stated: Floats
    true: Truths

    def brier(self) -> float:
        """Return the mean squared distance of the probabilities from the truth."""
        return float(np.mean((self.stated - self.true) ** 2))


@dataclass(frozen=True, eq=False)
class CheckedIntervals:
    """Intervals of one simulation, held against the true effects."""

    covered: Truths
    width: Floats
    excludes_zero: Truths


@dataclass(frozen=True, eq=False)
class CheckedSimulation:
    """What one simulation said, and what is true."""

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
        """Return the share of intervals that hold the true effect.

        Parameters
        ----------
        nonzero : bool
            Only of effects that are not zero in truth.
        one_graph : bool
            Of the best graph's intervals, as if it had been given.
        """
        counts, of = [], []
        for simulation in self.simulations:
            intervals = simulation.one_graph if one_graph else simulation.averaged
            asked = simulation.nonzero if nonzero else np.ones_like(simulation.nonzero)
            counts.append(float(intervals.covered[asked].sum()))
            of.append(float(asked.sum()))
        return _ratio(counts, of)

    def wrong(self, *, one_graph: bool = False) -> Ratio:
        """Return the share of wrong ones among intervals that exclude zero: no effect in truth."""
        counts, of = [], []
        for simulation in self.simulations:
            intervals = simulation.one_graph if one_graph else simulation.averaged
            counts.append(float((intervals.excludes_zero & ~simulation.nonzero).sum()))
            of.append(float(intervals.excludes_zero.sum()))
        return _ratio(counts, of)

    def excluding(self) -> float:
        """Return how many intervals per simulation exclude zero."""
        return float(np.mean([s.averaged.excludes_zero.sum() for s in self.simulations]))

    def width(self) -> float:
        """Return the median width of the intervals of effects that are not zero in truth."""
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
        """Processor time of a search and its average; with one simulation at a time."""
        return float(np.mean([simulation.seconds for simulation in self.simulations]))

    def row(self) -> dict[str, Any]:
        """Return the numbers of the table."""
        kept = {what: [entry.kept for entry in self.reliability(what)] for what in _WHAT}
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


@dataclass(frozen=True, eq=False)
class CalibrationStudy:
    """All cells of the study.

    Attributes
    ----------
    cells : tuple of CalibrationCell
        In the order in which they were asked for.
    complete : bool
        Whether every cell has as many simulations as were asked for; False after a time limit or
        an interruption.
    """

    cells: tuple[CalibrationCell, ...]
    complete: bool

    def table(self) -> str:
        """Return one line per cell, in Markdown."""
        lines = [
            "| variables | n | graphs | intervals cover | ... non-zero effects | one graph alone "
            "| median width | exclude zero, of these wrong | one graph: wrong | Brier score: "
            "effects, edges, adjacencies | bins kept: the same | mixed | CPU s |",
            "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
        ]
        for cell in self.cells:
            row = cell.row()
            briers = ", ".join(f"{row[f'brier_{w}'].value:.3f}" for w in _WHAT)
            bins = ", ".join(row[f"bins_{w}"] for w in _WHAT)
            lines.append(
                f"| {cell.d} | {cell.n} | {cell.density} | {row['coverage']} | "
                f"{row['coverage_nonzero']} | {row['one_graph_coverage_nonzero']} | "
                f"{row['width']:.2f} | {row['excluding_zero']:.1f}, {row['wrong']} | "
                f"{row['one_graph_wrong']} | {briers} | {bins} | {row['mixed']:.2f} | "
                f"{row['cpu_seconds']:.1f} |"
            )
        return "\n".join(lines)

    def save(self, folder: Path) -> list[Path]:
        """Write the table, all numbers as JSON, the bins as CSV, and a figure; return the paths."""
        return [
            write_text(folder / "calibration.md", self.table()),
            write_json(folder / "calibration.json", [cell.row() for cell in self.cells]),
            write_csv(folder / "calibration.csv", self._bin_rows()),
            write_figure(folder / "calibration.png", self.figure(), dpi=150),
        ]

    def figure(self) -> Figure:
        """Draw the reliability of every cell."""
        import matplotlib.pyplot as plt

        rows_of_axes = -(-len(self.cells) // 3)
        columns = min(3, len(self.cells))
        figure, axes = plt.subplots(
            rows_of_axes,
            columns,
            figsize=(3.4 * columns, 3.4 * rows_of_axes),
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
        return figure

    def _bin_rows(self) -> Iterator[dict[str, Any]]:
        for cell in self.cells:
            for what in _WHAT:
                for entry in cell.reliability(what):
                    yield {
                        "d": cell.d,
                        "n": cell.n,
                        "graphs": cell.density,
                        "what": what,
                        "count": entry.count,
                        "stated": f"{entry.stated:.4f}",
                        "true": f"{entry.true.value:.4f}",
                        "error": f"{entry.true.error:.4f}",
                    }


_COLOURS = {"effects": "#0072b2", "edges": "#d55e00"}


def plot_reliability(cell: CalibrationCell, ax: Axes) -> None:
    """Draw the share that is true against what was stated, with two standard errors."""
    ax.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--")
    for what, color in _COLOURS.items():
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
