"""Arrays of results are read-only, also after a copy."""

import copy
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from bowfree.results.frozen import Frozen


@dataclass(frozen=True, eq=False)
class Result(Frozen):
    matrix: Any
    by_name: Any
    pairs: Any


@dataclass(frozen=True, eq=False)
class Doubled(Frozen):
    values: Any

    def __post_init__(self):
        object.__setattr__(self, "values", 2.0 * self.values)
        super().__post_init__()


WAYS = {
    "made": lambda result: result,
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
    "pickled": lambda result: pickle.loads(pickle.dumps(result)),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_arrays_are_locked_and_unchanged(way):
    made = Result(np.eye(2), {"a": np.zeros(3)}, [(1, np.arange(2)), "text"])
    result = way(made)
    for array, before in [
        (result.matrix, np.eye(2)),
        (result.by_name["a"], np.zeros(3)),
        (result.pairs[0][1], np.arange(2)),
    ]:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 7
        np.testing.assert_array_equal(array, before)
    assert result.pairs[1] == "text"


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_class_with_its_own_post_init(way):
    result = way(Doubled(np.ones(2)))
    np.testing.assert_array_equal(result.values, [2.0, 2.0])  # and not doubled again
    assert not result.values.flags.writeable
