"""Columns that are probably not what a model of continuous variables is meant for.

A column of row numbers is learned like any other: sorted data make it a cause or an effect of
everything, with the firmest of standard errors. A column with few values is a category, and its
numbers are labels or ranks. Neither can be known for sure, so both are said and not refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.data.conditions import are_conditions, rows_of_conditions
from bowfree.data.frames import Observations
from bowfree.data.streaming import Sums
from bowfree.errors import DataWarning, warn
from bowfree.text_reading import join_names, short_repr

Floats = npt.NDArray[np.float64]

# With fewer rows, whole numbers in rising order are no surprise, nor are few different values.
_ENOUGH = 30
_FEW = 6
_MOST = 6  # names in the words of an option

InWords = Callable[[Sequence[str]], str]


def odd_columns(names: Sequence[str], X: Floats) -> dict[str, list[str]]:
    """Return the columns that look like identifiers, have few values, or none but one.

    Parameters
    ----------
    names : sequence of str
        The columns.
    X : ndarray of shape (n, d)
        Observations in rows; NaN is missing.

    Returns
    -------
    dict
        Names by "identifier", "few values" and "constant".

    Examples
    --------
    >>> import numpy as np
    >>> from bowfree.data.column_checks import odd_columns
    >>> rows = np.arange(40.0)
    >>> odd_columns(["id", "sex", "height"], np.column_stack([rows, rows % 2, np.sin(rows)]))
    {'identifier': ['id'], 'few values': ['sex']}
    """
    found: dict[str, list[str]] = {}
    for name, column in zip(names, X.T, strict=True):
        there = column[~np.isnan(column)]
        if not len(there):
            continue
        if there.min() == there.max():
            found.setdefault("constant", []).append(name)
        elif len(there) < _ENOUGH:
            continue
        elif _counts_rows(there):
            found.setdefault("identifier", []).append(name)
        # The first rows tell most columns of measurements apart, without sorting all of them.
        elif len(np.unique(there[:1000])) <= _FEW and len(np.unique(there)) <= _FEW:
            found.setdefault("few values", []).append(name)
    return found


def _counts_rows(column: Floats) -> bool:
    """Tell whether whole numbers rise from row to row, or are 1 to n in some order."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not (column == np.round(column)).all():
            return False
        steps = np.diff(column)
    if (steps > 0).all():
        return True
    low, high = column.min(), column.max()
    return bool(high - low == len(column) - 1 and len(np.unique(column)) == len(column))


def sentences(odd: Mapping[str, Sequence[str]], *, drop: InWords, ordinal: InWords) -> list[str]:
    """Say what was found, and what to do about it.

    Parameters
    ----------
    odd : mapping
        What `odd_columns` returns.
    drop, ordinal : callable
        How the user leaves out columns, or declares them to be ordered categories, given their
        names.
    """
    said = []
    if ids := odd.get("identifier"):
        it, _ = _pronouns(ids)
        looks = "looks" if len(ids) == 1 else "look"
        said.append(
            f"{_columns(ids)} {looks} like row numbers or identifiers (whole numbers that count "
            f"the rows), which a model takes for measurements; to leave {it} out: {drop(ids)}"
        )
    if few := odd.get("few values"):
        it, has = _pronouns(few)
        said.append(
            f"{_columns(few)} {has} no more than {_FEW} different values, and the model is for "
            f"measurements; for ordered categories: {ordinal(few)}; to leave {it} out: {drop(few)}"
        )
    return said


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {join_names(names)}"


def _pronouns(names: Sequence[str]) -> tuple[str, str]:
    return ("it", "has") if len(names) == 1 else ("them", "have")


def warn_about_columns(data: Any, *, declared: Sequence[str] = ()) -> None:
    """Warn of identifiers and few values in a table that has been read; moments have no rows.

    Of a table in pieces the first rows are looked at. Nothing is said of columns that are
    `declared` to be categories, here or by their data frame.
    """
    found: dict[str, list[str]] = {}
    for names, X, categories in _tables(data):
        numbers = [k for k, name in enumerate(names) if name not in {*categories, *declared}]
        for what, odd in odd_columns([names[k] for k in numbers], X[:, numbers]).items():
            found[what] = list(dict.fromkeys([*found.get(what, []), *odd]))
    words = sentences(
        found, drop=lambda names: f"data.drop(columns={_as_list(names)})", ordinal=in_python
    )
    for sentence in words:
        warn(sentence, DataWarning)


def in_python(names: Sequence[str]) -> str:
    """Return the argument that declares categories."""
    return f"ordinal={_as_list(names)}"


def _as_list(names: Sequence[str]) -> str:
    """Return names as Python writes a list, a long one cut short."""
    more = ["..."] if len(names) > _MOST else []
    return f"[{', '.join([*map(short_repr, names[:_MOST]), *more])}]"


def _tables(data: Any) -> Iterator[tuple[Sequence[str], Floats, Collection[str]]]:
    """Yield names, rows and categories of each table: one, or those of several conditions."""
    if are_conditions(data):
        for names, X in rows_of_conditions(data):
            yield names, X, ()
    elif isinstance(data, Observations):
        yield data.names, data.values, data.categories
    elif isinstance(data, Sums):
        yield data.names, data.head, ()
