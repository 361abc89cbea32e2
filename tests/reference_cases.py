"""The frozen answers of R in ``tests/reference`` as graphs and arrays."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import bowfree as bf

FOLDER = Path(__file__).parent / "reference"

# lavaan's names of the indices and ours, and of those that depend on the test.
INDICES = {
    "chisq": "chi2",
    "df": "df",
    "pvalue": "p_value",
    "baseline.chisq": "baseline_chi2",
    "baseline.df": "baseline_df",
    "cfi": "cfi",
    "tli": "tli",
    "rmsea": "rmsea",
    "rmsea.ci.lower": "rmsea_lower",
    "rmsea.ci.upper": "rmsea_upper",
    "rmsea.pvalue": "rmsea_p_close",
    "srmr": "srmr",
}
SCALED = {
    "chisq.scaled": "chi2",
    "pvalue.scaled": "p_value",
    "chisq.scaling.factor": "scaling_factor",
    "baseline.chisq.scaled": "baseline_chi2",
    "cfi.robust": "cfi",
    "tli.robust": "tli",
    "rmsea.robust": "rmsea",
    "rmsea.ci.lower.robust": "rmsea_lower",
    "rmsea.ci.upper.robust": "rmsea_upper",
}


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


def check_measures(fit, answer, *, rel=1e-3, atol=1e-5):
    """Compare all indices of a fit with those that lavaan has."""
    for source, names in ((fit.indices, INDICES), (fit.scaled, SCALED)):
        for theirs, ours in names.items():
            if isinstance(answer.get(theirs), int | float):
                expected = pytest.approx(answer[theirs], rel=rel, abs=atol)
                assert getattr(source, ours) == expected, theirs
