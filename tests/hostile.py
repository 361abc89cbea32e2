"""Invalid arguments for all functions, as hypothesis strategies.

`MAKERS` is a list of objects that have broken argument checks before: numbers beyond the range of
machine types, arrays without a truth value, strings with NUL, frames with two columns of one name,
iterators. `OBJECTS` draws from it and from other objects of hypothesis.
"""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st

import bowfree as bf

_NAMES = ["a", "b", "c"]

# Created anew for each call, because functions may exhaust or change them.
MAKERS = [
    # None, booleans, integers
    lambda: None,
    lambda: True,
    lambda: 0,
    lambda: -1,
    lambda: 2**64,
    lambda: 10**400,
    lambda: np.uint64(2**64 - 1),
    # other numbers
    lambda: -0.0,
    lambda: 0.5,
    lambda: math.nan,
    lambda: math.inf,
    lambda: 1e308,
    lambda: 5e-324,
    lambda: 1j,
    lambda: Decimal("1e9999"),
    lambda: Fraction(10**400, 3),
    lambda: np.datetime64("NaT"),
    lambda: datetime.date(2000, 1, 1),
    # strings and bytes
    lambda: "",
    lambda: "a",
    lambda: "a -> b",
    lambda: "nobody knows this word",
    lambda: "\0",
    lambda: "\ud800",
    lambda: "v" * 10_000,
    lambda: "{" * 2_000,
    lambda: b"\xff\xfe\0",
    lambda: memoryview(b"abc"),
    # collections
    list,
    lambda: [None],
    lambda: [[]],
    lambda: [1, 2, 3],
    lambda: ["a", "a"],
    lambda: ["a", 1],
    lambda: [("a", "b")],
    lambda: [("a", "->", "b")],
    lambda: ["a -> b", None],
    lambda: list(range(2_000)),
    lambda: [[1.0, 2.0], [3.0]],
    lambda: (),
    lambda: ("a", "b", "c"),
    dict,
    lambda: {"a": 1},
    lambda: {1: 2, None: 3},
    lambda: {"a": [1.0, 2.0], "b": [1.0]},
    lambda: {("a", "->", "b"): math.nan},
    lambda: {"nodes": 3, "directed": "x", "format": []},
    lambda: set(),
    lambda: {"a", 1},
    lambda: range(3),
    lambda: iter([]),
    lambda: (x for x in [1, "a", None]),
    lambda: zip("ab", "bc", strict=True),
    # other objects
    object,
    lambda: ...,
    lambda: len,
    lambda: lambda *args: None,
    lambda: type("Empty", (), {}),
    lambda: np,
    lambda: np.random.default_rng(1),
    # arrays
    lambda: np.zeros((0, 3)),
    lambda: np.zeros((3, 0)),
    lambda: np.array(1.0),
    lambda: np.eye(3),
    lambda: -np.eye(3),
    lambda: np.full((3, 3), np.nan),
    lambda: np.full((3, 3), 1e308),
    lambda: np.eye(3) * 5e-324,
    lambda: np.eye(3, dtype=complex),
    lambda: np.eye(3, dtype=np.uint8)[::-1],
    lambda: np.eye(3).astype(object),
    lambda: np.array([[None, "x"], [1, {}]], dtype=object),
    lambda: np.array([[10**400, 1], [1, 1]], dtype=object),
    lambda: np.zeros((2, 2), dtype="datetime64[s]"),
    lambda: np.zeros(3, dtype=[("a", "f8"), ("b", "U2")]),
    lambda: np.zeros((2, 2, 2)),
    lambda: np.ma.masked_all((3, 3)),
    # data frames
    lambda: pd.DataFrame(),
    lambda: pd.DataFrame(columns=_NAMES),
    lambda: pd.DataFrame(np.ones((4, 2)), columns=["a", "a"]),
    lambda: pd.DataFrame(np.eye(4)[:, :3], columns=[1, None, ("a", "b")]),
    lambda: pd.DataFrame(np.eye(4)[:, :2], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])),
    lambda: pd.DataFrame({"a": ["x", "y"], "b": [1, None], "c": [True, False]}),
    lambda: pd.DataFrame(
        {"a": pd.Categorical(["u", "v"]), "b": pd.to_datetime(["2000", "2001"]), "c": [1, 2]}
    ),
    lambda: pd.DataFrame(
        {name: pd.array([1, None, 3, 5], dtype="Int64") for name in _NAMES}, index=list("wxyz")
    ),
    lambda: pl.DataFrame({"a": [1, 2], "b": [[1], [2]], "c": ["x", None]}),
    lambda: pl.DataFrame({"a": [1.0, 2.0]}).lazy(),
    # graphs and results in place of other objects
    lambda: bf.MixedGraph([]),
    lambda: bf.parse("p -> q <-> r"),
    lambda: bf.parse("a -> b -> a, c"),
    lambda: bf.parse("a -> b <-> a, c"),
    lambda: [bf.parse("a -> b, c"), bf.parse("a -> b, d")],
    lambda: [bf.parse("a -> b, c"), None],
    lambda: bf.Knowledge(tiers=[["a"], ["zz"]]),
    lambda: bf.SearchSpace("dag", max_edges=0),
    lambda: bf.model.ScoringRule(),
]

_PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=8)
    | st.sampled_from(_NAMES),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(_NAMES), inner, max_size=3)
    ),
    max_leaves=6,
)

OBJECTS = st.sampled_from(MAKERS).map(lambda make: make()) | _PLAIN
