"""The demo: from data to a graph with effects, told to a newcomer.

`run_demo` loads the greenhouse data, finds a graph (`find_graph` is the one place for that), fits
it, compares it with the model that the data came from, says what no method could tell (equivalent
graphs), and writes a folder with the results. ``bowfree demo`` prints what it returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bowfree import datasets
from bowfree.classes import equivalence_class
from bowfree.equivalence import equivalent
from bowfree.errors import BowfreeError
from bowfree.fit import Fit, fit
from bowfree.graph import MixedGraph
from bowfree.search import greedy_search
from bowfree.sem import LinearSEM
from bowfree.tables import Table, write_table

__all__ = ["DemoReport", "find_graph", "free_folder", "run_demo"]


@dataclass(frozen=True)
class DemoReport:
    """What the demo found.

    Attributes
    ----------
    text : str
        The story, ready to print.
    graph : MixedGraph
        The graph.
    fit : Fit
        Its fit to the demo data.
    files : tuple of Path
        What was written.
    """

    text: str
    graph: MixedGraph
    fit: Fit
    files: tuple[Path, ...]


def find_graph(data: Table) -> MixedGraph:
    """Search for the graph with the best score, without a word on the model behind the data."""
    return greedy_search(data, restarts=20, rng=1).graph


def free_folder(wanted: Path) -> Path:
    """Return the first of ``wanted``, ``wanted-2``, ``wanted-3``, ... that does not exist."""
    number, folder = 1, wanted
    while folder.exists():
        number += 1
        folder = wanted.with_name(f"{wanted.name}-{number}")
    return folder


def run_demo(folder: Path) -> DemoReport:
    """Run the demo and write its results into a new folder.

    Parameters
    ----------
    folder : Path
        Must not exist yet: nothing is overwritten.

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
    >>> from bowfree.demo import run_demo
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     report = run_demo(pathlib.Path(parent, "demo"))
    >>> report.fit.converged
    True
    """
    if folder.exists():
        raise BowfreeError(f"{folder} exists already; choose another folder with --out")
    data = datasets.load_demo()
    graph = find_graph(data)
    fitted = fit(graph, data)
    # Everything is worked out before the first file is written: no half-filled folder on an error.
    contents = {
        "data.csv": write_table(data, decimals=4),
        "graph.json": graph.to_json(indent=2) + "\n",
        "graph.svg": graph._repr_svg_(),
        "summary.txt": fitted.summary() + "\n",
    }
    folder.mkdir(parents=True)
    files = []
    for name, content in contents.items():
        path = folder / name
        path.write_text(content, encoding="utf-8")
        files.append(path)
    text = _story(data, graph, fitted, datasets.demo_model(), folder)
    return DemoReport(text, graph, fitted, tuple(files))


def _story(data: Table, graph: MixedGraph, fitted: Fit, truth: LinearSEM, folder: Path) -> str:
    lines = [
        f"{len(data.X)} tomato plants in a greenhouse, {len(data.names)} measurements each: "
        + ", ".join(data.names)
        + ".",
        "(Invented data, drawn from a known model, so that the answer can be checked.)",
        "",
        "A search among all bow-free graphs, from the data alone, found:",
        "",
        f"    {graph}",
        "",
        "    a -> b   a acts on b           a <-> b   a hidden cause acts on both",
        "",
        _verdict(graph, truth.graph),
        "",
        *_effects(fitted, truth),
        "",
        *_hidden_causes(fitted, truth),
        "",
        *_limits_of_data(graph),
        "",
        f"The fit: chi-square {fitted.chi2:.1f} on {fitted.df} degrees of freedom, "
        f"p = {fitted.p_value:.2f} (a small p would speak against the graph).",
        "",
        f"Results are in the folder {folder}: open graph.svg in a browser, read summary.txt.",
    ]
    return "\n".join(lines)


def _verdict(graph: MixedGraph, truth: MixedGraph) -> str:
    if set(graph.edges) == set(truth.edges):
        return "This is the graph that the data were drawn from."
    if equivalent(graph, truth):
        return f"The data were drawn from {truth}, which no data can tell from it."
    return f"The data were drawn from {truth}: the search missed it."


def _effects(fitted: Fit, truth: LinearSEM) -> list[str]:
    errors = fitted.standard_errors()
    index = {name: i for i, name in enumerate(fitted.graph.nodes)}
    known = {name: i for i, name in enumerate(truth.graph.nodes)}
    lines = ["Direct effects, with a 95 % interval, and the true value:"]
    for a, b in fitted.graph.directed:
        i, j = index[b], index[a]
        estimate, margin = fitted.B[i, j], 1.96 * errors.B[i, j]
        true = truth.B[known[b], known[a]]
        lines.append(
            f"    {a + ' -> ' + b:<20} {estimate:+.2f}  "
            f"[{estimate - margin:+.2f}, {estimate + margin:+.2f}]   true {true:+.2f}"
        )
    return lines


def _hidden_causes(fitted: Fit, truth: LinearSEM) -> list[str]:
    lines = ["Hidden common causes, by the correlation that they leave:"]
    for a, b in fitted.graph.bidirected:
        found = _error_correlation(fitted.graph, fitted.Omega, a, b)
        true = _error_correlation(truth.graph, truth.Omega, a, b)
        lines.append(f"    {a + ' <-> ' + b:<20} {found:+.2f}{'':19}true {true:+.2f}")
    return lines


def _limits_of_data(graph: MixedGraph) -> list[str]:
    """Say what all equivalent graphs agree on, and what no method could tell."""
    members = equivalence_class(graph)
    edges = members.summary().edges
    sure = [str(edge) for edge in edges if edge.invariant]
    open_ = [str(edge) for edge in edges if not edge.invariant]
    lines = [
        f"{len(members)} graphs explain such data equally well; no method can tell them apart.",
        f"    They all agree on      {', '.join(sure) or 'no edge'}.",
        f"    They differ on         {', '.join(open_) or 'no edge'}.",
    ]
    if open_:
        lines.append("    (o: some of them have an arrowhead at this end, others do not)")
    return lines


def _error_correlation(graph: MixedGraph, Omega: npt.NDArray[np.float64], a: str, b: str) -> float:
    i, j = graph.nodes.index(a), graph.nodes.index(b)
    return float(Omega[i, j] / np.sqrt(Omega[i, i] * Omega[j, j]))
