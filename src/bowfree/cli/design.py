"""``bowfree design``: which experiment would tell most about the graphs left open."""

from __future__ import annotations

from pathlib import Path

import click

from bowfree.cli.graphs import graph_options, read_graph
from bowfree.cli.numbers import Real, Whole
from bowfree.cli.targets import experiment_option, kind_option, read_targets
from bowfree.cli.terminal import print_json, print_result
from bowfree.equivalence.targets import Kind


@click.command(
    epilog='Example: bowfree design --graph "x -> y -> z"\n\n'
    "Or: bowfree design --graph-file graph.txt --experiment akt --max-targets 2"
)
@graph_options
@click.option(
    "--candidate",
    "candidates",
    metavar="NAME",
    multiple=True,
    help="A variable that can be intervened on; may be repeated. [default: all]",
)
@click.option(
    "--max-targets",
    type=Whole(min=1),
    default=1,
    show_default=True,
    help="Most variables to intervene on at once.",
)
@experiment_option
@kind_option
@click.option(
    "--limit",
    type=Whole(min=1),
    help="Look at no more equivalent graphs than this. [default: 100000]",
)
@click.option(
    "--time-limit", type=Real(min=0, min_open=True), help="Seconds; what is known by then is shown."
)
@click.option(
    "--jobs", type=Whole(), default=1, show_default=True, help="Threads; -1 for one on each core."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def design(
    graph: str | None,
    graph_file: Path | None,
    graph_format: str | None,
    auto: str,
    candidates: tuple[str, ...],
    max_targets: int,
    experiments: tuple[str, ...],
    kind: Kind,
    limit: int | None,
    time_limit: float | None,
    jobs: int,
    as_json: bool,
) -> None:
    """Say what each possible experiment would tell about the graphs equivalent to a given one.

    An experiment splits the equivalent graphs into classes. `settled ends` is the number of ends of
    edges on which the graphs of a class agree, `members left` their number, both expected if every
    equivalent graph is as probable as another.
    """
    import bowfree as bf

    bap = read_graph(graph, graph_file, graph_format, auto)
    named = read_targets("--candidate", candidates, bap)
    found = bf.design(
        bap,
        candidates=[name for names in named for name in names] or None,
        max_targets=max_targets,
        kind=kind,
        targets=[(), *read_targets("--experiment", experiments, bap)],
        limit=limit,
        n_jobs=jobs,
        time_limit=time_limit,
    )
    if as_json:
        print_json(found.to_dict())
    else:
        print_result(found)
