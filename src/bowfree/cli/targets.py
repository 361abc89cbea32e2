"""How experiments are named on the command line: as lists of variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_args

import click

from bowfree.cli.terminal import naming
from bowfree.equivalence.targets import Kind, target_set
from bowfree.errors import GraphError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import parse
from bowfree.text_reading import short_repr

kind_option = click.option(
    "--kind",
    type=click.Choice(get_args(Kind)),
    default="perfect",
    show_default=True,
    help="What an experiment does to its targets.",
)

experiment_option: Callable[..., Any] = click.option(
    "--experiment",
    "experiments",
    metavar="NAMES",
    multiple=True,
    help='Targets of an experiment that was done, as "akt" or "pkc, mek"; may be repeated.',
)


def read_targets(option: str, texts: Sequence[str], graph: MixedGraph) -> list[tuple[str, ...]]:
    """Return the target sets that the texts name, each a list of variables of the graph."""
    found = []
    with naming(option):
        for text in texts:
            named = parse(text)
            if named.n_edges or not len(named):
                raise GraphError(f"{short_repr(text)} should be names of variables, such as 'x, y'")
            found.append(target_set(named.nodes, graph.nodes))
    return found
