"""The examples in the docstrings run and print what the docstrings show."""

import doctest
import importlib
import pkgutil

import pytest

import bowfree

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(bowfree.__path__, "bowfree.")
    if not module.name.endswith(("._core", ".__main__"))
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    result = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert result.failed == 0
    if "plot" in name:
        importlib.import_module("matplotlib.pyplot").close("all")
