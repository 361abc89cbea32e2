"""Commands about one effect: adjust (of a graph alone) and paths (with data)."""

from __future__ import annotations

from typing import Any

import click

from bowfree.cli import options as opt
from bowfree.cli.data_commands import search_and_average
from bowfree.cli.tables import data_options, read_source
from bowfree.cli.terminal import print_json, show, show_or_json
from bowfree.cli.work import Work
from bowfree.errors import GraphError
from bowfree.results.display import count

_ends = opt.options("""
--of NAME! | The cause (exposure).
--on NAME! | The outcome.
""")


@click.command(
    epilog='Example: bowfree adjust --graph "w -> x -> y <- w" --of x --on y\n\n'
    "Or: bowfree adjust --graph-file results/graph.txt --of x --on y --equivalent"
)
@opt.graph_options
@_ends
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
    epilog="Example: bowfree paths plants.csv --of sun --on fruit --through leaves\n\n"
    'Or: bowfree paths plants.csv --graph "sun -> leaves -> fruit <- sun" --of sun --on fruit'
)
@data_options
@opt.graph_options
@_ends
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
