"""`bowfree study`: files in a new folder, errors as sentences."""

import pytest

from command_line import run


def test_effects_writes_tables_and_figures(tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "new" / "results"
    result = run("study", "effects", "--n-sims", 1, "--out", out)
    assert "mean AUC" in result.stdout
    assert {path.name for path in out.iterdir()} == {
        f"effects.{kind}" for kind in ("csv", "json", "md", "png")
    }
    again = run("study", "effects", "--n-sims", 1, "--out", out, code=1)
    assert "is not empty" in again.stderr


def test_uniformity(tmp_path):
    pytest.importorskip("matplotlib")
    run("study", "uniformity", "--samples", 500, "--out", tmp_path)
    assert (tmp_path / "uniformity.png").stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [(["sachs", "--sachs", "nowhere"], 1, "nowhere"), (["everything"], 2, "is not one of")],
)
def test_errors_have_a_code_and_no_traceback(arguments, code, problem, tmp_path):
    pytest.importorskip("matplotlib")
    out = [] if arguments == ["everything"] else ["--out", tmp_path / "out"]
    result = run("study", *arguments, *out, code=code)
    assert problem in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
