"""``bowfree learn``: from data to a graph."""

from __future__ import annotations

import json
import math
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bowfree.cli.conditions import by_condition, condition_options, without_column
from bowfree.cli.folder import check_new_file, refuse_existing, write_folder
from bowfree.cli.numbers import Real
from bowfree.cli.searches import budget_options, read_budget, read_search, search_options
from bowfree.cli.tables import data_options, read_source
from bowfree.cli.terminal import naming, print_json, print_table, progress_bar, say
from bowfree.formats import FORMATS, write
from bowfree.graph.text import quote
from bowfree.parameters import Kind, Means
from bowfree.results.display import count, p_text, significant
from bowfree.space.knowledge import Knowledge

if TYPE_CHECKING:
    from bowfree.equivalence.class_members import EquivalenceClass
    from bowfree.equivalence.class_summary import ClassSummary
    from bowfree.graph.mixed_graph import MixedGraph
    from bowfree.model.fit_result import Fit
    from bowfree.search.result import SearchResult
    from bowfree.uncertainty.average_result import AveragedEffects


_LINE = 100  # characters of a line where there is no terminal, or a wide one
MOST_EDGES = 40  # in the table
MOST_LISTED = 12  # edges in the first line
CLASS_SECONDS = 20.0  # for the equivalence class; a larger one is summarized in part
MOST_EFFECTS = 10  # printed
LEAST_PROBABILITY = 0.5  # of an effect that is printed
MOST_AVERAGED = 30  # variables; beyond, the chains would need longer than that


@click.command(epilog="Example: bowfree learn plants.csv --restarts 50 --seed 1 --out results")
@data_options
@condition_options
@search_options
@click.option(
    "--holdout",
    type=Real(min=0, max=1, min_open=True, max_open=True),
    help="Share of the rows to put aside for standard errors and tests, such as 0.5.",
)
@budget_options
@click.option("--out", type=click.Path(path_type=Path), help="A new folder for all results.")
@click.option("--report", type=click.Path(path_type=Path), help="A new file for a report in HTML.")
@click.option(
    "--format",
    "graph_format",
    type=click.Choice(FORMATS),
    help="Print the graph alone, in this format.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def learn(
    out: Path | None,
    report: Path | None,
    graph_format: str | None,
    as_json: bool,
    holdout: float | None,
    conditions: str | None,
    targets: Path | None,
    kind: Kind,
    means: Means,
    **given: Any,
) -> None:
    """Learn a graph from DATA, a file with named columns (or covariances).

    DATA is a text (.csv, .tsv, .txt, also .gz and .zst), or .parquet, .feather, .sav, .dta, .xlsx
    where a library that reads it is installed; or several of these, or a folder, with the rows of
    one table, of any length.

    Prints the best graph with its estimates, and for each edge what all equivalent graphs, which
    no data can tell apart, say about it: `x o-> y` may be x -> y or x <-> y.
    """
    import bowfree as bf
    from bowfree.model.fitting import fit_quietly

    if as_json and graph_format is not None:
        raise click.UsageError("choose one of --json and --format")
    budget, search = read_budget(given), read_search(given)
    source = without_column(read_source(**given), conditions)
    with naming("--out"):
        refuse_existing(out)
    with naming("--report"):
        check_new_file(report)
    arguments = by_condition(source, source.arguments(), conditions, targets, kind, means)
    if holdout is not None and "data" not in arguments:
        raise click.UsageError("--holdout puts rows aside: give a table of observations")
    interrupted = False
    # The columns have been looked at; what was found was said in the words of the command line.
    warnings.simplefilter("ignore", bf.errors.DataWarning)
    try:
        with progress_bar("searching") as progress:
            result = bf.greedy_search(
                **arguments, **search, **budget, holdout=holdout, progress=progress
            )
    except bf.search.SearchInterrupted as interrupt:
        result, interrupted = interrupt.result, True
    except bf.errors.WorkersLost as lost:
        if lost.result is None:
            raise
        say(f"Warning: {lost}", err=True)
        result, interrupted = lost.result, True
    if not result.complete:
        say("Warning: the search was ended early; a longer one may find better", err=True)
    fitted = fit_quietly(result)
    members = result.equivalence_class(time_limit=CLASS_SECONDS)
    average = _averaged(result, budget)
    rows = None if conditions is not None else arguments.get("data")
    if out is not None:
        write_folder(out, _files(result, fitted, members, average, graph_format))
    if report is not None:
        settings = {"file": source.name, "strategy": search["strategy"], "seed": budget["rng"]}
        result.report(
            report,
            data=rows,
            equivalence_class=members,
            average=average,
            settings=settings,
        )
        click.echo(f"wrote {report}", err=True)
    if graph_format is not None:
        click.echo(write(result.graph, format=graph_format).rstrip("\n"))
    elif as_json:
        print_json(_document(result, fitted, members, average))
    else:
        _print(result, fitted, members, average, rows)
    if interrupted:
        sys.exit(1)


