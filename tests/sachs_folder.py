"""Where the protein data are, if they are there at all: they are not part of the package."""

import os
from pathlib import Path

import pytest

_PLACES = [
    *([Path(os.environ["BOWFREE_DATA"])] if os.environ.get("BOWFREE_DATA") else []),
    Path(__file__).parents[2] / "shared",
]
SACHS = next(
    (place / "sachs" for place in _PLACES if (place / "sachs" / "13_pma.csv").is_file()), None
)
BENCH = next((place / "bench" for place in _PLACES if (place / "bench").is_dir()), None)

needs_sachs = pytest.mark.skipif(
    SACHS is None, reason="no protein data: set BOWFREE_DATA to the folder that holds sachs/"
)
needs_bench = pytest.mark.skipif(
    BENCH is None, reason="no benchmark data: set BOWFREE_DATA to the folder that holds bench/"
)
