"""Conditions as the user gives them: tables or covariance matrices, each with its targets.

A list of :class:`Condition` stands wherever data stand, ``bf.fit(graph, [control, treated])``;
:func:`conditions` makes one of a table with a column that says which condition a row is from. The
gate (:mod:`bowfree.data.loader`) has them read here, and :class:`bowfree.JointMoments` come out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeGuard, cast, get_args

import numpy as np
import numpy.typing as npt

from bowfree.data.covariance import (
    LARGEST,
    SMALLEST,
    check_scale,
    missing_values,
    read_covariance,
)
from bowfree.data.frames import quoted, read_observations
from bowfree.data.joint_moments import ConditionMoments, JointMoments
from bowfree.data.moments import Moments
from bowfree.data.sample import CompleteRows
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parameters import Kind, Means
from bowfree.results.display import TextDisplay, count
from bowfree.text_reading import short_repr
from bowfree.validation import check_choice, is_number

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Condition(TextDisplay):
    """Data from one condition: a batch, an experiment, an intervention.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame or mapping of names to columns, optional
        Observations in rows.
    cov, n, ddof
        A covariance matrix in place of `data`, as for :func:`bowfree.moments`.
    targets : sequence of str or "learn"
        The variables that were intervened on in this condition. With "learn", which ones is not
        known, and :func:`bowfree.greedy_search` looks for them.
    kind : {"perfect", "mechanism", "activity", "noise"}
        What that did to them. "perfect": they were set from outside, lost every edge with a head at
        them, and vary by themselves or not at all. "mechanism": what acts on them acts otherwise
        here (their coefficients, error variance and error covariances are the condition's own).
        "activity": they act otherwise here (the coefficients of the edges out of them are its
        own). "noise": their error variance is its own. Conditions may be of different kinds.
    name : str, optional
        What the condition is called in tables and messages; by default its number.

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
            raise DataError(f"{what}: a condition has either `data`, or `cov` with `n`")
        if self.data is not None and self.n is not None:
            raise DataError(
                f"n = {short_repr(self.n)} was given with `data`: leave it out, n is the number of rows"
            )
        if not is_number(self.ddof) or self.ddof not in (0, 1):
            raise DataError(
                f"ddof = {short_repr(self.ddof)}: must be 1 (divisor n - 1) or 0 (divisor n)"
            )
        object.__setattr__(self, "targets", _read_targets(self.targets))
        check_choice("kind", self.kind, get_args(Kind), DataError)
        if self.name is not None and not isinstance(self.name, str):
            raise DataError(f"name = {short_repr(self.name)}: must be a text")

    @property
    def unknown(self) -> bool:
        """Whether the targets are to be learned."""
        return self.targets == "learn"

    @property
    def known(self) -> tuple[str, ...]:
        """The targets, as far as they are known."""
        return () if self.targets == "learn" else self.targets

    def _headline(self) -> str:
        told = "no targets"
        if self.targets:
            told = "targets unknown" if self.unknown else f"targets {', '.join(self.targets)}"
        return told if self.name is None else f"{self.name}, {told}"


def _read_targets(given: Any) -> tuple[str, ...] | Literal["learn"]:
    if isinstance(given, str) and given == "learn":
        return "learn"
    if isinstance(given, str):
        raise DataError(
            f"targets = {short_repr(given)}: give a list of names, such as [{short_repr(given)}]"
        )
    try:
        targets = tuple(given)
    except TypeError:
        targets = (None,)
    if not all(isinstance(name, str) for name in targets):
        raise DataError(f"targets = {short_repr(given)}: must be a list of names of variables")
    if len(set(targets)) < len(targets):
        raise DataError(f"targets = {short_repr(given)}: give each variable once")
    return targets


def conditions(
    frame: Any,
    *,
    column: str,
    targets: Mapping[Any, Sequence[str] | Literal["learn"]] | None = None,
    kind: Kind | Mapping[Any, Kind] = "perfect",
) -> list[Condition]:
    """Take a table apart by a column that says which condition a row is from.

    Parameters
    ----------
    frame : data frame or mapping of names to columns
        Observations in rows, with all conditions below each other.
    column : str
        The column of the condition's name, text or numbers.
    targets : mapping, optional
        From the names of conditions to the variables that were set from outside there, or "learn".
        Conditions that are not named have no targets.
    kind : {"perfect", "mechanism", "activity", "noise"} or mapping
        What was done to the targets, as for :class:`Condition`; or from the names of conditions to
        that, "perfect" for those that are not named.

    Returns
    -------
    list of Condition
        In the order of their first rows; the column itself is left out.

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
    columns, named = _columns_of(frame), cast(Any, column)
    if not isinstance(named, str) or named not in columns:
        raise DataError(
            f"column = {short_repr(column)}: no such column; there are {quoted(list(columns))}"
        )
    if targets is not None and not isinstance(targets, Mapping):
        raise DataError(
            f"targets = {short_repr(targets)}: must be a mapping from names of conditions to lists of "
            "variables, such as {'inhibitor': ['akt']}"
        )
    labels = [_label(value) for value in columns[column]]
    empty = labels.count(None)
    if empty:
        raise DataError(
            f"column {column!r} has {count(empty, 'gap')}, the first in row {labels.index(None)}: "
            "every row needs its condition"
        )
    chosen = {_label(name): names for name, names in (targets or {}).items()}
    kinds = {_label(name): word for name, word in kind.items()} if isinstance(kind, Mapping) else {}
    for what, named in (("targets", chosen), ("kind", kinds)):
        unknown = [name for name in named if name not in labels]
        if unknown:
            raise DataError(
                f"{what} has the condition {quoted([str(name) for name in unknown])}, which column "
                f"{column!r} has not; it has {quoted(sorted({str(label) for label in labels}))}"
            )
    rest = [name for name in columns if name != column]
    found = []
    for label in dict.fromkeys(labels):
        mask = np.array([other == label for other in labels])
        found.append(
            Condition(
                {name: np.asarray(columns[name])[mask] for name in rest},
                targets=chosen.get(label, ()),  # type: ignore[arg-type]  # checked there
                kind=kinds.get(label, "perfect") if isinstance(kind, Mapping) else kind,
                name=label,
            )
        )
    return found


def _columns_of(frame: Any) -> dict[str, Any]:
    """Return the columns of a data frame of any kind, or of a mapping."""
    import narwhals as nw

    if isinstance(frame, Mapping):
        return dict(frame)
    try:
        table = nw.from_native(frame, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise DataError("frame has two columns of one name: rename or drop one") from error
    if not isinstance(table, nw.DataFrame):
        raise DataError(
            f"frame is an object of type {type(frame).__name__}: a data frame or a mapping from "
            "names to columns is needed, one of which says the condition"
        )
    # By place, as a name may be any object.
    return {name: table[:, k].to_numpy() for k, name in enumerate(table.columns)}


def _label(value: Any) -> str | None:
    """Return the name of a condition as text, None for a gap."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, float | np.floating) and value == int(value):
        value = int(value)
    return str(value)


def are_conditions(data: Any) -> TypeGuard[Condition | Sequence[Condition]]:
    """Tell whether data are conditions: one, or a list with one among its entries."""
    if isinstance(data, Condition):
        return True
    return isinstance(data, list | tuple) and any(isinstance(entry, Condition) for entry in data)


def listed_conditions(data: Condition | Sequence[Condition]) -> tuple[Condition, ...]:
    """Return all of them, or raise when something else is among them."""
    given = (data,) if isinstance(data, Condition) else tuple(data)
    for k, entry in enumerate(given):
        if not isinstance(entry, Condition):
            raise DataError(
                f"entry {k} of the data is of type {type(entry).__name__}, beside conditions: make "
                "all of them conditions, bf.Condition(rows)"
            )
    return given


def read_conditions(
    given: Sequence[Condition], graph: MixedGraph | None, means: Means = "free"
) -> JointMoments:
    """Read several conditions, or one with targets."""
    if any(condition.unknown for condition in given):
        raise DataError(
            "targets='learn' is for greedy_search, which looks for them; the moments of its result "
            "have the targets that it found"
        )
    names = [c.name if c.name is not None else str(k + 1) for k, c in enumerate(given)]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise DataError(f"two conditions are called {quoted(twice)}: give each its own name")
    found: list[ConditionMoments] = []
    for name, condition in zip(names, given, strict=True):
        try:
            read = _read(condition, name, graph)
        except DataError as error:
            raise DataError(f"condition {name!r}: {error}") from None
        if found and read.names != found[0].names:
            if set(read.names) == set(found[0].names):
                read = read._take([read.names.index(v) for v in found[0].names])
            else:
                raise _other_columns(found[0], read)
        found.append(read)
    moments = JointMoments(found, means=means)
    moments._check(graph)
    return moments


def _other_columns(one: ConditionMoments, other: ConditionMoments) -> DataError:
    lacking = [name for name in one.names if name not in other.names]
    more = [name for name in other.names if name not in one.names]
    what = " and ".join(
        [f"has not {quoted(lacking)}"] * bool(lacking) + [f"has {quoted(more)}"] * bool(more)
    )
    return DataError(
        f"conditions with different columns: {other.name!r} {what}, unlike {one.name!r}; select "
        "the same columns in all of them"
    )


def known_targets(data: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the data with unknown targets left out, and the numbers of those conditions."""
    if not are_conditions(data):
        return data, ()
    given = listed_conditions(data)
    unknown = tuple(k for k, condition in enumerate(given) if condition.unknown)
    if unknown and len(given) == 1:
        raise DataError("targets='learn' in a single condition: there is none to compare it with")
    return [replace(c, targets=()) if c.unknown else c for c in given], unknown


def _read(condition: Condition, name: str, graph: MixedGraph | None) -> ConditionMoments:
    """Read one condition; a target may be constant there, and rows may be few."""
    if isinstance(condition.data, Moments):
        return _of_moments(condition, condition.data, name, graph)
    if condition.cov is not None:
        names, S, n = _read_cov(condition, graph)
        _check_targets(condition.known, names)
        return ConditionMoments(name, names, n, S, condition.known, kind=condition.kind)
    names, X = read_observations(condition.data, graph, "data")
    _check_targets(condition.known, names)
    if len(X) < 2:
        raise DataError(f"n = {len(X)}: a condition needs at least 2 rows (observations in rows)")
    if not np.isfinite(X).all():
        raise DataError(
            str(missing_values(names, X, "cell")).split(": ")[0]
            + ": with several conditions rows have to be complete; leave out rows with gaps"
        )
    low, high = X.min(axis=0), X.max(axis=0)
    constant = low == high
    _check_constant(names, constant, condition.known if condition.kind == "perfect" else ())
    size = np.maximum(-low, high)
    if size.max() > LARGEST:
        check_scale(names, size, "values up to")
    mean = X.mean(axis=0)
    deviations = np.where(constant, 0.0, X - mean)
    S = deviations.T @ deviations / len(X)
    if np.diag(S)[~constant].min(initial=np.inf) < SMALLEST**2:
        check_scale(names, np.where(constant, 1.0, size), "values no larger than")
    return ConditionMoments(
        name, names, float(len(X)), S, condition.known, mean, deviations, condition.kind
    )


def _of_moments(
    condition: Condition, moments: Moments, name: str, graph: MixedGraph | None
) -> ConditionMoments:
    if isinstance(moments, JointMoments):
        raise DataError("its data are several conditions already: give these themselves")
    taken = moments if graph is None else moments.take(graph.nodes)
    _check_targets(condition.known, taken.names)
    if not taken.plain or taken.n == np.inf:
        raise DataError("with several conditions moments have to be those of complete rows")
    rows = taken.sample.deviations if isinstance(taken.sample, CompleteRows) else None
    return ConditionMoments(
        name, taken.names, taken.n, taken.S, condition.known, taken.mean, rows, condition.kind
    )


def _read_cov(
    condition: Condition, graph: MixedGraph | None
) -> tuple[tuple[str, ...], Floats, float]:
    """Read a covariance matrix in which targets may have variance zero."""
    names, C = read_observations(condition.cov, graph, "cov")
    still = np.zeros(len(names), dtype=bool)
    if C.shape == (len(names), len(names)):
        may_be = condition.known if condition.kind == "perfect" else ()
        still = (np.diag(C) == 0) & np.array([name in may_be for name in names])
    if still.any() and np.abs(C[still]).max() > 0:
        i = int(np.flatnonzero(still)[0])
        raise DataError(f"cov has covariances of {names[i]!r}, whose variance is 0")
    kept = [k for k, constant in enumerate(still) if not constant]
    if not kept:
        raise DataError("all variables have variance 0")
    part, nodes = C[np.ix_(kept, kept)], MixedGraph([names[k] for k in kept])
    if C.shape[0] != C.shape[1]:
        part = C  # not square, which is said there
    _, block, n = read_covariance(part, condition.n, condition.ddof, nodes)
    if n == np.inf:
        raise DataError("n = inf: with several conditions each needs its number of observations")
    S = np.zeros_like(C, dtype=float)
    S[np.ix_(kept, kept)] = block
    return names, S, n


def _check_targets(targets: Sequence[str], names: Sequence[str]) -> None:
    unknown = [name for name in targets if name not in names]
    if unknown:
        raise DataError(
            f"targets has {quoted(unknown)}, which is no variable; there are {quoted(names)}"
        )


def _check_constant(
    names: Sequence[str], constant: npt.NDArray[np.bool_], targets: Sequence[str]
) -> None:
    still = [names[i] for i in map(int, np.flatnonzero(constant)) if names[i] not in targets]
    if still:
        raise DataError(
            f"constant column {quoted(still)}: if it was held fixed, name it in `targets` "
            "(kind='perfect'); else drop it, it has no variance to explain"
        )


def rows_of_conditions(data: Any) -> Iterator[tuple[tuple[str, ...], Floats]]:
    """Yield names and values of every condition that has rows, without its targets."""
    for condition in listed_conditions(data):
        if condition.data is None or isinstance(condition.data, Moments):
            continue
        names, X = read_observations(condition.data, None, "data")
        kept = [k for k, name in enumerate(names) if name not in condition.known]
        yield tuple(names[k] for k in kept), X[:, kept]