def _averaged(result: SearchResult, budget: dict[str, Any]) -> AveragedEffects | None:
    """Average over all probable graphs, where that takes seconds and not minutes."""
    from bowfree.visualization.report.averages import AVERAGE_SECONDS, unasked_average

    given = budget | {"time_limit": AVERAGE_SECONDS}
    found = unasked_average(result, most_nodes=MOST_AVERAGED, **given)
    failed = bool(found.why_not) and result.complete and len(result.graph) <= MOST_AVERAGED
    if failed and given.pop("executor", None) is not None:
        # What was searched is worth more than who averages: this process can do it as well.
        say(f"Warning: averages are worked out here, not by workers: {found.why_not}", err=True)
        return _averaged(result, given)
    if failed:
        say(
            f"Warning: effects are not averaged over the probable graphs ({found.why_not}); "
            "bf.averaged_effects in Python has options for that",
            err=True,
        )
    return found.average


def _print(
    result: SearchResult,
    fitted: Fit,
    members: EquivalenceClass,
    average: AveragedEffects | None,
    data: Any,
) -> None:
    from bowfree.visualization.report.certainty import averaged
    from bowfree.visualization.report.data_checks import checks_if_rows
    from bowfree.visualization.report.warnings import cautions, in_doubt

    click.echo(_observations(result))
    say(f"best graph: {_in_words(result.graph)}", most=_LINE, hanging="  ")
    click.echo()
    if result.graph.n_edges:
        print_table(
            (
                "edge",
                "estimate>",
                "s.e.>",
                "95 % interval>",
                "std. all>",
                "in class>",
                "known",
            ),
            _edge_rows(fitted, members.summary(), MOST_EDGES),
        )
        if result.graph.n_edges > MOST_EDGES:
            weaker = result.graph.n_edges - MOST_EDGES
            say(f"... and {weaker:,} weaker ones: --json, --out and --report have all", most=_LINE)
        click.echo()
    told = "" if result.space.knowledge == Knowledge() else " that the knowledge permits"
    kind = {"dag": "DAG", "bidirected": "bidirected graph"}.get(result.space.graph_class, "graph")
    if members.size == 1:
        settled = "" if in_doubt(fitted, result) else ": the model settles every edge"
        say(f"no other {kind}{told} fits every data set equally well{settled}")
    else:
        more = "" if members.complete else " or more"
        say(f"{members.size:,}{more} equivalent {kind}s{told} fit every data set equally well;")
        say("`in class`: share of them with this edge; `known`: what all agree on, o: they differ")
    runs = result.runs
    best = sum(run.score >= result.score - 1e-9 for run in runs)
    p = f", {p_text(fitted.p_value, 3)}" if fitted.df > 0 else ""
    if not math.isnan(fitted.chi2):  # as it is where observations are few
        say(
            f"chi-square {fitted.chi2:.2f} on {fitted.df} degrees of freedom{p}; "
            f"RMSEA {fitted.rmsea:.3f}"
        )
    say(
        f"score {result.score:.6f} (penalty {result.penalty:g} log n per variable and edge); "
        f"{best} of {len(runs)} runs reached it; {result.seconds:.2f} s"
    )
    if average is not None:
        _print_average(average)
    click.echo()
    checks = checks_if_rows(fitted, data, result.holdout)
    if checks is not None:
        checks = replace(checks, odd_columns=())  # said when the file was read
    found = cautions(fitted, fitted.estimates(), members.summary(), search=result, checks=checks)
    for sentence in found + ([] if average is None else averaged(average).doubts):
        say(f"! {sentence}", most=_LINE, hanging="  ")


def _in_words(graph: MixedGraph) -> str:
    """List the edges, or count them when they are many, and name the variables without any."""
    if not graph.n_edges:
        return "no edges"
    edges = ", ".join(f"{quote(a)} {mark} {quote(b)}" for a, mark, b in graph.edges)
    if graph.n_edges > MOST_LISTED:
        effects = count(graph.n_directed, "direct effect")
        hidden = count(graph.n_bidirected, "hidden common cause")
        edges = f"{effects} (->) and {hidden} (<->), listed below"
    alone = [quote(name) for name in graph.nodes if not graph.neighbors(name)]
    return edges + (f"; without edges: {', '.join(alone)}" if alone else "")


