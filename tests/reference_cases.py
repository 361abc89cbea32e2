"""The frozen answers of R in ``tests/reference`` as graphs and arrays."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np

import bowfree as bf

FOLDER = Path(__file__).parent / "reference"


@cache
def load(name):
    """Return the content of one of the JSON files."""
    return json.loads((FOLDER / name).read_text())


def fits(wanted=lambda case: True):
    """Return the cases of fits.json for which `wanted` holds."""
    return [case for case in load("fits.json")["cases"] if wanted(case)]


def graph_of(case, d):
    """Return the graph of a case on nodes x0, x1, ..."""
    names = [f"x{i}" for i in range(d)]
    directed, bidirected = (
        [(names[i], names[j]) for i, j in case[kind]] for kind in ("directed", "bidirected")
    )
    return bf.MixedGraph(names, directed=directed, bidirected=bidirected)


def conditions_of(case):
    """Return the conditions of a case of conditions.json."""
    return [
        bf.Condition(
            cov=matrix(given["S"]),
            n=given["n"],
            ddof=0,
            targets=[f"x{t}" for t in given["targets"]],
        )
        for given in case["conditions"]
    ]


def case_id(case):
    """Name a case in pytest's output."""
    return case["id"]


def matrix(rows):
    """Return a list of rows as floats (the files write whole numbers without a point)."""
    return np.array(rows, dtype=float)
