"""Writes the API reference: every public name, under the room that it belongs to.

The sections are the rooms, in the order of the house, which is that of ``bowfree/__init__.pyi``;
their headings are the first lines of the rooms' docstrings. So the page cannot fall behind the
package. `conf.py` calls this before each build; the result, ``docs/api.md``, is not kept.
"""

import importlib
import inspect
import re
from pathlib import Path

import bowfree

CONTENTS = Path(bowfree.__file__).with_name("__init__.pyi")


def entries() -> dict[str, list[str]]:
    """Return the public names by room, in the order of the table of contents."""
    found: dict[str, list[str]] = {}
    for line in CONTENTS.read_text(encoding="utf-8").splitlines():
        if start := re.match(r"from \.(\w*)", line):
            room = start[1]
        for name in re.findall(r"(\w+) as \w+", line):
            thing = getattr(bowfree, name)
            if inspect.ismodule(thing):
                found.setdefault(name, []).extend(f"{name}.{member}" for member in thing.__all__)
            else:
                found.setdefault(room, []).append(name)
    return found


def page() -> str:
    """Return the page as MyST markdown."""
    lines = [
        "# API reference",
        "",
        "```{eval-rst}",
        ".. currentmodule:: bowfree",
        "```",
        "",
        "`import bowfree as bf`; everything here is `bf.name`. In every matrix of effects, entry",
        "`[i, j]` is the effect of `j` on `i`. The command line: `bowfree --help`.",
    ]
    for room, names in entries().items():
        doc = inspect.getdoc(importlib.import_module(f"bowfree.{room}")) or room
        title = doc.splitlines()[0].rstrip(".").replace("``", "`")
        lines += [
            "",
            f"## {title}",
            "",
            "```{eval-rst}",
            ".. autosummary::",
            "   :toctree: api",
            "",
        ]
        lines += [f"   {name}" for name in names]
        lines += ["```"]
    return "\n".join(lines) + "\n"


def write() -> None:
    """Write the page beside this file, unless it is there already as it should be."""
    path = Path(__file__).with_name("api.md")
    text = page()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
