"""``bowfree convert``: a graph from one format to another."""

from __future__ import annotations

from typing import TextIO

import click

from bowfree.formats import FORMATS, read, write

__all__ = ["convert"]


@click.command(epilog="Example: bowfree convert graph.txt --from tetrad --to lavaan")
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--from", "source", type=click.Choice(FORMATS), required=True, help="Its format.")
@click.option("--to", "target", type=click.Choice(FORMATS), required=True, help="The new format.")
def convert(file: TextIO, source: str, target: str) -> None:
    """Write the graph in FILE (- for standard input) in another format."""
    click.echo(write(read(file.read(), format=source), format=target), nl=False)
