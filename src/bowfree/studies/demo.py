"""The demo: from data to a graph with effects, told to a newcomer.

`run_demo` loads the greenhouse data, searches for the best graph, works out which of its edges data
can settle at all, compares it with the model that the data came from, and writes a folder with the
results. ``bowfree demo`` prints what it returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bowfree import datasets
from bowfree.datasets.tables import Table, write_table
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.class_summary import EdgeSummary
from bowfree.equivalence.classes import equivalence_class
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_result import Fit
from bowfree.model.fitting import fit_quietly
from bowfree.model.linear_sem import LinearSEM
from bowfree.parallel.budget import Progress
from bowfree.search.greedy import greedy_search
from bowfree.search.result import SearchResult
from bowfree.visualization.report import render


@dataclass(frozen=True)
class DemoReport:
    """What the demo found.

    Attributes
    ----------
    text : str
        The story, ready to print.
    result : SearchResult
        What the search found.
    members : EquivalenceClass
        The graphs that no data can tell from it.
    fit : Fit
        Its fit to the demo data.
    files : tuple of Path
        What was written.
    """

    text: str
    result: SearchResult
    members: EquivalenceClass
    fit: Fit
    files: tuple[Path, ...]

    @property
    def graph(self) -> MixedGraph:
        """The graph that was found."""
        return self.result.graph


def free_folder(wanted: Path) -> Path:
    """Return the first of ``wanted``, ``wanted-2``, ``wanted-3``, ... that does not exist."""
    number, folder = 1, wanted
    while folder.exists():
        number += 1
        folder = wanted.with_name(f"{wanted.name}-{number}")
    return folder


def run_demo(folder: Path, *, progress: Callable[[Progress], None] | None = None) -> DemoReport:
    """Run the demo and write its results into a new folder.

    Parameters
    ----------
    folder : Path
        Must not exist yet: nothing is overwritten.
    progress : callable, optional
        As for :func:`bowfree.greedy_search`.

    Returns
    -------
    DemoReport

    Raises
    ------
    BowfreeError
        If the folder exists.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from bowfree.studies.demo import run_demo
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     report = run_demo(pathlib.Path(parent, "demo"))
    >>> report.graph.has_edge("roots <-> fruit")
    True
    """
    if folder.exists():
        raise BowfreeError(f"{folder} exists already; choose another folder with --out")
    began = time.monotonic()
    data = datasets.load_demo()
    result = greedy_search(data, rng=1, progress=progress)
    members = equivalence_class(result.graph)
    fitted = fit_quietly(result)
    # Everything is worked out before the first file is written: no half-filled folder on an error.
    contents = {
        "data.csv": write_table(data, decimals=4),
        "graph.txt": f"{result.graph}\n",
        "graph.json": result.graph.to_json(indent=2) + "\n",
        "graph.svg": result.graph.to_svg(),
        "class.svg": members.to_svg(),
        "summary.txt": f"{fitted.summary()}\n",
        "report.html": render(result, data=data, equivalence_class=members, title="Tomato plants"),
    }
    folder.mkdir(parents=True)
    files = []
    for name, content in contents.items():
        path = folder / name
        path.write_text(content, encoding="utf-8")
        files.append(path)
    seconds = time.monotonic() - began
    text = _story(data, result, members, fitted, datasets.demo_model(), seconds, folder)
    return DemoReport(text, result, members, fitted, tuple(files))


def _story(
    data: Table,
    result: SearchResult,
    members: EquivalenceClass,
    fitted: Fit,
    truth: LinearSEM,
    seconds: float,
    folder: Path,
) -> str:
    lines = [
        f"{len(data.X)} tomato plants in a greenhouse, {len(data.names)} measurements each:",
        ", ".join(data.names) + ".",
        "(Invented data, drawn from a known model, so that the answer can be checked.)",
        "",
        f"The best graph of a search with {len(result.runs)} runs:",
        "",
        f"    {result.graph}",
        "",
        "    a -> b   a acts on b           a <-> b   a hidden cause acts on both",
        "",
        *_settled(members, truth),
        "",
        *_open(members),
        "",
        "The true graph is one of them."
        if truth.graph in members
        else "The true graph is not among them: the search, or chance in the data, went wrong.",
        "",
        *_effects(fitted, members, truth),
        "",
        f"The fit: chi-square {fitted.chi2:.1f} on {fitted.df} degrees of freedom, "
        f"p = {fitted.p_value:.2f}",
        "(a small p would speak against the graph).",
        f"All this took {seconds:.1f} seconds.",
        "",
        f"Results are in the folder {folder}: open report.html in a browser.",
        "The same with data of your own: bowfree learn data.csv --report report.html",
    ]
    return "\n".join(lines)


def _settled(members: EquivalenceClass, truth: LinearSEM) -> list[str]:
    lines = ["Recovered from the data alone:"]
    for edge in members.summary().edges:
        if edge.invariant:
            verdict = "true" if truth.graph.has_edge(str(edge)) else "not so in the true model"
            lines.append(f"    {edge!s:<24} {verdict}")
    return lines


def _open(members: EquivalenceClass) -> list[str]:
    lines = [
        f"Out of reach of every method: {members.size} graphs fit all data of this kind equally "
        "well.",
        "They differ in",
    ]
    for edge in members.summary().edges:
        if not edge.invariant:
            lines.append(f"    {edge!s:<24} {_readings(edge)}")
    return lines


def _readings(edge: EdgeSummary) -> str:
    counts = {"->": edge.n_forward, "<-": edge.n_backward, "<->": edge.n_bidirected}
    return " or ".join(f"{edge.a} {mark} {edge.b}" for mark, count in counts.items() if count)


def _effects(fitted: Fit, members: EquivalenceClass, truth: LinearSEM) -> list[str]:
    errors = fitted.standard_errors()
    index = {name: i for i, name in enumerate(fitted.graph.nodes)}
    known = {name: i for i, name in enumerate(truth.graph.nodes)}
    settled = {frozenset((e.a, e.b)) for e in members.summary().edges if e.invariant}
    lines = ["How strong, with a 95 % interval, and the true value:"]
    for a, b in fitted.graph.directed:
        if frozenset((a, b)) not in settled:
            continue
        i, j = index[b], index[a]
        estimate, margin = fitted.B[i, j], 1.96 * errors.B[i, j]
        true = truth.B[known[b], known[a]]
        lines.append(
            f"    {a + ' -> ' + b:<24} {estimate:+.2f}  "
            f"[{estimate - margin:+.2f}, {estimate + margin:+.2f}]   true {true:+.2f}"
        )
    for a, b in fitted.graph.bidirected:
        if frozenset((a, b)) not in settled:
            continue
        found = _error_correlation(fitted.graph, fitted.Omega, a, b)
        true = _error_correlation(truth.graph, truth.Omega, a, b)
        lines.append(f"    {a + ' <-> ' + b:<24} {found:+.2f}  (correlation)    true {true:+.2f}")
    return lines


def _error_correlation(graph: MixedGraph, Omega: npt.NDArray[np.float64], a: str, b: str) -> float:
    i, j = graph.nodes.index(a), graph.nodes.index(b)
    return float(Omega[i, j] / np.sqrt(Omega[i, i] * Omega[j, j]))
