"""Causal structure learning with hidden confounders, by bow-free acyclic path diagrams (BAPs)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    from bowfree import _core as _core
except ImportError as error:
    raise ImportError(
        "bowfree's compiled core (bowfree._core) is missing: it is built when the package is "
        "installed. Run `pip install .` in the project's folder (a C++20 compiler is all it "
        "needs), and import bowfree from outside the source tree."
    ) from error

from bowfree.errors import BowfreeError, DataError, FitWarning, GraphError, ParseError
from bowfree.fit import Fit, fit
from bowfree.graph import MixedGraph
from bowfree.paths import Path
from bowfree.score import district_scores, score
from bowfree.sem import LinearSEM, random_sem
from bowfree.text import parse
from bowfree.treks import Trek

if TYPE_CHECKING:
    from bowfree import datasets as datasets
    from bowfree import formats as formats

__version__ = "0.1.0"

__all__ = [
    "BowfreeError",
    "DataError",
    "Fit",
    "FitWarning",
    "GraphError",
    "LinearSEM",
    "MixedGraph",
    "ParseError",
    "Path",
    "Trek",
    "__version__",
    "datasets",
    "district_scores",
    "fit",
    "formats",
    "parse",
    "random_sem",
    "score",
]

# Parts that not every program needs; `bowfree.formats` loads them when it is first asked for.
_ON_DEMAND = ("datasets", "formats")


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return import_module(f"bowfree.{name}")
    raise AttributeError(f"module 'bowfree' has no attribute {name!r}")
