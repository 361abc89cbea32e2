"""Commands about data and given graphs: fit, compare, effects, paths, bootstrap."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bowfree.cli import options as opt
from bowfree.cli.tables import condition_options, data_options, read_source
from bowfree.cli.terminal import OPTIONS, echo, naming, print_json, say, show, show_or_json
from bowfree.cli.work import Work
from bowfree.data.nominal import BlockMoments
from bowfree.equivalence.targets import target_set
from bowfree.errors import DataWarning, GraphError
from bowfree.formats.lavaan_model import LavaanModel
from bowfree.formats.text_formats import read
from bowfree.graph.mixed_graph import MixedGraph, graph_of
from bowfree.results.display import Table, significant
from bowfree.text_reading import read_text

if TYPE_CHECKING:
    from bowfree.search.result import SearchResult
    from bowfree.uncertainty.average_result import AveragedEffects

COVARIANCES_ONLY = (
    "--errors nongaussian belongs to searches and fits: the tests that compare graphs use "
    "covariances, whatever the distribution of the errors; omit it"
)

_NAMED_GRAPH = re.compile(r"\s*([\w.-]+)\s*=(.*)", re.DOTALL)


@click.command(
    epilog='Example: bowfree fit plants.csv --graph "sun -> leaves <- water, leaves <-> fruit"'
)
@data_options
@condition_options
@opt.graph_options
@opt.options("""
se
test
--resamples/n_bootstrap int>=2 | Number of bootstrap samples for --se bootstrap. [default: 1000]
interval
--seed/rng int>=0 | Seed for --se bootstrap. [default: 0]
baseline
fixed_x
penalty
--indices flag | Add score tests for all edges that are absent.
--changes flag | Add exact refits with each edge added, removed or changed.
--waves/lags flag | Add effects by lag; waves are the numbers at the end of names (x_1, x_2).
--equal-waves flag | Make effects of the same variables and lag equal in all waves.
--each flag | With --conditions: add the estimates in each condition, and tests of equality.
""")
@opt.json_option
def fit(
    indices: bool,
    changes: bool,
    lags: bool,
    equal_waves: bool,
    each: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Fit the parameters of a graph to DATA, a file with named columns.

    DATA is a text file (.csv, .tsv, .txt, also .gz and .zst), or .parquet, .feather, .sav, .dta or
    .xlsx if a library that reads it is installed.
    """
    import bowfree as bf

    names = ("se", "test", "baseline", "fixed_x")
    inference = {name: given.pop(name) for name in names}
    defaults = {"n_bootstrap": 1000, "interval": "percentile", "rng": 0}
    chosen = {name: given.pop(name) for name in defaults}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    if inference["se"] == "bootstrap":
        inference |= defaults | chosen
    else:
        opt.refuse({f"{OPTIONS[name]} belongs to --se bootstrap": True for name in chosen})
    penalty = given.pop("penalty")
    model = opt.read_model(given)
    source = read_source(given)
    arguments = source.arguments(graph_of(model).nodes)
    opt.refuse({"--each belongs to --conditions": each and source.conditions is None})
    if equal_waves:
        inference["equal"] = bf.effects.equal_over_waves(model)
    work = Work.begin()
    result = work.run(
        "the fit", bf.fit, model, **arguments, penalty=penalty, **inference, required=True
    )
    for note in result.moments.notes:
        say(f"note: {note}")
    more: dict[str, Any] = {}
    if isinstance(model, LavaanModel) and model.definitions:
        more["defined"] = work.run("defined parameters", model.defined, result)
    if each:
        more["estimates_by_condition"] = work.run("--each", result.estimates_by_condition)
    if lags or equal_waves:
        more["lagged_effects"] = work.run("--waves", bf.effects.lagged_effects, result)
    if indices:
        more["modification_indices"] = work.run("--indices", result.modification_indices)
    if changes:
        more["edge_changes"] = work.run(
            "--changes", bf.edge_changes, model, **arguments, penalty=penalty
        )
    more = {name: part for name, part in more.items() if part is not None}
    if as_json:
        parts = {name: part.to_dict() for name, part in more.items()}
        work.output(print_json, result.to_dict() | parts)
    else:
        shown = result if source.conditions is not None else result.summary()
        work.output(show, shown._sections())
        for name, part in more.items():
            work.output(echo, "\nDefined parameters" if name == "defined" else "")
            work.output(show, part._sections())
    work.end()


