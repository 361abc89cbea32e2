"""``import bowfree`` and ``bowfree --help`` load no heavy package, so that both stay fast."""

import subprocess
import sys

import pytest

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


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        pytest.param("import bowfree", set(), id="import bowfree"),
        pytest.param("import bowfree; dir(bowfree)", set(), id="dir(bowfree)"),
        pytest.param(
            "from bowfree.cli import main; main(['--help'], standalone_mode=False)",
            {"click"},
            id="bowfree --help",
        ),
    ],
)
def test_nothing_heavy_is_loaded(code, allowed):
    assert loaded_by(code) & (HEAVY | {"click"}) == allowed
