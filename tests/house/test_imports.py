"""The plan of the house: which room may use which, and that no two modules need each other."""

import ast
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "bowfree"

# From the ground up: a room may use the rooms before it, and what lies beside the rooms below.
FLOORS = [
    "graph", "pictures", "space", "model", "equivalence", "search", "effects", "uncertainty",
    "formats", "plot", "report", "datasets", "estimator", "app", "experiments", "cli",
]  # fmt: skip
# Usable everywhere; they use nothing of the rooms, except `shortcuts`, which is there to.
BESIDE = {
    "_core", "budget", "display", "errors", "frames", "frozen", "json_values", "options",
    "pieces", "shortcuts", "text_input", "",
}  # fmt: skip


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


@cache
def imports(module: str) -> tuple[tuple[str, str], ...]:
    """Return (module, name) for everything imported at run time, inside functions too."""
    found = []
    waiting: list[ast.AST] = [ast.parse(MODULES[module].read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "bowfree":
            within = (node.module or "")[len("bowfree.") :]
            for alias in node.names:
                inner = f"{within}.{alias.name}".strip(".")
                found.append((inner, "") if inner in MODULES else (within, alias.name))
        elif isinstance(node, ast.Import):
            found += [(a.name[8:], "") for a in node.names if a.name.split(".")[0] == "bowfree"]
        waiting += ast.iter_child_nodes(node)
    return tuple(found)


def room(module: str) -> str:
    return module.split(".")[0]


def test_every_room_is_on_the_plan():
    rooms = {room(module) for module in MODULES} - {"__main__"}
    assert rooms | {"_core"} == {*FLOORS, *BESIDE}


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_point_down(module):
    if module in ("shortcuts", "__main__"):
        return
    mine = room(module)
    for other, name in imports(module):
        if room(other) in BESIDE:
            # The commands are users of the package: `import bowfree as bf`.
            known = other or mine == "cli" or name in {"_core", "__version__"}
            assert known, f"{module} imports bowfree.{name}"
            continue
        assert mine not in BESIDE, f"{module} stands beside the rooms and may not use {other}"
        assert FLOORS.index(room(other)) <= FLOORS.index(mine), f"{module} reaches up to {other}"


def test_shortcuts_load_nothing_before_they_are_used():
    tree = ast.parse(MODULES["shortcuts"].read_text(encoding="utf-8"))
    top = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert not [node for node in top if (node.module or "").startswith("bowfree")]


def test_no_knots():
    """No module needs itself, by whatever detour; the shortcuts upstairs are left out."""
    reached: dict[str, set[str]] = {}
    for module in MODULES:
        seen, waiting = set(), [module]
        while waiting:
            for other, _ in imports(waiting.pop()):
                if other not in seen and other in MODULES and other not in ("shortcuts", ""):
                    seen.add(other)
                    waiting.append(other)
        reached[module] = seen
    assert not [module for module, seen in reached.items() if module in seen]


@pytest.mark.parametrize("module", sorted(MODULES))
def test_nothing_private_is_imported(module):
    private = [f"{a}.{b}" for a, b in imports(module) if b.startswith("_") and b[:2] != "__"]
    assert [name for name in private if name != "._core"] == []


@pytest.mark.parametrize("module", sorted(MODULES))
def test_nothing_private_of_a_module_is_used(module):
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    modules = {name.rsplit(".", 1)[-1] for name, inner in imports(module) if not inner}
    used = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in modules - {"_core"}
        and node.attr.startswith("_")
    ]
    assert used == []


def test_the_two_floors_have_the_same_rooms():
    cpp = {path.name for path in (SOURCE.parents[1] / "cpp").iterdir() if path.is_dir()}
    assert cpp - {"bindings"} <= set(FLOORS)
