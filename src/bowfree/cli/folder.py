"""Folders and files for results: made anew, never overwritten."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from bowfree.errors import BowfreeError


def refuse_existing(*paths: Path | None) -> None:
    """Say no to paths that exist, before long work and not after it."""
    for path in paths:
        if path is not None and path.exists():
            raise BowfreeError(f"{path} exists already; choose another name or remove it")


def check_new_file(path: Path | None) -> None:
    """Say no to a file that exists or has no folder to be in, before long work."""
    refuse_existing(path)
    if path is not None and not path.parent.is_dir():
        raise BowfreeError(f"there is no folder {path.parent} to write {path.name} into; make it")


def write_folder(folder: Path, contents: Mapping[str, str]) -> None:
    """Write texts into a new folder, and say so on standard error."""
    folder.mkdir(parents=True)
    for name, content in contents.items():
        path = folder / name
        path.write_text(content, encoding="utf-8")
        click.echo(f"wrote {path}", err=True)
