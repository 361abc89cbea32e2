"""Uniform sampling of small BAPs (section 3.2).

A random triangular matrix with shuffled nodes (the naive sampler) prefers symmetric graphs; a
Markov chain does not. The chain as printed in the paper is not uniform either (docs/errata.md), so
it is included as a third sampler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bowfree.data.sample import Floats
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import parse
from bowfree.parallel.budget import random_generator
from bowfree.parameters import Rng, public
from bowfree.space.search_space import Method, random_bap
from bowfree.studies.runner import Study, markdown_table
from bowfree.validation import check_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes


METHODS: dict[Method, tuple[str, str]] = {
    "naive": ("naive (triangular matrix)", "#d55e00"),
    "mcmc": ("MCMC", "#0072b2"),
    "mcmc-printed": ("MCMC as printed", "#999999"),
}
"""Labels and colors of the samplers."""


@dataclass(frozen=True, eq=False, repr=False)
class UniformityStudy(Study):
    """The result of :func:`uniformity_study`.

    Attributes
    ----------
    graphs : tuple of MixedGraph
        All BAPs, sorted by their frequency under the naive sampler.
    n_samples : int
        Number of samples of each sampler.
    counts : dict of str to ndarray of shape (graphs,)
        Number of samples of each graph, by sampler: "naive", "mcmc" and "mcmc-printed".
    """

    _stem = "uniformity"

    graphs: tuple[MixedGraph, ...]
    n_samples: int
    counts: Mapping[Method, npt.NDArray[np.int64]]

    def frequencies(self, method: Method) -> Floats:
        """Return the relative frequencies of the graphs under one sampler."""
        return self.counts[method] / self.n_samples

    def p_value(self, method: Method) -> float:
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

    def records(self) -> list[dict[str, Any]]:
        """Return the counts of each graph."""
        counts = zip(*self.counts.values(), strict=True)
        return [
            {"graph": str(graph), **dict(zip(self.counts, map(int, row), strict=True))}
            for graph, row in zip(self.graphs, counts, strict=True)
        ]

    def table(self) -> str:
        """Return the range of the frequencies and the test of uniformity, in Markdown."""
        uniform = f"{1 / len(self.graphs):.4f}"
        rows = [("exactly uniform", uniform, uniform, "")]
        for method in self.counts:
            share = self.frequencies(method)
            numbers = f"{share.min():.4f}", f"{share.max():.4f}", f"{self.p_value(method):.2g}"
            rows.append((METHODS[method][0], *numbers))
        sampler = f"sampler ({self.n_samples:,} samples, {len(self.graphs)} graphs)"
        return markdown_table(
            [sampler, "smallest frequency", "largest", "p-value of uniformity"], rows
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the relative frequencies, one point for each graph and sampler."""
        import matplotlib.pyplot as plt

        if ax is None:
            ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")[1]
        order = np.arange(1, len(self.graphs) + 1)
        ax.axhline(1 / len(self.graphs), color="0.6", lw=1, label="uniform")
        for method in self.counts:
            label, color = METHODS[method]
            ax.plot(order, self.frequencies(method), "o", ms=3, color=color, label=label)
        ax.set_ylim(bottom=0)
        ax.set_xlabel(f"the {len(self.graphs)} BAPs, by naive frequency")
        ax.set_ylabel("relative frequency")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)
        return ax

    def _headline(self) -> str:
        return f"{self.n_samples:,} samples of {len(self.graphs)} graphs by each sampler"


@public
def uniformity_study(n_samples: int = 30_000, *, d: int = 3, rng: Rng = None) -> UniformityStudy:
    """Count how often each sampler draws each BAP on a few nodes.

    Parameters
    ----------
    n_samples : int
        Number of samples of each sampler, 30,000 in the paper.
    d : int
        Number of nodes, 2 to 4; 3 in the paper (62 BAPs).

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
        raise BowfreeError(f"d = {d}: all graphs are enumerated, so d must be 2, 3 or 4")
    graphs = all_baps(d)
    counts: dict[Method, npt.NDArray[np.int64]] = {}
    for method, stream in zip(METHODS, random_generator(rng).spawn(len(METHODS)), strict=True):
        drawn = Counter(random_bap(d, size=n_samples, method=method, rng=stream))
        counts[method] = np.array([drawn[graph] for graph in graphs])
    order = np.argsort(-counts["naive"], kind="stable")
    return UniformityStudy(
        tuple(graphs[k] for k in order),
        n_samples,
        {method: found[order] for method, found in counts.items()},
    )


def all_baps(d: int) -> list[MixedGraph]:
    """Return all BAPs on the nodes ``x1 ... xd``."""
    names = [f"x{i + 1}" for i in range(d)]
    edges = [
        ("", *(f"{a} {mark} {b}, " for mark in ("->", "<-", "<->")))
        for a, b in combinations(names, 2)
    ]
    graphs = [parse(f"{''.join(chosen)}\nnodes: {', '.join(names)}") for chosen in product(*edges)]
    return [graph for graph in graphs if graph.is_acyclic()]
