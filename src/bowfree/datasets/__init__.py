"""Tables in files, and example data.

`read_table` and `read_covariance` read files of any program (:mod:`bowfree.datasets.files`).
`load_demo` returns data from a known model, so that the result of a search can be compared with the
truth (:mod:`bowfree.datasets.greenhouse`). `load_sachs` loads the protein data of the paper
(:mod:`bowfree.datasets.sachs`). Each table is a `Table`: a mapping from names to columns, which
every function accepts as ``data``.
"""

from bowfree.data.frames import Table
from bowfree.datasets.files import read_covariance, read_table
from bowfree.datasets.greenhouse import demo_model, load_demo
from bowfree.datasets.sachs import SACHS_CONDITIONS, SachsCondition, load_sachs
from bowfree.datasets.tables import write_table

__all__ = [
    "SACHS_CONDITIONS",
    "SachsCondition",
    "Table",
    "demo_model",
    "load_demo",
    "load_sachs",
    "read_covariance",
    "read_table",
    "write_table",
]
