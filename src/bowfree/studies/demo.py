"""The example analysis of ``bowfree demo``: from data to a graph with effects, for newcomers."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bowfree import datasets
from bowfree.data.frames import Table
from bowfree.datasets.tables import write_table
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.classes import equivalence_class
from bowfree.model.fit_result import Fit
from bowfree.model.fitting import fit_quietly
from bowfree.model.linear_sem import LinearSEM
from bowfree.parallel.budget import Progress
from bowfree.search.greedy import greedy_search
from bowfree.search.result import SearchResult
from bowfree.visualization.report import render


class DemoReport(NamedTuple):
    """The results of :func:`run_demo`: a description to print, and the files of the folder."""

    text: str
    result: SearchResult
    members: EquivalenceClass
    fit: Fit
    contents: dict[str, str]


def free_folder(wanted: Path) -> Path:
    """Return the first of ``wanted``, ``wanted-2``, ``wanted-3``, ... that does not exist."""
    number, folder = 1, wanted
    while folder.exists():
        number += 1
        folder = wanted.with_name(f"{wanted.name}-{number}")
    return folder


def run_demo(folder: Path, *, progress: Callable[[Progress], None] | None = None) -> DemoReport:
    """Analyze the greenhouse data, and return a description and the files of a new folder."""
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
    recovered, undetermined, estimates = [], [], []
    for edge in members.summary().edges:
        if edge.invariant:
            true = truth.graph.has_edge(str(edge))
            recovered.append(f"    {edge!s:<24} {'true' if true else 'not in the true model'}")
            row = fitted.edge(str(edge))
            i, j = truth.graph.nodes.index(row.b), truth.graph.nodes.index(row.a)
            if row.mark == "->":
                interval = f"{row.estimate:+.2f}  [{row.lower:+.2f}, {row.upper:+.2f}]  "
                true_value = truth.B[i, j]
            else:
                interval = f"{row.std_all:+.2f}  (correlation)   "
                true_value = truth.Omega[i, j] / (truth.Omega[i, i] * truth.Omega[j, j]) ** 0.5
            estimates.append(f"    {edge!s:<24} {interval} true {true_value:+.2f}")
        else:
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
        "Estimates with 95 % intervals, and the true values:",
        *estimates,
        "",
        f"Fit: {fitted.valid_test}",
        "(a small p-value would be evidence against the graph).",
    ]