@click.command(
    epilog='Example: bowfree compare plants.csv --graph "arrow=sun -> leaves, water" '
    '--graph "both=sun -> leaves <- water"'
)
@data_options
@opt.options("""
--graph/graphs [NAME=]TEXT* | A graph, as in "x -> y, y <-> z"; repeat the option for each graph.
--graph-file/graph_files FILE* | A file that contains a graph; the graph is named after the file.
--format/graph_format FORMAT | Format of the files. [default: text]
""")
@opt.json_option
def compare(
    graphs: tuple[str, ...],
    graph_files: tuple[Path, ...],
    graph_format: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Fit several graphs to DATA and test each pair of them.

    Nested graphs are compared by the difference of their chi-square statistics, others by Vuong's
    test. Nesting is decided exactly.
    """
    import bowfree as bf

    sources = [*map(opt.graph_or_file, graphs), *graph_files]
    unused = graph_format is not None and not any(isinstance(one, Path) for one in sources)
    opt.refuse(
        {
            "--format belongs to --graph-file": unused,
            COVARIANCES_ONLY: given["errors"] == "nongaussian",
        }
    )
    named: dict[str, MixedGraph] = {}
    for k, source in enumerate(sources, start=1):
        if isinstance(source, Path):
            option, name, text = "--graph-file", source.stem, read_text(source)
            format = graph_format or "text"
        else:
            found = _NAMED_GRAPH.fullmatch(source)
            name, text = found.groups() if found else (f"G{k}", source)
            option, format = "--graph", "text"
        with naming(option):
            graph = read(text, format=format)
        opt.refuse({f"two graphs are called {name}; use --graph 'name=x -> y'": name in named})
        named[name] = graph
    few = "give two graphs or more, each with its own --graph or --graph-file"
    opt.refuse({few: len(named) < 2})
    nodes = dict.fromkeys(node for graph in named.values() for node in graph.nodes)
    arguments = read_source(given).arguments(tuple(nodes))
    work = Work.begin()
    compared = work.run("the comparison", bf.compare, named, **arguments, required=True)
    work.output(show_or_json, compared, as_json)
    work.end()


@click.command(
    epilog="Example: bowfree effects plants.csv --of sun --on fruit\n\n"
    "Or: bowfree effects plants.csv --graph-file results/graph.txt"
)
@data_options
@condition_options
@opt.graph_options
@opt.options("""
--of NAME* | Print effects of this variable only.
--on NAME* | Print effects on this variable only.
limit
""")
@opt.search_options
@opt.chain_options
@opt.budget_options
@opt.json_option
@click.pass_context
def effects(
    context: click.Context,
    /,
    of: tuple[str, ...],
    on: tuple[str, ...],
    limit: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Estimate how much a change in one variable changes another.

    If the cause is increased by one unit in an experiment, the effect changes by an amount between
    `lower` and `upper`.

    Without a graph, graphs are learned from DATA, and effects are averaged over all graphs that the
    data support and --knowledge permits. Each effect has a probability, and its interval includes
    the uncertainty about the graph. Report these numbers after a search. A --penalty applies to
    the search and to the averages, whose own default is 0.5.

    With a graph, effects are bounded over all graphs that are equivalent to it, as if one of them
    were known to be true. The column with + or - shows where all of them have this sign. With
    --conditions and --targets, fewer graphs are equivalent.
    """
    import bowfree as bf
    from bowfree.visualization.warnings import zero_notes

    averages = opt.averages_graphs(context, ["limit"])
    budget, search = opt.read_budget(given), opt.read_search(given)
    steps = {name: given.pop(name) for name in ("steps", "max_steps")}
    graph = None if averages else opt.read_graph(given)
    source = read_source(given)
    arguments = source.arguments(None if graph is None else graph.nodes)
    opt.add_waves(search, arguments.get("data"))
    warnings.simplefilter("ignore", DataWarning)  # the command has printed its own
    if of or on:
        moments = bf.moments(**arguments)
        for option, name in (("--of", of), ("--on", on)):
            with naming(option):
                target_set(name, moments.names)
        if isinstance(moments, BlockMoments):
            of, on = (tuple(c for name in end for c in moments.blocks[name]) for end in (of, on))
    work = Work.begin()
    if graph is None:
        before, found = search_and_average(context, work, arguments, search, budget, steps)
    else:
        by_condition = source.conditions is not None
        members = work.run(
            "the equivalent graphs",
            bf.equivalence_class,
            graph,
            targets=[c.targets for c in arguments["data"]] if by_condition else None,
            kind=source.kind,
            required=True,
        )
        arguments |= {} if limit is None else {"limit": limit}
        limits = {"time_limit": budget["time_limit"], "strict": True}
        before = members.summary()
        found = work.run("bounds of effects", bf.effect_bounds, members, **arguments, **limits)
    if found is not None and (of or on):
        work.output(_show_chosen, found, of, on, as_json)
    else:  # what is finished, if there are no effects
        work.output(show_or_json, before if found is None else found, as_json)
    if graph is None and found is not None and not as_json:
        work.output(show, [f"! {note}" for note in zero_notes(found, of, on)])
    work.end()


def search_and_average(
    context: click.Context,
    work: Work,
    arguments: dict[str, Any],
    search: dict[str, Any],
    budget: dict[str, Any],
    steps: dict[str, Any],
) -> tuple[SearchResult, AveragedEffects | None]:
    """Search, and average over graphs; after a signal there is no average."""
    import bowfree as bf

    result = work.run(
        "the search",
        bf.greedy_search,
        **arguments,
        **search,
        **budget,
        required=True,
        bar="searching",
    )
    if not result.complete:
        say("Warning: the search ended early; a longer one may find a better graph")
    budget = budget | {name: value for name, value in steps.items() if value is not None}
    if "penalty" in opt.chosen_options(context):
        budget["penalty"] = result.penalty
    return result, work.run(
        "averaged effects", bf.averaged_effects, result, **budget, bar="averaging"
    )


def _show_chosen(found: Any, of: tuple[str, ...], on: tuple[str, ...], as_json: bool) -> None:
    """Print the effects of some variables on others."""
    rows = [
        found.effect(of=a, on=b) for a in of or found.names for b in on or found.names if a != b
    ]
    opt.refuse({"--of and --on name the same variable": not rows})
    if as_json:
        print_json({"effects": [row.to_dict() for row in rows]})
        return
    wanted = ("of", "on", "probability", "positive", "negative", "mean", "lower", "upper")
    headings = tuple(name for name in wanted if name in dict(rows[0]))
    cells = [(row.of, row.on, *(significant(row[x]) for x in headings[2:])) for row in rows]
    show([Table(headings, cells, left=(0, 1))])


@click.command(
    epilog="Example: bowfree paths plants.csv --of sun --on fruit --through leaves\n\n"
    'Or: bowfree paths plants.csv --graph "sun -> leaves -> fruit <- sun" --of sun --on fruit'
)
@data_options
@opt.graph_options
@opt.ends_options
@opt.options("""
--through NAME* | A mediator; may be repeated.
--avoiding NAME* | A variable that the paths of --through must not visit; may be repeated.
--resamples int>=40 | Bootstrap intervals from this many samples, in place of normal ones.
""")
@opt.search_options
@opt.chain_options
@opt.budget_options
@opt.json_option
@click.pass_context
def paths(
    context: click.Context,
    /,
    of: str,
    on: str,
    through: tuple[str, ...],
    avoiding: tuple[str, ...],
    resamples: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Estimate direct, indirect and path-specific effects.

    Without a graph, graphs are learned from DATA, and effects are averaged over all graphs that the
    data support and --knowledge permits, as by the command effects. With a graph, which is fitted
    to DATA, the robustness value shows how strong a hidden cause would have to be to explain the
    effect away.
    """
    import bowfree as bf

    averages = opt.averages_graphs(context, ["resamples"])
    budget, search = opt.read_budget(given), opt.read_search(given)
    steps = {name: given.pop(name) for name in ("steps", "max_steps")}
    graph = None if averages else opt.read_graph(given)
    arguments = read_source(given).arguments(None if graph is None else graph.nodes)
    asked: dict[str, Any] = {"of": of, "on": on, "through": through, "avoiding": avoiding}
    opt.add_waves(search, arguments.get("data"))
    work = Work.begin()
    if graph is None:
        result, average = search_and_average(context, work, arguments, search, budget, steps)
        found = result if average is None else average.path_effects(**asked)
        work.output(show_or_json, found, as_json)
        work.end()
        return
    inference: dict[str, Any] = {"rng": budget["rng"]}
    if resamples is not None:
        inference |= {"se": "bootstrap", "n_bootstrap": resamples}
    fit = work.run("the fit", bf.fit, graph, **arguments, **inference, required=True)
    effects = bf.effects.path_effects(fit, **asked)
    content: dict[str, Any] = {"path_effects": effects.to_dict(), "sensitivity": None}
    robust: Any = None
    reason = ""
    try:
        robust = bf.effects.sensitivity(fit, of=of, on=on)
        content["sensitivity"] = robust.to_dict()
    except GraphError as error:  # the effect is not that of a regression
        reason = str(error)
    if as_json:
        work.output(print_json, content)
    else:
        work.output(show, [*effects._sections(), ""])
        work.output(show, robust._sections() if not reason else [f"no robustness value: {reason}"])
    work.end()


@click.command(epilog="Example: bowfree bootstrap plants.csv --resamples 200 --jobs -1 --seed 1")
@data_options
@condition_options
@opt.search_options
@opt.budget_options
@opt.options("""
--resamples int>=1 = 100 | Number of resamples; each has its own search.
confidence
--max-false number>0 | Use stability selection instead: select pairs that are adjacent in most
    halves of the rows, with at most this many false ones on average.
""")
@opt.json_option
def bootstrap(
    resamples: int, confidence: float, max_false: float | None, as_json: bool, **given: Any
) -> None:
    """Repeat the search on resampled DATA, and count how often edges and effects are found.

    An edge that is found in nearly every resample would probably be found in new data; one that is
    found in a third of them is uncertain. Rows are drawn with replacement, within each condition.
    With --max-false, random halves of the rows are used (stability selection).
    """
    import bowfree as bf

    budget, search = opt.read_budget(given), opt.read_search(given)
    source = read_source(given)
    rows = "bootstrap resamples rows; give a table of observations"
    opt.refuse({rows: source.cov is not None})
    arguments = source.arguments()
    data = arguments.pop("data")
    opt.add_waves(search, data)
    if "shrinkage" in arguments:
        search["shrinkage"] = arguments.pop("shrinkage")
    if arguments:
        data = bf.moments(data, **arguments)
    function: Any = bf.bootstrap
    options: dict[str, Any] = {"n_resamples": resamples, "confidence": confidence}
    if max_false is not None:
        function = bf.stability_selection
        options = {"n_halves": resamples, "max_false": max_false}
    work = Work.begin()
    options |= search | budget
    found = work.run("the search", function, data, **options, required=True, bar="searching")
    work.output(show_or_json, found, as_json)
    work.end()
