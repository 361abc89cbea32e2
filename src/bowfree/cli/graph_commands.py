"""Commands about graphs alone: equiv, design, convert."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, get_args

import click

from bowfree.cli.options import (
    NewPath,
    experiment_option,
    graph_options,
    jobs_option,
    json_option,
    kind_option,
    lavaan_auto_option,
    limit_option,
    read_format,
    read_graph,
    read_targets,
    time_limit_option,
)
from bowfree.cli.terminal import naming, print_json, show, show_or_json
from bowfree.equivalence.classes import ClassMethod
from bowfree.formats.text_formats import FORMATS, write
from bowfree.graph.text import parse
from bowfree.parameters import Kind
from bowfree.text_reading import decode


@click.command(
    epilog='Example: bowfree equiv --graph "x -> y -> z" --list 10\n\n'
    'Or: bowfree equiv --graph "x -> y -> z" --and "x <- y <- z" --experiment y'
)
@graph_options
@click.option(
    "--and", "other", metavar="TEXT", help="A second graph: decide whether the two are equivalent."
)
@experiment_option
@kind_option
@click.option(
    "--method",
    type=click.Choice(get_args(ClassMethod)),
    default="exact",
    show_default=True,
    help="All equivalent graphs, or those that a faster method finds.",
)
@click.option(
    "--list", "n_listed", type=click.IntRange(0, 10**9), default=0, help="Print this many graphs."
)
@time_limit_option
@click.option("--svg", type=NewPath(), help="A new file for a picture.")
@json_option
def equiv(
    other: str | None,
    experiments: tuple[str, ...],
    kind: Kind,
    method: ClassMethod,
    n_listed: int,
    time_limit: float | None,
    svg: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Summarize the graphs that are equivalent to a graph, or compare two graphs.

    Equivalent graphs fit every data set equally well. With --experiment, they also fit data from
    these experiments equally well.
    """
    import bowfree as bf

    graph = read_graph(given)
    targets = [(), *read_targets("--experiment", experiments, graph)]
    if other is not None:
        if n_listed or svg is not None or method != "exact":
            raise click.UsageError("--list, --svg and --method do not go together with --and")
        with naming("--and"):
            verdict = bf.explain_equivalence(graph, parse(other), targets=targets, kind=kind)
        if as_json:
            print_json(verdict.to_dict())
        else:
            show([str(verdict)])
        return
    members = bf.equivalence_class(
        graph, targets=targets, kind=kind, method=method, time_limit=time_limit
    )
    listed = [str(member) for member in islice(members, n_listed)]
    if svg is not None:
        svg.write_text(members.to_svg(), encoding="utf-8")
        click.echo(f"wrote {svg}", err=True)
    if as_json:
        print_json(members.to_dict() | ({"members": listed} if n_listed else {}))
        return
    show(members.summary()._sections())
    if listed:
        click.echo("\n" + "\n".join(listed))


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
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Largest number of variables to intervene on at once.",
)
@experiment_option
@kind_option
@limit_option
@time_limit_option
@jobs_option
@json_option
def design(
    candidates: tuple[str, ...],
    max_targets: int,
    experiments: tuple[str, ...],
    kind: Kind,
    limit: int | None,
    time_limit: float | None,
    n_jobs: int,
    as_json: bool,
    **given: Any,
) -> None:
    """Rank possible experiments by what they would reveal about the graph.

    An experiment splits the graphs that are equivalent to the given one into classes. The table
    shows the expected number of edge marks on which the remaining graphs agree, and the expected
    number of remaining graphs, if all equivalent graphs are equally probable.
    """
    import bowfree as bf

    graph = read_graph(given)
    named = read_targets("--candidate", candidates, graph)
    found = bf.design(
        graph,
        candidates=[name for names in named for name in names] or None,
        max_targets=max_targets,
        kind=kind,
        targets=[(), *read_targets("--experiment", experiments, graph)],
        n_jobs=n_jobs,
        time_limit=time_limit,
        **({} if limit is None else {"limit": limit}),
    )
    show_or_json(found, as_json)


@click.command(epilog="Example: bowfree convert graph.txt --from tetrad --to lavaan")
@click.argument("file", type=click.File("rb"))
@click.option("--from", "source", type=click.Choice(FORMATS), required=True, help="Its format.")
@click.option("--to", "target", type=click.Choice(FORMATS), required=True, help="The new format.")
@lavaan_auto_option
def convert(file: BinaryIO, source: str, target: str, auto: str) -> None:
    """Write the graph in FILE (- for standard input) in another format."""
    with naming("FILE"):
        graph = read_format(decode(file.read(), "FILE"), source, auto)
    with naming("--to"):
        text = write(graph, format=target)
    click.echo(text, nl=False)
