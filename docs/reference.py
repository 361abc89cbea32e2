"""Writes the API reference: every public name, under the module that tells its story.

The headings are the first lines of the modules' docstrings, so the page cannot fall behind the
package. `conf.py` calls this before each build; the result, ``docs/api.md``, is not kept.
"""

import importlib
import inspect
from pathlib import Path

import bowfree

# In the order in which a newcomer needs them; modules not named here follow.
ORDER = (
    "graph", "text", "paths", "treks", "sem", "random_graphs", "fit", "score", "search",
    "search_result", "knowledge", "exhaustive", "classes", "equivalence", "empirical",
    "constraints", "atlas", "effects", "averaging", "intervention", "estimator",
)  # fmt: skip
LAST = ("errors",)


def entries() -> dict[str, list[str]]:
    """Return the public names by the module that defines them, in the order of the page."""
    found: dict[str, list[str]] = {}
    for name in bowfree.__all__:
        thing = getattr(bowfree, name)
        if inspect.ismodule(thing):
            members = thing.__all__
            found.setdefault(name, []).extend(f"{name}.{member}" for member in members)
        elif hasattr(thing, "__module__"):
            found.setdefault(thing.__module__.split(".")[1], []).append(name)
    others = sorted(set(found) - {*ORDER, *LAST})
    rank = {module: k for k, module in enumerate((*ORDER, *others, *LAST))}
    return dict(sorted(found.items(), key=lambda item: rank[item[0]]))


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
    for module, names in entries().items():
        doc = inspect.getdoc(importlib.import_module(f"bowfree.{module}")) or module
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
