"""The folder of the protein data, which are not part of the package.

Simulated data can replace them: files with the same names and columns.
"""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bowfree as bf
from bowfree.datasets import sachs

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

PROTEINS = (
    *("praf", "pmek", "plcg", "pip2", "pip3", "p44/42"),
    *("pakts473", "pka", "pkc", "p38", "pjnk"),
)


def write_stand_ins(folder, graphs, patch, *, n=400):
    """Simulate conditions: `graphs` has a text for each number. Returns the folder.

    All coefficients are 1, all error covariances 0.8. As long as `patch` lasts, the sums that
    `load_sachs` compares with are those of the simulated files.
    """
    known = list(sachs.SACHS_CONDITIONS)
    rng = np.random.default_rng(4)
    for number, text in graphs.items():
        graph = bf.MixedGraph(PROTEINS).add(text)
        index = {name: i for i, name in enumerate(PROTEINS)}
        B, Omega = np.zeros((11, 11)), np.eye(11)
        for a, b in graph.directed:
            B[index[b], index[a]] = 1.0
        for a, b in graph.bidirected:
            Omega[index[a], index[b]] = Omega[index[b], index[a]] = 0.8
        values = np.exp(bf.LinearSEM(graph, B, Omega).sample(n, rng=rng))
        rows = [",".join(PROTEINS), *(",".join(f"{x:g}" for x in row) for row in values)]
        content = ("\n".join(rows) + "\n").encode()
        condition = known[number - 1]
        (folder / condition.file).write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
        known[number - 1] = replace(condition, n=n, sha256=sha256)
    patch.setattr(sachs, "SACHS_CONDITIONS", tuple(known))
    return folder
