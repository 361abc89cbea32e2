"""The architecture: imports point from higher packages to lower ones, and there are no cycles.

Imports inside functions are exempt: ``graph.to_svg()`` may load the package that draws it.
"""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "bowfree"

# A package may import those before it.
LAYERS = [
    "errors", "parameters", "text_reading", "validation", "parallel", "results",
    "graph", "space", "data", "model", "equivalence", "search", "effects", "uncertainty",
    "formats", "datasets", "visualization", "estimator", "studies", "app", "cli", "__main__",
]  # fmt: skip


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


@cache
def imports(module: str) -> tuple[str, ...]:
    """Return the modules of the package that are loaded when a module is imported."""
    found = []
    for node in ast.parse(MODULES[module].read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "bowfree":
            package = (node.module or "")[len("bowfree.") :]
            for alias in node.names:
                inner = f"{package}.{alias.name}".strip(".")
                found.append(inner if inner in MODULES else package)
    return tuple(name for name in found if name)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_point_down(module):
    if not module:
        return
    layer = LAYERS.index(module.split(".")[0])
    above = [o for o in imports(module) if LAYERS.index(o.split(".")[0]) > layer]
    assert not above, f"{module} imports {above}, of a higher layer"


def test_no_cycles():
    reached: dict[str, set[str]] = {}
    for module in MODULES:
        seen, waiting = set(), [module]
        while waiting:
            for other in imports(waiting.pop()):
                if other not in seen and other in MODULES:
                    seen.add(other)
                    waiting.append(other)
        reached[module] = seen
    assert not [module for module, seen in reached.items() if module in seen]


def test_core_and_package_share_their_names():
    cpp = {path.name for path in (SOURCE.parents[1] / "cpp").iterdir() if path.is_dir()}
    assert cpp - {"bindings", "tests"} <= set(LAYERS)


def test_includes_of_the_core_point_down():
    # Headers in cpp/ itself (rng.hpp, stop.hpp, ...) may be included anywhere; bindings and tests
    # may include everything.
    core = SOURCE.parents[1] / "cpp"
    for path in [*core.rglob("*.hpp"), *core.rglob("*.cpp")]:
        folder = path.relative_to(core).parts[0]
        if folder not in LAYERS:
            continue
        included = re.findall(r'#include "(\w+)/', path.read_text(encoding="utf-8"))
        above = [other for other in included if LAYERS.index(other) > LAYERS.index(folder)]
        assert not above, f"{path} includes {above}, of a higher layer"


HEAVY = {
    "anywidget", "dask", "jinja2", "joblib", "matplotlib", "narwhals", "networkx", "numpy",
    "pandas", "polars", "pyarrow", "rich", "scipy", "sklearn", "starlette", "uvicorn",
}  # fmt: skip
REPORT = "import sys; print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"


def loaded_by(code):
    """Return the top-level packages that a fresh interpreter has loaded after `code`."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{REPORT}"], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def test_the_probe_sees_an_import():
    assert "numpy" in loaded_by("import bowfree; bowfree.MixedGraph")


HELP = "from bowfree.cli import main; main(['--help'], standalone_mode=False)"


@pytest.mark.parametrize(
    ("code", "allowed"), [("import bowfree; dir(bowfree)", set()), (HELP, {"click"})]
)
def test_nothing_heavy_is_loaded(code, allowed):
    """``import bowfree`` and ``bowfree --help`` are fast."""
    assert loaded_by(code) & (HEAVY | {"click"}) == allowed
