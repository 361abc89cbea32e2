"""`docs/paper-map.md` and `docs/errata.md` name only what exists, and the map is complete."""

import ast
import functools
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# The numbered items of the paper; each must be in the map once.
NUMBERED = [
    f"{kind} {number}"
    for kind, last in {
        "Algorithm": 1,
        "Corollary": 2,
        "Definition": 3,
        "Equation": 13,
        "Figure": 7,
        "Lemma": 5,
        "Theorem": 5,
    }.items()
    for number in range(1, last + 1)
]


def table_rows(name: str, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """Return the rows of all tables in a document that have exactly these columns."""
    rows = []
    header: tuple[str, ...] = ()
    for line in (ROOT / "docs" / name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            header = ()
            continue
        cells = tuple(cell.strip() for cell in line.strip("|").split("|"))
        if not header:
            header = cells
        elif not set(line) <= set("|-") and header == columns:
            assert len(cells) == len(columns), f"{name}: wrong number of cells in {line}"
            rows.append(dict(zip(columns, cells, strict=True)))
    return rows


MAP = table_rows("paper-map.md", ("paper", "label", "what", "function", "test"))
ERRATA = table_rows("errata.md", ("place", "there", "here", "why", "test"))
FUNCTIONS = sorted({entry.strip() for row in MAP for entry in row["function"].split(",")})
TESTS = sorted({entry.strip() for row in MAP + ERRATA for entry in row["test"].split(",")})


def test_every_numbered_item_is_there_once():
    items = [row["paper"] for row in MAP]
    assert sorted(item for item in items if re.fullmatch(r"[A-Z]\w+ \d+", item)) == sorted(NUMBERED)


def test_errata_are_found():
    assert len(ERRATA) >= 12


@pytest.mark.parametrize("entry", FUNCTIONS)
def test_function_exists(entry):
    named = re.fullmatch(r"`bowfree\.([\w.]+)`", entry)
    assert named, f"{entry!r} is not `bowfree.name`"
    functools.reduce(getattr, named[1].split("."), importlib.import_module("bowfree"))


@functools.cache
def collected_from(path: str) -> set[str]:
    """Return the names of the tests that pytest collects from a file."""
    found = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            found |= {
                f"{node.name}::{method.name}"
                for method in node.body
                if isinstance(method, ast.FunctionDef) and method.name.startswith("test")
            }
    return found


@pytest.mark.parametrize("entry", TESTS)
def test_test_exists(entry):
    named = re.fullmatch(r"`(tests/(?:\w+/)?test_\w+\.py)::([\w:]+)`", entry)
    assert named, f"{entry!r} is not `tests/package/test_x.py::test_name`"
    assert named[2] in collected_from(named[1])
