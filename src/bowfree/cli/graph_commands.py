"""Commands about graphs alone: equiv, adjust, design, convert, simulate, sample."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from bowfree.cli import options as opt
from bowfree.cli.terminal import echo, naming, print_json, say, show, show_or_json
from bowfree.cli.work import Work
from bowfree.equivalence.classes import ClassMethod
from bowfree.errors import ParseError
from bowfree.formats.text_formats import EXPORTS, FORMATS, write
from bowfree.graph.text import parse
from bowfree.parameters import Kind
from bowfree.results.display import count
from bowfree.text_reading import decode, load_json, read_text

if TYPE_CHECKING:
    from bowfree.model.linear_sem import LinearSEM


@click.command(
    epilog='Example: bowfree equiv --graph "x -> y -> z" --list 10\n\n'
    'Or: bowfree equiv --graph "x -> y -> z" --and "x <- y <- z" --experiment y'
)
@opt.graph_options
@opt.options("--and/other TEXT | A second graph: decide whether the two are equivalent.")
@opt.experiment_option
@opt.options("""
kind
--method {exact,edge-changes,colliders} = exact | All equivalent graphs, or those that a faster
    method finds.
--list/n_listed int>=0<=1000000000 = 0 | Print this many graphs.
time_limit
--svg NEW | A new file for a picture.
""")
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
        listing = n_listed or svg is not None or method != "exact"
        opt.refuse({"--list, --svg and --method do not go together with --and": listing})
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
    epilog='Example: bowfree adjust --graph "w -> x -> y <- w" --of x --on y\n\n'
    "Or: bowfree adjust --graph-file results/graph.txt --of x --on y --equivalent"
)
@opt.graph_options
@opt.ends_options
@opt.options("--equivalent flag | Only what is valid in all graphs equivalent to this one.")
@opt.json_option
def adjust(of: str, on: str, equivalent: bool, as_json: bool, **given: Any) -> None:
    """List the variables to adjust for, and the instruments, of the effect of one variable.

    A regression of the outcome on the cause and an adjustment set estimates the total effect. An
    instrument, given other variables, estimates it even if the cause and the outcome have a hidden
    common cause.
    """
    import bowfree as bf

    graph = opt.read_graph(given)
    work = Work.begin()
    asked: Any = graph
    if equivalent:
        asked = work.run("the equivalent graphs", bf.equivalence_class, graph, required=True)
    ends: dict[str, Any] = {"of": of, "on": on}
    sets = work.run("adjustment sets", bf.effects.adjustment_sets, asked, **ends, strict=True)
    found = work.run("instruments", bf.effects.instruments, asked, **ends, strict=True)
    implied = work.run("implications", graph.independencies)
    if sets is None:  # after a signal
        if equivalent:
            work.output(show_or_json, asked.summary(), as_json)
    elif as_json:
        instruments = None if found is None else found.to_dict()
        work.output(print_json, {"adjustment_sets": sets.to_dict(), "instruments": instruments})
    else:
        work.output(show, sets._sections())
        if found is not None:
            work.output(show, ["", *found._sections()])
        if implied is not None:
            number = count(len(implied), "independency", "independencies")
            work.output(show, ["", f"the graph implies {number}"])
    work.end()


@click.command(
    epilog='Example: bowfree design --graph "x -> y -> z"\n\n'
    "Or: bowfree design --graph-file graph.txt --experiment akt --max-targets 2"
)
@opt.graph_options
@opt.options("""
--candidate/candidates NAME* | A variable that can be intervened on; may be repeated. [default: all]
--max-targets int>=1 = 1 | Largest number of variables to intervene on at once.
""")
@opt.experiment_option
@opt.options("kind\nlimit\ntime_limit")
@opt.jobs_option
@opt.json_option
def design(
    candidates: tuple[str, ...], experiments: tuple[str, ...], as_json: bool, **given: Any
) -> None:
    """Rank possible experiments by what they would reveal about the graph.

    An experiment splits the graphs that are equivalent to the given one into classes. The table
    shows the expected number of edge marks on which the remaining graphs agree, and the expected
    number of remaining graphs, if all equivalent graphs are equally probable.
    """
    import bowfree as bf

    graph = opt.read_graph(given)
    named = opt.read_targets("--candidate", candidates, graph)
    done = opt.read_targets("--experiment", experiments, graph)
    given |= {"candidates": [name for names in named for name in names] or None}
    if given["limit"] is None:
        del given["limit"]
    work = Work.begin()
    found = work.run(
        "the experiments", bf.design, graph, targets=[(), *done], **given, required=True
    )
    work.output(show_or_json, found, as_json)
    work.end()


@click.command(epilog="Example: bowfree convert graph.txt --from tetrad --to lavaan")
@click.argument("file", type=click.File("rb"))
@opt.options(f"""
--from/source FORMAT! | Its format.
--to/target {{{",".join(FORMATS + EXPORTS)}}}! | The new format.
""")
@opt.lavaan_auto_option
def convert(file: BinaryIO, source: str, target: str, auto: str) -> None:
    """Write the graph in FILE (- for standard input) in another format."""
    with naming("FILE"):
        graph = opt.read_format(decode(file.read(), "FILE"), source, auto)
    with naming("--to"):
        text = write(graph, format=target)
    echo(text, nl=False)


_sample_options = opt.options("""
--n int>=1 = 1000 | Number of rows.
--seed int>=0! | Seed; the same seed gives the same data.
""")


@click.command(epilog="Example: bowfree simulate --nodes 10 --max-in-degree 2 --seed 1 --out truth")
@opt.options("--nodes int>=1! | Number of variables.")
@_sample_options
@opt.options("""
max_in_degree
max_edges
graph_class
--out NEW | A new folder for data, graph and model. [default: data to standard output]
""")
def simulate(nodes: int, n: int, seed: int, out: Path | None, **given: Any) -> None:
    """Draw a random graph, its parameters (section 4.1 of the paper) and data, as CSV.

    The graph is drawn uniformly from its class.
    """
    import numpy as np

    import bowfree as bf
    from bowfree.data.frames import Table
    from bowfree.datasets.tables import write_table

    rng = np.random.default_rng(seed)
    graph = bf.random_bap(nodes, **given, rng=rng)
    model = bf.random_sem(graph, rng=rng)
    data = write_table(Table(graph.nodes, model.sample(n, rng=rng)))
    if out is None:
        say(f"graph: {graph}")
        echo(data, nl=False)
        return
    work = Work.begin()
    work.output(echo, str(graph))
    work.save(out / "data.csv", lambda: data)
    work.save(out / "graph.txt", lambda: str(graph))
    work.save(out / "graph.svg", graph.to_svg, long=True)
    work.save(out / "model.json", lambda: json.dumps(model.to_dict(), indent=2))
    work.end()


@click.command(epilog='Example: bowfree sample --graph "x -> y <-> z" --n 500 --seed 1 > data.csv')
@opt.graph_options
@opt.options("""
--model FILE | A model.json of `learn` or `simulate`, in place of a graph, with its parameters.
""")
@_sample_options
@opt.options("--out NEW | A new file for the data. [default: standard output]")
def sample(model: Path | None, n: int, seed: int, out: Path | None, **given: Any) -> None:
    """Draw data from a graph with random parameters (section 4.1 of the paper), as CSV."""
    import numpy as np

    import bowfree as bf
    from bowfree.data.frames import Table
    from bowfree.datasets.tables import write_table

    rng = np.random.default_rng(seed)
    if model is None:
        sem = bf.random_sem(opt.read_graph(given), rng=rng)
    elif given["graph"] is None and given["graph_file"] is None:
        with naming("--model"):
            sem = _read_model(model)
    else:
        raise click.UsageError("--model contains a graph already; omit --graph and --graph-file")
    text = write_table(Table(sem.graph.nodes, sem.sample(n, rng=rng)))
    if out is None:
        echo(text, nl=False)
        return
    work = Work.begin()
    work.save(out, lambda: text)
    work.end()


def _read_model(path: Path) -> LinearSEM:
    import bowfree as bf

    content = load_json(read_text(path))
    if not (isinstance(content, dict) and {"graph", "B", "Omega"} <= content.keys()):
        raise ParseError(
            f"{path.name} is not a model.json with graph, B and Omega; `bowfree learn --out` "
            "writes one"
        )
    return bf.LinearSEM(bf.MixedGraph.from_dict(content["graph"]), content["B"], content["Omega"])
