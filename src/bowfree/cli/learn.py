"""``bowfree learn``: from data to a graph."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bowfree.cli import options as opt
from bowfree.cli.tables import condition_options, data_options, read_source
from bowfree.cli.terminal import echo, print_json, say, show
from bowfree.cli.work import Work
from bowfree.data.sample import NonGaussianRows
from bowfree.errors import DataWarning
from bowfree.formats.text_formats import write
from bowfree.graph.text import describe
from bowfree.results.display import Table, count, percent, significant

if TYPE_CHECKING:
    from bowfree.data.moments import Moments
    from bowfree.equivalence.class_members import EquivalenceClass
    from bowfree.equivalence.class_summary import ClassSummary
    from bowfree.equivalence.exclusion import Exclusion
    from bowfree.equivalence.mark_evidence import MarkEvidence
    from bowfree.model.fit_result import Fit
    from bowfree.search.result import SearchResult
    from bowfree.uncertainty.average_result import AveragedEffects

_FEW_EDGES = 10  # that are written in a line above their table


MAX_EDGES = 40  # rows of the table of edges
CLASS_SECONDS = 20.0  # for the equivalence class; a larger one is summarized in part
MAX_EFFECTS = 10  # rows of the table of effects
MAX_AVERAGED = 30  # variables; averaging takes minutes beyond


@click.command(epilog="Example: bowfree learn plants.csv --restarts 50 --seed 1 --out results")
@data_options
@condition_options
@opt.search_options
@opt.options("""
--holdout fraction | Share of the rows to reserve for standard errors and tests, such as 0.5.
--exact flag | Prove that no better graph with districts of at most 2 variables (or --max-district)
    and at most 3 parents of each variable exists; for up to about 12 variables.
