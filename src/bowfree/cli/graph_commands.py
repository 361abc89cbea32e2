"""Commands about graphs alone: equiv, design, convert."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, get_args

import click

from bowfree.cli import options as opt
from bowfree.cli.terminal import echo, naming, print_json, show, show_or_json
from bowfree.cli.work import Work
from bowfree.equivalence.classes import ClassMethod
from bowfree.formats.text_formats import EXPORTS, FORMATS, write
from bowfree.graph.text import parse
from bowfree.parameters import Kind
from bowfree.text_reading import decode


@click.command(
    epilog='Example: bowfree equiv --graph "x -> y -> z" --list 10\n\n'
    'Or: bowfree equiv --graph "x -> y -> z" --and "x <- y <- z" --experiment y'
)
@opt.graph_options
@click.option(
    "--and", "other", metavar="TEXT", help="A second graph: decide whether the two are equivalent."
)
@opt.experiment_option
@opt.kind_option
@click.option(
    "--method",
    type=click.Choice(get_args(ClassMethod)),
    default="exact",
    help="All equivalent graphs, or those that a faster method finds.",
)
@click.option(
    "--list", "n_listed", type=click.IntRange(0, 10**9), default=0, help="Print this many graphs."
)
@opt.time_limit_option
@click.option("--svg", type=opt.NewPath(), help="A new file for a picture.")
@opt.json_option
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

    graph = opt.read_graph(given)
    targets = [(), *opt.read_targets("--experiment", experiments, graph)]
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
    work = Work.begin()
    members = work.run(
        "the equivalent graphs",
        bf.equivalence_class,
        graph,
        targets=targets,
        kind=kind,
        method=method,
        time_limit=time_limit,
        required=True,
    )
    listed = work.run("the list", lambda: [str(member) for member in islice(members, n_listed)])
    if as_json:
        more = {"members": listed} if n_listed else {}
        work.output(print_json, members.to_dict() | more)
    else:
        work.output(show, members.summary()._sections())
        if listed:
            work.output(echo, "\n" + "\n".join(listed))
    if svg is not None:
        work.save(svg, members.to_svg, long=True)
    work.end()


@click.command(
    epilog='Example: bowfree design --graph "x -> y -> z"\n\n'
    "Or: bowfree design --graph-file graph.txt --experiment akt --max-targets 2"
)
@opt.graph_options
@click.option(
    "--candidate",
    "candidates",
    metavar="NAME",
    multiple=True,
    help="A variable that can be intervened on; may be repeated. [default: all]",
)
@click.option(
    "--max-targets",
    type=opt.COUNT,
    default=1,
    help="Largest number of variables to intervene on at once.",
)
@opt.experiment_option
@opt.kind_option
@opt.limit_option
@opt.time_limit_option
@opt.jobs_option
@opt.json_option
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

    graph = opt.read_graph(given)
    named = opt.read_targets("--candidate", candidates, graph)
    limits: dict[str, Any] = {} if limit is None else {"limit": limit}
    work = Work.begin()
    found = work.run(
        "the experiments",
        bf.design,
        graph,
        candidates=[name for names in named for name in names] or None,
        max_targets=max_targets,
        kind=kind,
        targets=[(), *opt.read_targets("--experiment", experiments, graph)],
        n_jobs=n_jobs,
        time_limit=time_limit,
        **limits,
        required=True,
    )
    work.output(show_or_json, found, as_json)
    work.end()


@click.command(epilog="Example: bowfree convert graph.txt --from tetrad --to lavaan")
@click.argument("file", type=click.File("rb"))
@click.option("--from", "source", type=click.Choice(FORMATS), required=True, help="Its format.")
@click.option(
    "--to", "target", type=click.Choice(FORMATS + EXPORTS), required=True, help="The new format."
)
@opt.lavaan_auto_option
def convert(file: BinaryIO, source: str, target: str, auto: str) -> None:
    """Write the graph in FILE (- for standard input) in another format."""
    with naming("FILE"):
        graph = opt.read_format(decode(file.read(), "FILE"), source, auto)
    with naming("--to"):
        text = write(graph, format=target)
    echo(text, nl=False)
