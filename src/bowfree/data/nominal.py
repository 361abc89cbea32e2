"""Nominal variables: unordered categories, each variable one node of the graph.

A variable with two categories is a column of zeros and ones. One with k categories is a *block* of
k - 1 indicator columns. An edge between two nodes connects all of their columns, and the errors of
the columns of a block are correlated, so that a graph of nodes is a BAP of columns
(:meth:`BlockMoments.expand`). Its score does not depend on the reference category. For causes the
model is exact. As an effect, a nominal variable is treated as if its indicators were normal: the
degenerate Gaussian score.

References
----------
B. Andrews, J. Ramsey, G. F. Cooper, Learning high-dimensional directed acyclic graphs with mixed
data-types, *PMLR* 104 (2019).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from bowfree.data import frames
from bowfree.data.frames import BOOLEAN, MOST_CATEGORIES, quoted
from bowfree.data.moments import Moments
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parameters import Method
from bowfree.results.display import Table, count
from bowfree.text_reading import join_names

Floats = npt.NDArray[np.float64]
Blocks = dict[str, tuple[str, ...]]
"""The columns of each node."""


def to_indicators(
    table: frames.Table, nominal: Sequence[str]
) -> tuple[Blocks, frames.Table, tuple[str, ...]]:
    """Return the columns of each node, their values, and notes on the categories.

    Columns that were read from text are numbered and have labels; the labels of others are their
    numbers.
    """
    blocks: Blocks = {}
    columns, notes = [], []
    for name, column in zip(table.names, table.X.T, strict=True):
        if name not in nominal:
            blocks[name] = (name,)
            columns.append(column)
            continue
        observed = ~np.isnan(column)
        values = np.unique(column[observed]).tolist()
        if len(values) > MOST_CATEGORIES:
            raise DataError(
                f"nominal column {name!r} has {len(values)} categories, at most {MOST_CATEGORIES} are "
                "allowed: drop it, or merge categories"
            )
        labels = [f"{v:g}" for v in values]
        if name in table.categories:
            keys = _sort_keys([table.categories[name][int(v)] for v in values])
            values = [value for _, value in sorted(zip(keys, values, strict=True))]
            labels = [label for _, label in sorted(keys)]
        found = [np.where(observed, column == value, np.nan) for value in values[1:]]
        if len(found) < 2:
            blocks[name] = (name,)
            columns.append(found[0] if found else column * 0.0)
            if found:
                notes.append(f"values 1 and 0 of {name} are {labels[1]} and {labels[0]}")
            continue
        blocks[name] = tuple(f"{name}={label}" for label in labels[1:])
        columns += found
        notes.append(
            f"categories of {name}: {join_names(labels)}; effects are relative to {labels[0]}; as an "
            f"effect, {name} is scored as if its indicators were normal"
        )
    listed = [column for block in blocks.values() for column in block]
    twice = sorted({column for column in listed if listed.count(column) > 1})
    if twice:
        raise DataError(f"a category and a column are both named {quoted(twice)}: rename one")
    X = np.column_stack(columns)
    return blocks, frames.Table(tuple(listed), X, clusters=table.clusters), tuple(notes)


def _sort_keys(labels: list[str]) -> list[tuple[float, str]]:
    """Return keys to sort by: numbers, if all are, written in a short form, or the labels."""
    try:
        numbers = [float(label) for label in labels]
    except ValueError:
        numbers = []
    short = {f"{number:g}" for number in numbers if math.isfinite(number)}
    if len(short) < len(labels):
        return [(0.0, label) for label in labels]
    return [(number, f"{number:g}") for number in numbers]


def boolean_note(
    names: Sequence[str], categories: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Return a note on the columns of True and False."""
    found = [name for name in names if categories.get(name) is BOOLEAN]
    return (f"True and False are 1 and 0 in {join_names(found)}",) if found else ()