""")
@opt.budget_options
@opt.options("""
--out NEW | A new folder for all results.
--report NEW | A new file for a report in HTML.
--format/graph_format FORMAT | Print only the graph, in this format.
""")
@opt.json_option
def learn(
    out: Path | None,
    report: Path | None,
    graph_format: str | None,
    as_json: bool,
    holdout: float | None,
    exact: bool,
    **given: Any,
) -> None:
    """Learn a graph from DATA, a file with named columns (or covariances).

    DATA is a text file (.csv, .tsv, .txt, also .gz and .zst), or .parquet, .feather, .sav, .dta or
    .xlsx if a library that reads it is installed. Several files, or a folder of files, are read as
    one table.

    Prints the best graph with its estimates. Data cannot distinguish between equivalent graphs; for
    each edge, the table shows what is the same in all of them: `x o-> y` is x -> y in some and
    x <-> y in others.
    """
    import bowfree as bf
    from bowfree.equivalence.exclusion import higher_moments
    from bowfree.model.fitting import fit_quietly
    from bowfree.visualization.report import render

    opt.refuse({"choose one of --json and --format": as_json and graph_format is not None})
    budget, search = opt.read_budget(given), opt.read_search(given)
    source = read_source(given)
    rows_missing = holdout is not None and source.cov is not None
    opt.refuse({"--holdout needs observations; DATA is a covariance matrix": rows_missing})
    arguments = source.arguments(rows=holdout is not None)
    waves = "waves" in search
    opt.add_waves(search, arguments.get("data"))
    warnings.simplefilter("ignore", DataWarning)  # the command has printed its own
    rows = None if source.conditions is not None else arguments.get("data")
    work = Work.begin()
    arguments |= search | budget | {"holdout": holdout}
    if exact and arguments["max_district"] is None:
        arguments["max_district"] = 2
    result = work.run("the search", bf.greedy_search, **arguments, required=True, bar="searching")
    if exact:
        limit = budget["time_limit"]
        result = work.run("the proof", bf.exact_search, start=result, time_limit=limit) or result
    if not result.complete:
        say("Warning: the search ended early; a longer one may find a better graph")
    found, written = _Findings(result, rows, waves=waves), set()

    def save_new() -> None:
        """Write each part as soon as it is finished."""
        for name, create in found.files(graph_format):
            if out is not None and name not in written:
                written.add(name)
                work.save(out / name, create, long=name.endswith(".svg"))

    save_new()
    found.fit = work.run("estimates", fit_quietly, result, short=True)
    save_new()
    if isinstance(result.moments.sample, NonGaussianRows):
        found.evidence = work.run("evidence for marks", result.mark_evidence)
    if result.graph.is_bow_free():
        found.members = work.run(
            "equivalent graphs", bf.equivalence_class, result, time_limit=CLASS_SECONDS
        )
        save_new()
        if found.members is not None:
            found.higher_moments = work.run("higher moments", higher_moments, found.members)
        found.average = work.run("averaged effects", _averaged, result, budget)
        save_new()
    if graph_format is not None:
        work.output(echo, write(result.graph, format=graph_format).rstrip("\n"))
    elif as_json:
        work.output(print_json, found.to_dict())
    else:
        work.output(show, found.sections())
    if report is not None:
        settings = {"file": source.name, "strategy": search["strategy"], "seed": budget["rng"]}
        results: dict[str, Any] = {"equivalence_class": found.members, "average": found.average}
        page = work.run("the report", render, result, data=rows, settings=settings, **results)
        if page is not None:
            work.save(report, lambda: page)
    work.end()


def _averaged(result: SearchResult, budget: dict[str, Any]) -> AveragedEffects | None:
    """Average over all graphs that the data support, if that takes seconds and not minutes."""
    from bowfree.visualization.report import content

    limited = budget | {"time_limit": content.AVERAGE_SECONDS}
    found = content.try_average(result, max_nodes=MAX_AVERAGED, **limited)
    if not isinstance(found, str):
        return found
    if not found or not result.complete or len(result.graph) > MAX_AVERAGED:
        return None
    if limited.pop("executor", None) is not None:
        say(f"Warning: effects are averaged in this process: {found}")
        return _averaged(result, limited)
    say(f"Warning: effects are not averaged over graphs: {found}")
    return None


@dataclass
class _Findings:
    """The results of the command; after a signal, the last ones are missing."""

    result: SearchResult
    rows: Any
    fit: Fit | None = None
    evidence: MarkEvidence | None = None
    members: EquivalenceClass | None = None
    higher_moments: tuple[Exclusion | None, list[str]] | None = None
    average: AveragedEffects | None = None
    waves: bool = False

    @property
    def exclusion(self) -> Exclusion | None:
        """The members that higher moments exclude, unless all errors look normal."""
        found = None if self.higher_moments is None else self.higher_moments[0]
        return found if found is not None and found.nongaussianity.not_normal else None

    def sections(self) -> Iterator[str | Table]:
        """Yield the text that the command prints."""
        from bowfree.visualization.warnings import describe_class

        result, fit, members, average = self.result, self.fit, self.members, self.average
        used = result.moments._headline()
        if result.holdout is not None:
            used += f" for the search; estimates and tests from {result.holdout.n:.0f} others"
        yield used
        edges = describe(result.graph)
        if fit is not None and result.graph.n_edges > _FEW_EDGES:  # the table has all
            hidden = count(result.graph.n_bidirected, "hidden common cause")
            edges = f"{count(result.graph.n_directed, 'effect')} (->), {hidden} (<->)"
        yield f"best graph: {edges}"
        yield ""
        if result.graph.n_edges and fit is not None:
            summary = None if members is None else members.summary()
            yield _edge_table(fit, summary, average, result.moments, self.evidence)
            yield ""
        if self.evidence is not None and "non-Gaussianity" in self.evidence.kinds:
            yield (
                "decided by: in brackets the log evidence relative to the best equivalent graph with "
                "another mark there"
            )
        if members is not None:
            yield describe_class(members, result.space, result.moments)
            if result.graph.n_edges and members.size > 1:
                yield (
                    "class: share of these graphs that contain the edge, and the marks that are "
                    "the same in all of them (o: they differ)"
                )
        if self.exclusion is not None and self.higher_moments is not None:
            yield from self.higher_moments[1]
        if result.graph.n_edges and average is not None:
            yield "P(edge): probability of the edge, averaged over all graphs that the data support"
        if fit is not None and not math.isnan(fit.valid_test.chi2):  # it is with few observations
            yield f"{fit.valid_test}; RMSEA {fit.valid_test.rmsea:.3f}"
        runs = result.confidence
        yield f"score {result.score:.6f} (penalty {result.penalty:g} log n per variable and edge)"
        yield f"{runs.at_best} of {runs.runs} runs reached this score, in {result.seconds:.2f} s"
        if result.proof:
            yield result.proof
        if average is not None:
            yield ""
            yield "total effects, averaged over all graphs that the data support:"
            rest = "less probable ones: --json has all"
            for part in average._sections():
                if isinstance(part, Table):
                    yield replace(part, most=MAX_EFFECTS, rest=rest)
        yield ""
        for sentence in self.warnings():
            yield f"! {sentence}"

    def warnings(self) -> list[str]:
        """Return the warnings of the report."""
        from bowfree.data.diagnostics import diagnose_if_rows
        from bowfree.model.fitting import weak_instruments
        from bowfree.visualization.warnings import average_warnings, result_warnings

        if self.fit is not None and not self.result.graph.is_bow_free():
            return [*self.result.notes, *weak_instruments(self.fit)]
        if self.fit is None or self.members is None:
            return []
        checks = diagnose_if_rows(self.fit.moments, self.rows, self.result.holdout)
        if checks is not None:
            checks = replace(checks, odd_columns=())  # printed when the file was read
        found = result_warnings(
            self.fit,
            self.fit.estimates(),
            self.members.summary(),
            search=self.result,
            checks=checks,
        )
        return found + ([] if self.average is None else average_warnings(self.average))

    def to_dict(self) -> dict[str, Any]:
        """Return the document that ``--json`` prints."""
        result = self.result
        names = ("score", "penalty", "complete", "seconds")
        return {
            "graph": result.graph.to_dict(),
            "text": str(result.graph),
            **{name: getattr(result, name) for name in names},
            "notes": list(result.notes),
            "runs": len(result.runs),
            "fit": None if self.fit is None else self.fit.to_dict(),
            "class": None if self.members is None else self.members.summary().to_dict(),
            "mark_evidence": None if self.evidence is None else self.evidence.to_dict(),
            "higher_moments": None if self.exclusion is None else self.exclusion.to_dict(),
            "averaged": None if self.average is None else self.average.to_dict(),
        }

    def files(self, graph_format: str | None) -> Iterator[tuple[str, Callable[[], str]]]:
        """Yield the names of the files that ``--out`` writes, and functions that create them."""
        graph, fit, members, average = self.result.graph, self.fit, self.members, self.average
        yield "graph.txt", lambda: str(graph)
        yield "graph.json", lambda: graph.to_json(indent=2)
        yield "search.json", lambda: json.dumps(self.result.to_dict(), indent=2)
        if graph_format not in (None, "text", "json"):
            yield f"graph.{graph_format}", lambda: write(graph, format=str(graph_format))
        layout = "waves" if self.waves else "auto"
        yield "graph.svg", lambda: graph.to_svg(layout=layout)
        if fit is not None:
            yield "summary.txt", lambda: str(fit.summary())
            yield "model.json", lambda: json.dumps(fit.sem().to_dict(), indent=2)
        if members is not None:
            yield "class.txt", lambda: str(members.summary())
            yield "class.svg", lambda: members.to_svg(layout=layout)
        if average is not None:
            yield "averaged.txt", lambda: str(average)
            yield "averaged.json", lambda: json.dumps(average.to_dict(), indent=2)


def _edge_table(
    fit: Fit,
    summary: ClassSummary | None,
    average: AveragedEffects | None,
    moments: Moments,
    evidence: MarkEvidence | None,
) -> Table:
    """Return a table of the edges, or of the strongest ones if there are many."""
    from bowfree.visualization.report.graph_view import EdgeView, edge_views

    def in_class(e: EdgeView) -> str:
        return "all" if e.summary.invariant else f"{percent(e.share)} {e.summary.mark}"

    def interval(e: EdgeView) -> str:
        return f"{significant(e.estimate.lower)} to {significant(e.estimate.upper)}"

    columns: dict[str, Callable[[EdgeView], str]] = {
        "edge": lambda e: f"{e.estimate.a} {e.mark} {e.estimate.b}",
        "estimate": lambda e: significant(e.estimate.estimate),
        "s.e.": lambda e: significant(e.estimate.se),
        "95 % interval": interval,
        "std.": lambda e: f"{e.estimate.std_all:.3f}",
    }
    left = [0, 5]
    if summary is not None:
        columns["class"] = in_class
    if average is not None:
        columns["P(edge)"] = lambda e: f"{e.frequency(average):.2f}"
    if evidence is not None:
        left.append(len(columns))
        columns["decided by"] = lambda e: evidence.describe(e.a, e.b)
    estimates = fit.estimates()
    order = {row.edge: k for k, row in enumerate(estimates)}
    edges = edge_views(fit.graph, estimates, summary, moments)
    edges.sort(key=lambda e: order[e.estimate.edge])
    strongest = sorted(range(len(edges)), key=lambda k: -edges[k].strength)[:MAX_EDGES]
    rows = [tuple(cell(edges[k]) for cell in columns.values()) for k in sorted(strongest)]
    return Table(
        tuple(columns),
        [*rows, *[()] * (len(edges) - len(rows))],
        left=tuple(left),
        most=len(rows),
        rest="weaker ones: --json, --out and --report have all",
    )
