"""Fixtures of the tests of the command line."""

import pytest

import bowfree as bf


@pytest.fixture(scope="session")
def plants(tmp_path_factory):
    """Return the path of a CSV file with the demo data."""
    path = tmp_path_factory.mktemp("data") / "plants.csv"
    path.write_text(bf.datasets.write_table(bf.datasets.load_demo()), encoding="utf-8")
    return path