def _print_average(average: AveragedEffects) -> None:
    """List the most probable effects, with all doubts about the graph in them."""
    from bowfree.model.effect_tables import effect_pairs

    pairs = effect_pairs(average.probability >= LEAST_PROBABILITY)
    pairs.sort(key=lambda pair: -average.probability[pair])
    click.echo("\ntotal effects, averaged over all graphs that the data leave probable:")
    if not pairs:
        click.echo(f"none has a probability of {LEAST_PROBABILITY} or more")
        return
    names = average.names
    print_table(
        ("effect", "P(effect)>", "mean>", "95 % interval>"),
        [
            (
                f"{quote(names[j])} on {quote(names[i])}",
                f"{average.probability[i, j]:.2f}",
                significant(average.mean[i, j]),
                f"{significant(average.lower[i, j])} to {significant(average.upper[i, j])}",
            )
            for i, j in pairs[:MOST_EFFECTS]
        ],
    )
    if len(pairs) > MOST_EFFECTS:
        click.echo(f"... and {len(pairs) - MOST_EFFECTS} less probable ones: --json has all")


def _observations(result: SearchResult) -> str:
    variables = count(len(result.graph), "variable")
    if result.holdout is None:
        rows = result.moments.sample
        if rows is not None and not rows.plain:  # n is then what the rows are worth
            return f"{rows.says()}, {variables}"
        return f"{result.moments.n:.0f} observations of {variables}"
    return (
        f"{result.moments.n:.0f} observations of {variables} for the search; estimates and tests "
        f"by {result.holdout.n:.0f} others"
    )


def _edge_rows(fitted: Fit, summary: ClassSummary, most: int) -> list[tuple[str, ...]]:
    """Return a row for each edge, or for the strongest ones where there are many."""
    about = {frozenset((edge.a, edge.b)): edge for edge in summary.edges}
    edges = [row for row in fitted.estimates() if row.op == "~" or row.lhs != row.rhs]
    strongest = sorted(range(len(edges)), key=lambda k: -abs(edges[k].std_all))[:most]
    rows: list[tuple[str, ...]] = []
    for row in (edges[k] for k in sorted(strongest)):
        edge = about[frozenset((row.lhs, row.rhs))]
        if edge.a != row.rhs:  # read both columns in the same direction
            edge = replace(
                edge, a=edge.b, b=edge.a, n_forward=edge.n_backward, n_backward=edge.n_forward
            )
        low, high = row.ci()
        mark, same = ("->", edge.n_forward) if row.op == "~" else ("<->", edge.n_bidirected)
        rows.append(
            (
                f"{row.rhs} {mark} {row.lhs}",
                significant(row.estimate),
                significant(row.se),
                f"{significant(low)} to {significant(high)}",
                f"{row.std_all:.3f}",
                f"{100 * same / summary.n_members:.0f} %",
                str(edge).removeprefix(f"{quote(edge.a)} ").removesuffix(f" {quote(edge.b)}"),
            )
        )
    return rows


def _document(
    result: SearchResult, fitted: Fit, members: EquivalenceClass, average: AveragedEffects | None
) -> dict[str, Any]:
    return {
        "graph": result.graph.to_dict(),
        "text": str(result.graph),
        "score": result.score,
        "penalty": result.penalty,
        "notes": list(result.notes),
        "complete": result.complete,
        "seconds": result.seconds,
        "runs": len(result.runs),
        "fit": fitted.to_dict(),
        "class": members.summary().to_dict(),
        "averaged": None if average is None else average.to_dict(),
    }


def _files(
    result: SearchResult,
    fitted: Fit,
    members: EquivalenceClass,
    average: AveragedEffects | None,
    graph_format: str | None,
) -> dict[str, str]:
    import bowfree as bf

    def document(content: Any) -> str:
        return json.dumps(content, indent=2) + "\n"

    model = bf.LinearSEM(result.graph, fitted.B, fitted.Omega)
    files = {
        "graph.txt": f"{result.graph}\n",
        "graph.json": result.graph.to_json(indent=2) + "\n",
        "graph.svg": result.graph.to_svg(),
        "class.svg": members.to_svg(),
        "class.txt": f"{members.summary()}\n",
        "summary.txt": f"{fitted.summary()}\n",
        "model.json": document(model.to_dict()),
        "search.json": document(result.to_dict()),
    }
    if average is not None:
        files["averaged.txt"] = f"{average}\n"
        files["averaged.json"] = document(average.to_dict())
    if graph_format not in (None, "text", "json"):
        files[f"graph.{graph_format}"] = write(result.graph, format=str(graph_format))
    return files
