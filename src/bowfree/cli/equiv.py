"""``bowfree equiv``: which graphs no data can tell apart."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import click

from bowfree.cli.folder import check_new_file
from bowfree.cli.graphs import graph_options, read_graph
from bowfree.cli.numbers import Real, Whole
from bowfree.cli.targets import experiment_option, kind_option, read_targets
from bowfree.cli.terminal import naming, print_json, print_result
from bowfree.equivalence.classes import Method
from bowfree.equivalence.targets import Kind
from bowfree.graph.text import parse


@click.command(
    epilog='Example: bowfree equiv --graph "x -> y -> z" --list 10\n\n'
    'Or: bowfree equiv --graph "x -> y -> z" --and "x <- y <- z" --experiment y'
)
@graph_options
@click.option(
    "--and", "other", metavar="TEXT", help="A second graph: say whether the two are equivalent."
)
@experiment_option
@kind_option
@click.option(
    "--method",
    type=click.Choice(["exact", "edge-changes", "colliders"]),
    default="exact",
    show_default=True,
    help="All members, or those that a quicker method reaches.",
)
@click.option("--list", "n_listed", type=Whole(min=0), default=0, help="Print this many members.")
@click.option(
    "--time-limit", type=Real(min=0, min_open=True), help="Seconds; what is known by then is shown."
)
@click.option("--svg", type=click.Path(path_type=Path), help="A new file for a picture.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def equiv(
    graph: str | None,
    graph_file: Path | None,
    graph_format: str | None,
    auto: str,
    other: str | None,
    experiments: tuple[str, ...],
    kind: Kind,
    method: Method,
    n_listed: int,
    time_limit: float | None,
    svg: Path | None,
    as_json: bool,
) -> None:
    """Summarize the equivalence class of a graph, or compare two graphs.

    With --experiment, graphs are told apart by what data without interventions and data of these
    experiments would say.
    """
    import bowfree as bf

    bap = read_graph(graph, graph_file, graph_format, auto)
    targets = [(), *read_targets("--experiment", experiments, bap)]
    if other is not None:
        if n_listed or svg is not None or method != "exact":
            raise click.UsageError("--list, --svg and --method describe a class, --and compares")
        with naming("--and"):
            verdict = bf.explain_equivalence(bap, parse(other), targets=targets, kind=kind)
        click.echo(json.dumps(asdict(verdict), indent=2) if as_json else str(verdict))
        return
    with naming("--svg"):
        check_new_file(svg)
    members = bf.equivalence_class(
        bap, targets=targets, kind=kind, method=method, time_limit=time_limit
    )
    listed = [str(member) for member in islice(members, n_listed)]
    if svg is not None:
        svg.write_text(members.to_svg(), encoding="utf-8")
        click.echo(f"wrote {svg}", err=True)
    if as_json:
        print_json(members.to_dict() | ({"members": listed} if n_listed else {}))
        return
    print_result(members.summary())
    if listed:
        click.echo("\n" + "\n".join(listed))