class BlockMoments(Moments):
    """Moments of a table with nominal variables of three or more categories.

    :func:`bowfree.moments` makes them. Searches, chains and classes have graphs of the variables.
    Fits, bounds, averages and bootstrap intervals have an effect for each column: that of a
    category relative to the reference category, or on the probability of a category.

    Attributes
    ----------
    names : tuple of str
        The variables, which are the nodes of graphs.
    columns : Moments
        The moments of the columns, nominal variables being replaced by their indicators.
    blocks : dict of str to tuple of str
        The columns of each variable.
    """

    columns: Moments
    blocks: Blocks

    def __init__(self, columns: Moments, blocks: Mapping[str, Sequence[str]]) -> None:
        vars(self).update(
            names=tuple(blocks),
            n=columns.n,
            mean=None,
            n_rows=columns.n_rows,
            notes=columns.notes,
            sample=None,
            columns=columns,
            blocks={name: tuple(block) for name, block in blocks.items()},
        )

    def expand(self, graph: MixedGraph) -> MixedGraph:
        """Return the graph of the columns that a graph of the variables stands for.

        Examples
        --------
        >>> import bowfree as bf
        >>> data = {"x": [1.0, 2.0, 4.0, 3.0, 0.0, 2.0], "team": ["a", "b", "c", "c", "b", "a"]}
        >>> m = bf.moments(data, nominal=["team"])
        >>> print(m.expand(bf.parse("team -> x")))
        team=b <-> team=c -> x <- team=b
        """

        def pairs(edges: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
            of = self.blocks
            return [(a, b) for one, other in edges for a in of[one] for b in of[other]]

        nodes = [column for name in graph.nodes for column in self.blocks[name]]
        within = [
            (a, b) for block in self.blocks.values() for k, b in enumerate(block) for a in block[:k]
        ]
        within = [pair for pair in within if pair[0] in nodes]
        return MixedGraph(nodes, pairs(graph.directed), [*within, *pairs(graph.bidirected)])

    @property
    def sizes(self) -> list[int]:
        """The number of columns of each variable."""
        return [len(block) for block in self.blocks.values()]

    def node(self, column: str) -> str:
        """Return the variable that a column belongs to."""
        return next(name for name, block in self.blocks.items() if column in block)

    def extra_parameters(self) -> npt.NDArray[np.intp]:
        """Return the number of parameters of an edge between two variables beyond one, (d, d)."""
        return np.outer(self.sizes, self.sizes) - 1

    def refuse(self) -> NoReturn:
        """Raise an error: a function does not support blocks."""
        several = [name for name, block in self.blocks.items() if len(block) > 1]
        raise DataError(
            f"nominal variables with three or more categories ({join_names(several)}) are supported "
            "in searches, scores, fits, bounds, averages and bootstrap only; merge categories until "
            "there are two, or leave the variable out"
        )

    @property
    def S(self) -> Floats:
        """There is no covariance matrix of the variables; see `columns`."""
        self.refuse()

    @property
    def variances(self) -> Floats:
        """As `S`."""
        self.refuse()

    @property
    def definite(self) -> bool:
        """Whether the covariance matrix of the columns is positive definite."""
        return self.columns.definite

    @property
    def _n_distinct(self) -> float:
        return self.columns._n_distinct

    def take(self, names: Sequence[str]) -> Moments:
        """Return the moments of some of the variables, in the given order."""
        blocks = {self.names[k]: self.blocks[self.names[k]] for k in self._positions(names)}
        columns = self.columns.take([column for block in blocks.values() for column in block])
        return made_of(columns, blocks)

    def _core_data(self, method: Method = "newton") -> Any:
        self.refuse()

    def _numbers(self) -> tuple[Floats, ...]:
        return (self.columns.S, np.array(self.sizes, dtype=np.float64))

    def _same_as(self, other: Moments) -> bool:
        columns = other.columns if isinstance(other, BlockMoments) else other
        return self.columns._same_as(columns)

    def without_rows(self) -> Moments:
        """Return the moments without the rows, which takes less memory."""
        return BlockMoments(self.columns.without_rows(), self.blocks)

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with the mean and standard deviation of each column.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Library of the data frame.
        """
        return self.columns.to_frame(backend)

    def to_dict(self) -> dict[str, Any]:
        """Return the moments of the columns as a dictionary, with the columns of each variable."""
        blocks = {name: list(block) for name, block in self.blocks.items()}
        return self.columns.to_dict() | {"blocks": blocks}

    def _headline(self) -> str:
        n_columns, variables = len(self.columns.names), count(len(self.names), "variable")
        described = f"{variables} ({n_columns} columns)"
        return self.columns._headline().replace(count(n_columns, "variable"), described)

    def _sections(self, most: int = 12) -> Iterable[str | Table]:  # type: ignore[override]
        return self.columns._sections(most)


def made_of(columns: Moments, blocks: Mapping[str, Sequence[str]]) -> Moments:
    """Return moments of variables, as blocks of columns if one has several."""
    several = any(len(block) > 1 for block in blocks.values())
    return BlockMoments(columns, blocks) if several else columns


def split_blocks(moments: Moments) -> tuple[Moments, list[int]]:
    """Return the moments of the columns, and the number of columns of each block, if any."""
    if isinstance(moments, BlockMoments):
        return moments.columns, moments.sizes
    return moments, []


def with_columns(moments: Moments, columns: Moments) -> Moments:
    """Return moments of the same variables with other moments of their columns."""
    return BlockMoments(columns, moments.blocks) if isinstance(moments, BlockMoments) else columns


def to_columns(graph: MixedGraph, moments: Moments) -> tuple[MixedGraph, Moments]:
    """Return a graph and moments of columns, in which nominal variables are indicators."""
    if isinstance(moments, BlockMoments):
        return moments.expand(graph), moments.columns
    return graph, moments
