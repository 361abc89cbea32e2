"""Data of several conditions: tables or covariance matrices, each with its targets.

Every function that takes data accepts a list of :class:`Condition`, as in
``bf.fit(graph, [control, treated])``. :func:`conditions` splits a table by a column that names the
condition of each row. Both become :class:`bowfree.data.JointMoments`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeGuard, get_args

import numpy as np

from bowfree.data.covariance import check_ddof
from bowfree.data.frames import quoted, split_table, take_column
from bowfree.errors import DataError
from bowfree.parameters import Kind, public
from bowfree.results.display import TextDisplay, count
from bowfree.text_reading import short_repr
from bowfree.validation import as_list, check_choice, check_fraction


@dataclass(frozen=True, eq=False, repr=False)
class Condition(TextDisplay):
    """Data of one condition: a batch, an experiment, an intervention.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame or mapping of names to columns, optional
        Observations in rows.
    cov, n, ddof
        A covariance matrix in place of `data`, as for :func:`bowfree.moments`.
    targets : sequence of str or "learn"
        The variables intervened on in this condition. If they are unknown, "learn" makes
        :func:`bowfree.greedy_search` estimate them.
    kind : {"perfect", "mechanism", "activity", "noise"}
        What the intervention does to its targets. "perfect" sets them: all edges into them are
        removed, and they have a variance of their own, or are constant. "mechanism" changes their
        coefficients, error variances and error covariances. "activity" changes the coefficients of
        the edges out of them. "noise" changes their error variances. Conditions may be of different
        kinds.
    name : str, optional
        Name of the condition in tables and messages; by default its number.

    Examples
    --------
    >>> import bowfree as bf
    >>> control = bf.Condition({"x": [1.0, 2.0, 4.0], "y": [2.0, 1.0, 5.0]}, name="control")
    >>> drug = bf.Condition({"x": [5.0, 7.0, 6.0], "y": [1.0, 2.0, 9.0]}, targets=["x"])
    >>> control, drug
    (<Condition: control, no targets>, <Condition: targets x>)
    """

    data: Any = None
    cov: Any = None
    n: float | None = None
    ddof: int = 1
    targets: tuple[str, ...] | Literal["learn"] = ()
    kind: Kind = "perfect"
    name: str | None = None

    def __post_init__(self) -> None:
        if (self.data is None) == (self.cov is None):
            what = "both were given" if self.cov is not None else "neither was given"
            raise DataError(f"{what}: pass either `data`, or `cov` with `n`")
        if self.data is not None and self.n is not None:
            raise DataError(
                f"n = {short_repr(self.n)}: cannot be combined with `data`; omit it, n is the number "
                "of rows"
            )
        check_ddof(self.ddof)
        object.__setattr__(self, "targets", _read_targets(self.targets))
        check_choice("kind", self.kind, get_args(Kind), DataError)
        if self.name is not None and not isinstance(self.name, str):
            raise DataError(f"name = {short_repr(self.name)}: must be a string")

    @property
    def unknown(self) -> bool:
        """Whether the targets are to be learned."""
        return self.targets == "learn"

    @property
    def known(self) -> tuple[str, ...]:
        """The targets, empty if they are to be learned."""
        return () if self.targets == "learn" else self.targets

    def _headline(self) -> str:
        described = "no targets"
        if self.targets:
            described = "targets unknown" if self.unknown else f"targets {', '.join(self.targets)}"
        return described if self.name is None else f"{self.name}, {described}"


def _read_targets(given: Any) -> tuple[str, ...] | Literal["learn"]:
    if isinstance(given, str):
        if given == "learn":
            return "learn"
        raise DataError(
            f"targets = {short_repr(given)}: must be a list of names, such as [{short_repr(given)}]"
        )
    targets = tuple(as_list("targets", given, "names", DataError))
    if not all(isinstance(name, str) for name in targets):
        raise DataError(f"targets = {short_repr(given)}: must be a list of names")
    if len(set(targets)) < len(targets):
        raise DataError(f"targets = {short_repr(given)}: a variable is listed twice")
    return targets


@public
def conditions(
    frame: Any,
    *,
    column: str,
    targets: Mapping[Any, Sequence[str] | Literal["learn"]] | None = None,
    kind: Kind | Mapping[Any, Kind] = "perfect",
) -> list[Condition]:
    """Split a table by a column that names the condition of each row.

    Parameters
    ----------
    frame : data frame or mapping of names to columns
        Observations of all conditions in rows.
    column : str
        The column with the names of the conditions, strings or numbers.
    targets : mapping, optional
        The variables intervened on, or "learn", by the name of the condition. Conditions that are
        not in it have no targets.
    kind : {"perfect", "mechanism", "activity", "noise"} or mapping
        What the interventions do to their targets, as for :class:`Condition`; or a mapping from
        names of conditions to kinds, "perfect" for those that are not in it.

    Returns
    -------
    list of Condition
        In the order of their first rows, without the column.

    Examples
    --------
    >>> import bowfree as bf
    >>> table = {
    ...     "batch": ["a", "a", "a", "b", "b", "b"],
    ...     "x": [1.0, 2.0, 4.0, 9.0, 8.0, 6.0],
    ...     "y": [2.0, 1.0, 5.0, 7.0, 9.0, 8.0],
    ... }
    >>> bf.conditions(table, column="batch", targets={"b": ["x"]})
    [<Condition: a, no targets>, <Condition: b, targets x>]
    """
    rest, values = take_column(frame, column, "column")
    if targets is not None and not isinstance(targets, Mapping):
        raise DataError(
            f"targets = {short_repr(targets)}: must be a mapping from conditions to lists of variables, "
            "such as {'inhibitor': ['akt']}"
        )
    labels = [_label(value) for value in values]
    empty = labels.count(None)
    if empty:
        raise DataError(
            f"column {column!r} has {count(empty, 'missing value')}, the first in row "
            f"{labels.index(None)}: every row needs a condition"
        )
    chosen = {_label(name): names for name, names in (targets or {}).items()}
    kinds = {_label(name): word for name, word in kind.items()} if isinstance(kind, Mapping) else {}
    for what, given in (("targets", chosen), ("kind", kinds)):
        unknown = [name for name in given if name not in labels]
        if unknown:
            raise DataError(
                f"{what}: no condition {quoted([str(name) for name in unknown])} in column {column!r}, "
                f"only {quoted(sorted({str(label) for label in labels}))}"
            )
    found = []
    for label in dict.fromkeys(labels):
        mask = np.array([other == label for other in labels])
        found.append(
            Condition(
                {name: np.asarray(values)[mask] for name, values in rest.items()},
                targets=chosen.get(label, ()),  # type: ignore[arg-type]  # checked there
                kind=kinds.get(label, "perfect") if isinstance(kind, Mapping) else kind,
                name=label,
            )
        )
    return found


def _label(value: Any) -> str | None:
    """Return the name of a condition as a string, None for a missing value."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, float | np.floating) and value == int(value):
        value = int(value)
    return str(value)


