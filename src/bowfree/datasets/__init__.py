"""Data sets that come with bowfree, or that it knows how to make.

`load_demo` is the one to start with: data from a model that is known, so that one can see what a
search finds and what it cannot. `load_sachs` reads the protein data of the paper from a folder of
yours, or downloads them. `read_table` reads a file of your own. Each data set is a `Table`: a
mapping from names to columns that every function of bowfree takes as ``data``.
"""

from bowfree.datasets.greenhouse import demo_model, load_demo, make_demo
from bowfree.datasets.sachs import load_sachs
from bowfree.datasets.sachs_files import SACHS_CONDITIONS, SachsCondition
from bowfree.datasets.tables import Table, read_table

__all__ = [
    "SACHS_CONDITIONS",
    "SachsCondition",
    "Table",
    "demo_model",
    "load_demo",
    "load_sachs",
    "make_demo",
    "read_table",
]
