"""``bowfree fit``: maximum likelihood for a given graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bowfree.cli.conditions import by_condition, condition_options
from bowfree.cli.graphs import graph_options, read_model
from bowfree.cli.inference import Inference, inference_options
from bowfree.cli.searches import penalty_option
from bowfree.cli.tables import data_options, read_source
from bowfree.cli.terminal import print_json, print_result, say
from bowfree.formats import LavaanModel
from bowfree.graph.graph_like import graph_of
from bowfree.parameters import Kind, Means, Penalty


@click.command(
    epilog='Example: bowfree fit plants.csv --graph "sun -> leaves <- water, leaves <-> fruit"'
)
@data_options
@condition_options
@graph_options
@inference_options
@penalty_option(" in the score")
@click.option("--indices", is_flag=True, help="Also score tests of all edges that could be added.")
@click.option(
    "--changes", is_flag=True, help="Also exact refits with each edge added, removed or changed."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def fit(
    graph: str | None,
    graph_file: Path | None,
    graph_format: str | None,
    auto: str,
    penalty: Penalty,
    indices: bool,
    changes: bool,
    as_json: bool,
    conditions: str | None,
    targets: Path | None,
    kind: Kind,
    means: Means,
    se: str | None,
    test: str | None,
    resamples: int | None,
    seed: int | None,
    **given: Any,
) -> None:
    """Fit the parameters of a graph to DATA, a file with named columns.

    DATA is a text (.csv, .tsv, .txt, also .gz and .zst), or .parquet, .feather, .sav, .dta, .xlsx
    where a library that reads it is installed.
    """
    import bowfree as bf

    model = read_model(graph, graph_file, graph_format, auto)
    source, inference = read_source(**given), Inference(se, test, resamples, seed)
    inference.check(source, conditions)
    arguments = source.arguments(graph_of(model).nodes)
    arguments = by_condition(source, arguments, conditions, targets, kind, means)
    robust = inference.words(arguments.get("data"))
    result = bf.fit(model, **arguments, penalty=penalty, **robust)
    for note in result.moments.notes:
        say(f"note: {note}", err=True)
    more: dict[str, Any] = {}
    if isinstance(model, LavaanModel) and model.definitions:
        more["defined"] = model.defined(result)
    if indices:
        more["modification_indices"] = result.modification_indices()
    if changes:
        more["edge_changes"] = bf.edge_changes(model, **arguments, penalty=penalty)
    if as_json:
        print_json(result.to_dict() | {name: part.to_dict() for name, part in more.items()})
    else:
        print_result(result if conditions is not None else result.summary())
        for name, part in more.items():
            click.echo("\nDefined parameters" if name == "defined" else "")
            print_result(part)
