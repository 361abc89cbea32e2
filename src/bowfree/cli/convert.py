"""``bowfree convert``: a graph from one format to another."""

from __future__ import annotations

from typing import BinaryIO

import click

from bowfree.cli.graphs import lavaan_auto, read_named
from bowfree.cli.terminal import naming
from bowfree.formats import FORMATS, write
from bowfree.text_reading import decode


@click.command(epilog="Example: bowfree convert graph.txt --from tetrad --to lavaan")
@click.argument("file", type=click.File("rb"))
@click.option("--from", "source", type=click.Choice(FORMATS), required=True, help="Its format.")
@click.option("--to", "target", type=click.Choice(FORMATS), required=True, help="The new format.")
@lavaan_auto
def convert(file: BinaryIO, source: str, target: str, auto: str) -> None:
    """Write the graph in FILE (- for standard input) in another format."""
    with naming("FILE"):
        graph = read_named(decode(file.read(), "FILE"), source, auto)
    with naming("--to"):
        text = write(graph, format=target)
    click.echo(text, nl=False)