def are_conditions(data: Any) -> TypeGuard[Condition | Sequence[Condition]]:
    """Return whether data are a condition, or a list that contains one."""
    if isinstance(data, Condition):
        return True
    return isinstance(data, list | tuple) and any(isinstance(entry, Condition) for entry in data)


def listed_conditions(data: Condition | Sequence[Condition]) -> tuple[Condition, ...]:
    """Return conditions as a tuple; raise an error if the list contains anything else."""
    given = (data,) if isinstance(data, Condition) else tuple(data)
    for k, entry in enumerate(given):
        if not isinstance(entry, Condition):
            raise DataError(
                f"entry {k} of the data is of type {type(entry).__name__}, others are conditions: "
                "make it a condition, bf.Condition(rows)"
            )
    return given


def known_targets(data: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the data without unknown targets, and the indices of conditions that had them."""
    if not are_conditions(data):
        return data, ()
    given = listed_conditions(data)
    unknown = tuple(k for k, condition in enumerate(given) if condition.unknown)
    if unknown and len(given) == 1:
        raise DataError("targets='learn' needs several conditions, to compare them")
    return [replace(c, targets=()) if c.unknown else c for c in given], unknown


def split_rows(data: Any, part: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return the rows to keep, and a random `part` as holdout; conditions are split one by one."""
    check_fraction("holdout", part)
    if not are_conditions(data):
        return split_table(data, part, rng)
    halves = [(c, *split_table(c.data, part, rng)) for c in listed_conditions(data)]
    kept = [replace(condition, data=rows) for condition, rows, _ in halves]
    return kept, [replace(condition, data=rows) for condition, _, rows in halves]
