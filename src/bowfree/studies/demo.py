"""The example analysis of ``bowfree demo``: from data to a graph with effects, for newcomers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bowfree import datasets
from bowfree.datasets.tables import Table, write_table
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.classes import equivalence_class
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
    """The result of :func:`run_demo`.

    Attributes
    ----------
    text : str
        A description of the results, to be printed.
    result : SearchResult
        The result of the search.
    members : EquivalenceClass
        The graphs that are equivalent to the best one.
    fit : Fit
        The fit of the best graph.
    contents : dict of str to str
        The files of the folder.
    """

    text: str
    result: SearchResult
    members: EquivalenceClass
    fit: Fit
    contents: dict[str, str]

    @property
    def graph(self) -> MixedGraph:
        """The best graph."""
        return self.result.graph


def free_folder(wanted: Path) -> Path:
    """Return the first of ``wanted``, ``wanted-2``, ``wanted-3``, ... that does not exist."""
    number, folder = 1, wanted
    while folder.exists():
        number += 1
        folder = wanted.with_name(f"{wanted.name}-{number}")
    return folder


def run_demo(folder: Path, *, progress: Callable[[Progress], None] | None = None) -> DemoReport:
    """Analyze the greenhouse data, and return a text and the files of a new folder."""
    began = time.monotonic()
    data = datasets.load_demo()
    result = greedy_search(data, rng=1, progress=progress)
    members = equivalence_class(result)
    fitted = fit_quietly(result)
    contents = {
        "data.csv": write_table(data, decimals=4),
        "graph.txt": f"{result.graph}\n",
        "graph.json": result.graph.to_json(indent=2) + "\n",
        "graph.svg": result.graph.to_svg(),
        "class.svg": members.to_svg(),
        "summary.txt": f"{fitted.summary()}\n",
        "report.html": render(result, data=data, equivalence_class=members, title="Tomato plants"),
    }
    lines = _describe(data, result, members, fitted, datasets.demo_model())
    lines += [
        f"This took {time.monotonic() - began:.1f} seconds.",
        "",
        f"The results are in the folder {folder}: open report.html in a browser.",
        "For your own data: bowfree learn data.csv --report report.html",
    ]
    return DemoReport("\n".join(lines), result, members, fitted, contents)


def _describe(
    data: Table, result: SearchResult, members: EquivalenceClass, fitted: Fit, truth: LinearSEM
) -> list[str]:
    edges = members.summary().edges
    same = [edge for edge in edges if edge.invariant]
    recovered = [
        f"    {edge!s:<24} {'true' if truth.graph.has_edge(str(edge)) else 'not in the true model'}"
        for edge in same
    ]
    undetermined = []
    for edge in edges:
        if not edge.invariant:
            counts = {"->": edge.n_forward, "<-": edge.n_backward, "<->": edge.n_bidirected}
            marks = [f"{edge.a} {mark} {edge.b}" for mark, count in counts.items() if count]
            undetermined.append(f"    {edge!s:<24} {' or '.join(marks)}")
    return [
        f"{len(data.X)} tomato plants in a greenhouse, {len(data.names)} measurements each:",
        ", ".join(data.names) + ".",
        "(Simulated from a known model, so that the result can be checked.)",
        "",
        f"The best graph of a search with {len(result.runs)} runs:",
        "",
        f"    {result.graph}",
        "",
        "    a -> b   a causes b           a <-> b   a hidden cause of both",
        "",
        "The same in all equivalent graphs:",
        *recovered,
        "",
        f"Not determined by the data: {members.size} graphs are equivalent. They differ in",
        *undetermined,
        "",
        "The true graph is one of them."
        if truth.graph in members
        else "The true graph is not one of them, because of the search or of chance in the data.",
        "",
        *_effects(fitted, truth, {frozenset((edge.a, edge.b)) for edge in same}),
        "",
        f"Fit: {fitted.valid_test}",
        "(a small p-value would be evidence against the graph).",
    ]


def _effects(fitted: Fit, truth: LinearSEM, same: set[frozenset[str]]) -> list[str]:
    """Return the estimates of edges that are the same in all equivalent graphs."""
    errors = fitted.standard_errors()
    lines = ["Estimates with 95 % intervals, and the true values:"]
    for a, mark, b in fitted.graph.edges:
        if frozenset((a, b)) not in same:
            continue
        i, j = fitted.graph.nodes.index(b), fitted.graph.nodes.index(a)
        k, m = truth.graph.nodes.index(b), truth.graph.nodes.index(a)
        edge = f"    {f'{a} {mark} {b}':<24}"
        if mark == "->":
            estimate, margin = fitted.B[i, j], 1.96 * errors.B[i, j]
            interval = f"[{estimate - margin:+.2f}, {estimate + margin:+.2f}]"
            lines.append(f"{edge} {estimate:+.2f}  {interval}   true {truth.B[k, m]:+.2f}")
        else:
            found, true = (
                Omega[x, y] / (Omega[x, x] * Omega[y, y]) ** 0.5
                for Omega, x, y in ((fitted.Omega, i, j), (truth.Omega, k, m))
            )
            lines.append(f"{edge} {found:+.2f}  (correlation)    true {true:+.2f}")
    return lines
