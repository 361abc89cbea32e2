"""Causal structure learning with hidden confounders, by bow-free acyclic path diagrams (BAPs)."""

try:
    from bowfree import _core as _core
except ImportError as error:
    raise ImportError(
        "bowfree's compiled core (bowfree._core) is missing: it is built when the package is "
        "installed. Run `pip install .` in the project's folder (a C++20 compiler is all it "
        "needs), and import bowfree from outside the source tree."
    ) from error

from bowfree.errors import BowfreeError, DataError, GraphError, ParseError
from bowfree.graph import MixedGraph
from bowfree.paths import Path
from bowfree.sem import LinearSEM, random_sem
from bowfree.text import parse
from bowfree.treks import Trek

__version__ = "0.1.0"

__all__ = [
    "BowfreeError",
    "DataError",
    "GraphError",
    "LinearSEM",
    "MixedGraph",
    "ParseError",
    "Path",
    "Trek",
    "__version__",
    "parse",
    "random_sem",
]
