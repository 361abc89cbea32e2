"""Generate the API reference from the package.

``python docs/reference.py`` writes ``docs/reference/``: one page for each package with the
signature and the first line of the docstring of every public name. The pages are kept in the
repository, and a test checks that they are current. Before each build of the documentation,
``conf.py`` also writes ``docs/api.md``, from which Sphinx makes the pages with full docstrings.
"""

import importlib
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import bowfree

FOLDER = Path(__file__).parent
PACKAGES = (
    "graph", "data", "model", "equivalence", "search", "space", "effects", "uncertainty",
    "datasets", "formats", "plot", "report", "estimator", "app", "studies", "parallel",
    "results", "errors",
)  # fmt: skip
MOVED = {"plot": "visualization.plot", "report": "visualization.report"}  # bf.plot, bf.report
TITLES = {"app": "workbench", "estimator": "estimator", "parallel": "progress"}


def entries() -> dict[str, list[str]]:
    """Return the public names by package: ``fit``, or ``model.ScoringRule`` below the top level."""
    found: dict[str, list[str]] = {package: [] for package in PACKAGES}
    modules = [name for name in bowfree.__all__ if inspect.ismodule(getattr(bowfree, name))]
    for name in bowfree.__all__:
        if name not in modules and name != "__version__":
            found[getattr(bowfree, name).__module__.split(".")[1]].append(name)
    for name in modules:
        module = getattr(bowfree, name)
        own = [
            n for n in getattr(module, "__all__", ()) if not inspect.ismodule(getattr(module, n))
        ]
        own = [n for n in own if getattr(bowfree, n, None) is not getattr(module, n)]
        found.setdefault(name, []).extend(f"{name}.{n}" for n in own)
    return {package: names for package, names in found.items() if names}


def first_line(thing: Any) -> str:
    """Return the first paragraph of a docstring as one line of Markdown."""
    paragraph = (inspect.getdoc(thing) or "").partition("\n\n")[0]
    text = re.sub(r":\w+(?::\w+)?:`~?([^`]+)`", r"`\1`", " ".join(paragraph.split()))
    return text.replace("``", "`").replace("|", "\\|")


def signature(thing: Any) -> str:
    """Return the parameters with their defaults, without types."""
    found = inspect.signature(thing)
    parameters = [
        p.replace(annotation=p.empty) for p in found.parameters.values() if p.name != "self"
    ]
    return str(found.replace(parameters=parameters, return_annotation=found.empty))


def lookup(name: str) -> Any:
    """Return the object of a name such as ``model.ScoringRule``."""
    thing: Any = bowfree
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


def members(cls: type) -> list[tuple[str, str]]:
    """Return the public methods and properties of a class with their first lines."""
    rows = []
    for name in dir(cls):
        thing = inspect.getattr_static(cls, name)
        if name.startswith("_"):
            continue
        owner = next(base for base in cls.__mro__ if name in vars(base))
        if not owner.__module__.startswith("bowfree"):
            continue
        if isinstance(thing, property) or hasattr(thing, "attrname"):  # or a cached property
            rows.append((f"`.{name}`", first_line(thing)))
        elif callable(getattr(cls, name)):
            rows.append(
                (f"`.{name}{signature(getattr(cls, name))}`", first_line(getattr(cls, name)))
            )
    return rows


def page(package: str, names: list[str]) -> str:
    """Return the page of one package."""
    module = importlib.import_module(f"bowfree.{MOVED.get(package, package)}")
    lines = [f"# {TITLES.get(package, package)}", "", first_line(module), ""]
    things = {name: lookup(name) for name in names}
    for title, wanted in (("Functions", inspect.isroutine), ("Classes", inspect.isclass)):
        chosen = {name: thing for name, thing in things.items() if wanted(thing)}
        if not chosen:
            continue
        lines += [f"## {title}", ""]
        for name, thing in chosen.items():
            lines += [f"### {name}", ""]
            if inspect.isroutine(thing) or "Parameters\n---" in (inspect.getdoc(thing) or ""):
                call = f"bf.{name}{signature(thing)}"
                lines += ["```", textwrap.fill(call, 96, subsequent_indent="    "), "```", ""]
            lines += [first_line(thing), ""]
            rows = members(thing) if inspect.isclass(thing) else []
            if rows:
                lines += ["| | |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows), ""]
    others = [n for n, t in things.items() if not inspect.isroutine(t) and not inspect.isclass(t)]
    if others:
        lines += ["## Constants", "", ", ".join(f"`bf.{name}`" for name in others), ""]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Return all pages of ``docs/reference`` by file name."""
    found = entries()
    lines = [
        "# Reference",
        "",
        "Every public name with its signature. `import bowfree as bf`; `help(bf.fit)` prints the",
        "full description of a function. In every matrix of effects, entry `[i, j]` is the effect",
        "of `j` on `i`. The command line is described by `bowfree --help`.",
        "",
        "Generated by `python docs/reference.py`.",
        "",
        "| package | |",
        "|---|---|",
    ]
    for package, names in found.items():
        listed = ", ".join(f"`{name.rpartition('.')[2]}`" for name in names)
        lines.append(f"| [{TITLES.get(package, package)}]({package}.md) | {listed} |")
    lines += ["", "```{toctree}", ":hidden:", "", *found, "```", ""]
    return {"index.md": "\n".join(lines)} | {
        f"{package}.md": page(package, names) for package, names in found.items()
    }


def api() -> str:
    """Return the page from which Sphinx generates a page for each name, with its docstring."""
    lines = ["# Docstrings", "", "```{eval-rst}", ".. currentmodule:: bowfree", "```"]
    for package, names in entries().items():
        lines += ["", f"## {TITLES.get(package, package)}", "", "```{eval-rst}", ".. autosummary::"]
        paths = [name.replace(f"{package}.", f"{MOVED.get(package, package)}.") for name in names]
        lines += ["   :toctree: api", "", *(f"   {path}" for path in paths), "```"]
    return "\n".join(lines) + "\n"


def write(contents: dict[str, str]) -> None:
    """Write files below ``docs`` that are missing or differ."""
    for name, text in contents.items():
        path = FOLDER / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    new = {f"reference/{name}": text for name, text in pages().items()}
    for path in (FOLDER / "reference").glob("*.md"):
        if f"reference/{path.name}" not in new:
            path.unlink()
    write(new)
