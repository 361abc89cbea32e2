"""``bowfree effects``: causal effects, of a graph that is given or of all that are probable."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import click

from bowfree.cli.conditions import by_condition, condition_options
from bowfree.cli.graphs import graph_options, read_graph
from bowfree.cli.numbers import Whole
from bowfree.cli.searches import budget_options, read_budget
from bowfree.cli.tables import data_options, read_source
from bowfree.cli.terminal import print_json, print_result, progress_bar
from bowfree.parameters import Kind, Means


@click.command(epilog="Example: bowfree effects plants.csv --graph-file results/graph.txt")
@data_options
@condition_options
@graph_options
@click.option(
    "--limit",
    type=Whole(min=1),
    help="With a graph: look at no more equivalent ones than this. [default: 1000000]",
)
@budget_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def effects(
    graph: str | None,
    graph_file: Path | None,
    graph_format: str | None,
    auto: str,
    limit: int | None,
    as_json: bool,
    conditions: str | None,
    targets: Path | None,
    kind: Kind,
    means: Means,
    **given: Any,
) -> None:
    """Say how much a change in one variable would change another.

    If the cause is changed by one unit from outside, the effect changes by an amount between
    `lower` and `upper`.

    Without a graph, graphs are learned from DATA, and effects are averaged over all that the data
    leave probable: with the probability of an effect, and an interval that has the doubt about the
    graph in it. This is the answer to report after a search.

    With a graph the effects are bounded over all graphs that are equivalent to it, as if one of
    them were known to be true. Where these agree on the sign, + or - says which. With --conditions
    and --targets fewer graphs are equivalent.
    """
    import bowfree as bf

    budget = read_budget(given)
    source = read_source(**given)
    told = (conditions, targets, kind, means)
    found: bf.EffectBounds | bf.AveragedEffects
    if graph is None and graph_file is None:
        if limit is not None:
            raise click.UsageError("--limit belongs to --graph or --graph-file")
        arguments = by_condition(source, source.arguments(), *told)
        # The columns have been looked at; what was found was said in the words of the command line.
        warnings.simplefilter("ignore", bf.errors.DataWarning)
        with progress_bar("searching") as progress:
            result = bf.greedy_search(**arguments, **budget, progress=progress)
        with progress_bar("averaging") as progress:
            found = bf.averaged_effects(result, **budget, progress=progress)
    else:
        bap = read_graph(graph, graph_file, graph_format, auto)
        arguments = by_condition(source, source.arguments(bap.nodes), *told)
        at_hand = None if conditions is None else [c.targets for c in arguments["data"]]
        members = bf.equivalence_class(bap, targets=at_hand, kind=kind)
        found = bf.effect_bounds(members, **arguments, limit=limit, time_limit=budget["time_limit"])
    if as_json:
        print_json(found.to_dict())
    else:
        print_result(found)
