"""Are random graphs uniform? Relative frequencies of all small BAPs under three samplers.

Section 3.2 and figure "uniform" of the paper: a random triangular matrix with its nodes shuffled
(the naive sampler) prefers symmetric graphs, a Markov chain does not. The chain as it is printed is
not uniform either (see docs/errata.md), so it is shown as a third.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.space.random_graphs import Method, random_bap
from bowfree.studies.files import write_csv, write_figure, write_json, write_text
from bowfree.validation import check_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LABELS = {
    "naive": "naive (triangular matrix)",
    "mcmc": "MCMC",
    "mcmc-printed": "MCMC as printed",
}
_SIZE = (6.4, 3.6)  # inches
_COLOURS = {"naive": "#d55e00", "mcmc": "#0072b2", "mcmc-printed": "#999999"}


@dataclass(frozen=True, eq=False)
class UniformityStudy:
    """Counts of every graph under every sampler.

    Attributes
    ----------
    graphs : tuple of MixedGraph
        All BAPs, by their frequency under the naive sampler.
    n_samples : int
        Samples of each.
    counts : dict of str to ndarray of shape (graphs,)
        By sampler: "naive", "mcmc" and "mcmc-printed".
    """

    graphs: tuple[MixedGraph, ...]
    n_samples: int
    counts: Mapping[str, npt.NDArray[np.int64]]

    def frequencies(self, method: str) -> npt.NDArray[np.float64]:
        """Return the relative frequencies of the graphs under one sampler."""
        return self.counts[method] / self.n_samples

    def p_value(self, method: str) -> float:
        """Return the p-value of the chi-square test that a sampler is uniform."""
        from scipy.stats import chisquare

        return float(chisquare(self.counts[method]).pvalue)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers."""
        return {
            "n_samples": self.n_samples,
            "graphs": [str(graph) for graph in self.graphs],
            "counts": {method: counts.tolist() for method, counts in self.counts.items()},
            "p_value_of_uniformity": {method: self.p_value(method) for method in self.counts},
        }

    def table(self) -> str:
        """Return the frequencies' range and the test, as a Markdown table."""
        uniform = 1 / len(self.graphs)
        lines = [
            f"| sampler ({self.n_samples:,} samples, {len(self.graphs)} graphs) | smallest "
            "frequency | largest | p-value of uniformity |",
            "|---|---|---|---|",
            f"| exactly uniform | {uniform:.4f} | {uniform:.4f} | |",
        ]
        for method in self.counts:
            share = self.frequencies(method)
            lines.append(
                f"| {LABELS[method]} | {share.min():.4f} | {share.max():.4f} | "
                f"{self.p_value(method):.2g} |"
            )
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the relative frequencies, one mark per graph and sampler."""
        import matplotlib.pyplot as plt

        if ax is None:
            ax = plt.subplots(figsize=_SIZE, layout="constrained")[1]
        order = np.arange(1, len(self.graphs) + 1)
        ax.axhline(1 / len(self.graphs), color="0.6", lw=1, label="uniform")
        for method in self.counts:
            ax.plot(
                order,
                self.frequencies(method),
                "o",
                ms=3,
                color=_COLOURS[method],
                label=LABELS[method],
            )
        ax.set_ylim(bottom=0)
        ax.set_xlabel(f"the {len(self.graphs)} BAPs, by naive frequency")
        ax.set_ylabel("relative frequency")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)
        return ax

    def save(self, folder: Path) -> list[Path]:
        """Write uniformity.csv, .json, .md and .png; return their paths."""
        counts = zip(*self.counts.values(), strict=True)
        rows = (
            {"graph": graph, **dict(zip(self.counts, row, strict=True))}
            for graph, row in zip(self.graphs, counts, strict=True)
        )
        return [
            write_csv(folder / "uniformity.csv", rows),
            write_json(folder / "uniformity.json", self.to_dict()),
            write_text(folder / "uniformity.md", self.table()),
            write_figure(folder / "uniformity.png", self.plot().figure, dpi=130),
        ]


def uniformity_study(
    n_samples: int = 30_000, *, d: int = 3, rng: int | np.random.Generator | None = None
) -> UniformityStudy:
    """Sample all BAPs on few nodes by each sampler and count.

    Parameters
    ----------
    n_samples : int
        Samples of each sampler; the paper's number is 30,000.
    d : int
        Number of nodes, 2 to 4; 3 in the paper (62 BAPs).
    rng : int or numpy.random.Generator, optional
        Anything :func:`numpy.random.default_rng` takes.

    Returns
    -------
    UniformityStudy

    References
    ----------
    Section 3.2 and figure "uniform" of the paper.

    Examples
    --------
    >>> import bowfree as bf
    >>> study = bf.studies.uniformity_study(2000, rng=1)
    >>> len(study.graphs)
    62
    >>> study.p_value("naive") < 1e-6 < study.p_value("mcmc")
    True
    """
    check_count("n_samples", n_samples, 1)
    if check_count("d", d, 2) > 4:
        raise BowfreeError(f"d = {d}: the graphs are listed one by one, so d must be 2, 3 or 4")
    graphs = all_baps(d)
    streams = np.random.default_rng(rng).spawn(len(LABELS))
    counts: dict[str, npt.NDArray[np.int64]] = {}
    methods: tuple[Method, ...] = ("naive", "mcmc", "mcmc-printed")
    for method, stream in zip(methods, streams, strict=True):
        # Independent chains: the samples of the figure are independent draws.
        seen = Counter(random_bap(d, size=n_samples, method=method, rng=stream))
        counts[method] = np.array([seen[graph] for graph in graphs])
    order = np.argsort(-counts["naive"], kind="stable")
    return UniformityStudy(
        tuple(graphs[k] for k in order),
        n_samples,
        {method: found[order] for method, found in counts.items()},
    )


def all_baps(d: int) -> list[MixedGraph]:
    """List all BAPs on the nodes ``x1 ... xd``: every pair has one of three edges or none."""
    names = [f"x{i + 1}" for i in range(d)]
    graphs = []
    pairs = list(combinations(names, 2))
    for marks in product(("", "->", "<-", "<->"), repeat=len(pairs)):
        edges = list(zip(pairs, marks, strict=True))
        graph = MixedGraph(
            names,
            directed=[
                pair if mark == "->" else pair[::-1] for pair, mark in edges if mark in ("->", "<-")
            ],
            bidirected=[pair for pair, mark in edges if mark == "<->"],
        )
        if graph.is_acyclic():
            graphs.append(graph)
    return graphs
