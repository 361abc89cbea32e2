"""The demo data are what their model says, and the demo writes what it announces."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import bowfree as bf
from bowfree.cli import main
from bowfree.studies.demo import free_folder, run_demo


def test_demo_data_fit_their_model():
    model = bf.datasets.demo_model()
    made = np.round(model.sample(1000, rng=20170), 4)
    assert made.tobytes() == bf.datasets.load_demo().X.tobytes()
    fit = bf.fit(model.graph, bf.datasets.load_demo())
    assert fit.p_value > 0.05
    # Four standard errors: a wrong sign or a swapped pair of names is far outside.
    errors = fit.standard_errors()
    edges = ~np.isnan(errors.B)
    assert (np.abs(fit.B - model.B)[edges] < 4 * errors.B[edges]).all()


@pytest.fixture(scope="module")
def report():
    return run_demo(Path("new"))


def test_demo_separates_determined_and_undetermined_edges(report):
    assert bf.equivalent(report.result.graph, bf.datasets.demo_model().graph)
    known, unknown = report.text.split("Not determined by the data")
    assert "    fruit <-> roots          true\n" in known
    lines = {line[:28].strip(): line[28:].strip() for line in (known + unknown).splitlines()}
    for edge in report.members.summary().edges:
        assert str(edge) in lines
    assert lines["sun o-> leaves"] == "sun -> leaves or sun <-> leaves"
    assert "The true graph is one of them." in report.text
    assert "8 graphs are equivalent" in report.text


def test_demo_overwrites_nothing(tmp_path):
    assert free_folder(tmp_path / "new") == tmp_path / "new"
    (tmp_path / "old").mkdir()
    (tmp_path / "old-2").mkdir()
    assert free_folder(tmp_path / "old") == tmp_path / "old-3"


def test_demo_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bowfree-demo").mkdir()
    result = CliRunner().invoke(main, ["demo"])
    assert result.exit_code == 0
    assert "the folder bowfree-demo-2:" in result.stdout
    assert (tmp_path / "bowfree-demo-2" / "graph.svg").exists()
