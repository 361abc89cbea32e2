"""Data of several conditions: tables or covariance matrices, each with its targets.

Every function that takes data accepts a list of :class:`Condition`, as in
``bf.fit(graph, [control, treated])``. :func:`conditions` splits a table by a column that names the
condition of each row. Both become :class:`bowfree.data.JointMoments`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeGuard, cast, get_args

import numpy as np

from bowfree.data.covariance import (
    LARGEST,
    SMALLEST,
    check_ddof,
    check_scale,
    missing_values,
    read_covariance,
)
from bowfree.data.frames import quoted, read_observations, split_table
from bowfree.data.joint_moments import ConditionMoments, JointMoments
from bowfree.data.moments import Moments
from bowfree.data.sample import CompleteRows, Floats, cross_products
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parameters import Kind, Means, public
from bowfree.results.display import TextDisplay, count
from bowfree.text_reading import short_repr
from bowfree.validation import check_choice, check_fraction


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
    if isinstance(given, str) and given == "learn":
        return "learn"
    if isinstance(given, str):
        raise DataError(
            f"targets = {short_repr(given)}: must be a list of names, such as [{short_repr(given)}]"
        )
    try:
        targets = tuple(given)
    except TypeError:
        targets = (None,)
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
    columns, named = _columns_of(frame), cast(Any, column)
    if not isinstance(named, str) or named not in columns:
        raise DataError(
            f"column = {short_repr(column)}: the frame has no such column, only "
            f"{quoted(list(columns))}"
        )
    if targets is not None and not isinstance(targets, Mapping):
        raise DataError(
            f"targets = {short_repr(targets)}: must be a mapping from conditions to lists of variables, "
            "such as {'inhibitor': ['akt']}"
        )
    labels = [_label(value) for value in columns[column]]
    empty = labels.count(None)
    if empty:
        raise DataError(
            f"column {column!r} has {count(empty, 'missing value')}, the first in row "
            f"{labels.index(None)}: every row needs a condition"
        )
    chosen = {_label(name): names for name, names in (targets or {}).items()}
    kinds = {_label(name): word for name, word in kind.items()} if isinstance(kind, Mapping) else {}
    for what, named in (("targets", chosen), ("kind", kinds)):
        unknown = [name for name in named if name not in labels]
        if unknown:
            raise DataError(
                f"{what}: no condition {quoted([str(name) for name in unknown])} in column {column!r}, "
                f"only {quoted(sorted({str(label) for label in labels}))}"
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
    """Return the columns of a data frame or a mapping."""
    import narwhals as nw

    if isinstance(frame, Mapping):
        return dict(frame)
    try:
        table = nw.from_native(frame, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise DataError("frame has two columns of the same name: rename one") from error
    if not isinstance(table, nw.DataFrame):
        raise DataError(
            f"frame is of type {type(frame).__name__}: must be a data frame or a mapping from names to "
            "columns"
        )
    # By index, because a name may be any object.
    return {name: table[:, k].to_numpy() for k, name in enumerate(table.columns)}


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


def read_conditions(
    given: Sequence[Condition],
    graph: MixedGraph | None,
    means: Means = "free",
    *,
    listwise: bool = False,
) -> JointMoments:
    """Return the moments of several conditions, or of one with targets.

    With `listwise`, rows with missing values are dropped.
    """
    if any(condition.unknown for condition in given):
        raise DataError(
            "targets='learn' can be used in greedy_search only; the moments of its result have the "
            "targets that it found"
        )
    names = [c.name if c.name is not None else str(k + 1) for k, c in enumerate(given)]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise DataError(f"two conditions are named {quoted(twice)}: rename one")
    found: list[ConditionMoments] = []
    notes: list[str] = []
    for name, condition in zip(names, given, strict=True):
        try:
            read = _read(condition, name, graph, notes if listwise else None)
        except DataError as error:
            raise DataError(f"condition {name!r}: {error}") from None
        if found and read.names != found[0].names:
            if set(read.names) == set(found[0].names):
                read = read._take([read.names.index(v) for v in found[0].names])
            else:
                odd = sorted(set(read.names) ^ set(found[0].names))
                raise DataError(
                    f"conditions {found[0].name!r} and {name!r} have different columns "
                    f"({quoted(odd)}): select the same columns"
                )
        found.append(read)
    moments = JointMoments(found, means=means, notes=tuple(notes))
    moments._check(graph)
    return moments


def known_targets(data: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the data without unknown targets, and the indices of conditions that had them."""
    if not are_conditions(data):
        return data, ()
    given = listed_conditions(data)
    unknown = tuple(k for k, condition in enumerate(given) if condition.unknown)
    if unknown and len(given) == 1:
        raise DataError("targets='learn' needs several conditions, to compare them")
    return [replace(c, targets=()) if c.unknown else c for c in given], unknown


def _read(
    condition: Condition, name: str, graph: MixedGraph | None, dropped: list[str] | None
) -> ConditionMoments:
    """Return the moments of one condition; perfect targets may be constant, and rows may be few.

    If `dropped` is a list, rows with missing values are dropped, and it receives a note on them.
    """
    if isinstance(condition.data, Moments):
        return _of_moments(condition, condition.data, name, graph)
    if condition.cov is not None:
        names, S, n = _read_cov(condition, graph)
        _check_targets(condition.known, names)
        return ConditionMoments(name, names, n, S, condition.known, kind=condition.kind)
    names, X = read_observations(condition.data, graph, "data")
    _check_targets(condition.known, names)
    incomplete = np.isnan(X).any(axis=1)
    if dropped is not None and incomplete.any():
        some = np.count_nonzero(incomplete)
        dropped.append(
            f"condition {name!r}: {some} of {len(X)} rows with missing values were dropped"
        )
        X = X[~incomplete]
    if len(X) < 2:
        raise DataError(f"n = {len(X)}: a condition needs at least 2 rows (observations in rows)")
    if not np.isfinite(X).all():
        raise DataError(
            str(missing_values(names, X, "cell")).split(": ")[0]
            + ": rows of several conditions must be complete; missing='listwise' drops the others"
        )
    low, high = X.min(axis=0), X.max(axis=0)
    constant = low == high
    may_be = condition.known if condition.kind == "perfect" else ()
    wrong = [names[i] for i in np.flatnonzero(constant) if names[i] not in may_be]
    if wrong:
        raise DataError(
            f"constant column {quoted(wrong)}: if it was held fixed, add it to `targets` "
            "(kind='perfect'); else drop it, it has no variance to explain"
        )
    size = np.maximum(-low, high)
    if size.max() > LARGEST:
        check_scale(names, size, "values up to")
    mean = X.mean(axis=0)
    deviations = np.where(constant, 0.0, X - mean)
    S = cross_products(deviations, deviations) / len(X)
    if np.diag(S)[~constant].min(initial=np.inf) < SMALLEST**2:
        check_scale(names, np.where(constant, 1.0, size), "values up to")
    return ConditionMoments(
        name, names, float(len(X)), S, condition.known, mean, deviations, condition.kind
    )


def _of_moments(
    condition: Condition, moments: Moments, name: str, graph: MixedGraph | None
) -> ConditionMoments:
    if isinstance(moments, JointMoments):
        raise DataError("its data are several conditions: pass these in place of it")
    taken = moments if graph is None else moments.take(graph.nodes)
    _check_targets(condition.known, taken.names)
    if not taken.plain or taken.n == np.inf:
        raise DataError("moments of several conditions must be those of complete unweighted rows")
    rows = taken.sample.deviations if isinstance(taken.sample, CompleteRows) else None
    return ConditionMoments(
        name, taken.names, taken.n, taken.S, condition.known, taken.mean, rows, condition.kind
    )


def _read_cov(
    condition: Condition, graph: MixedGraph | None
) -> tuple[tuple[str, ...], Floats, float]:
    """Return names, covariance matrix and n; perfect targets may have variance zero."""
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
        part = C  # raises the error about its shape
    _, block, n = read_covariance(part, condition.n, condition.ddof, nodes)
    if n == np.inf:
        raise DataError("n = inf: several conditions need their numbers of observations")
    S = np.zeros_like(C, dtype=float)
    S[np.ix_(kept, kept)] = block
    return names, S, n


def _check_targets(targets: Sequence[str], names: Sequence[str]) -> None:
    unknown = [name for name in targets if name not in names]
    if unknown:
        raise DataError(f"targets: no variable {quoted(unknown)}; there are {quoted(names)}")


def split_rows(data: Any, part: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return two tables of the given type: the rows to keep, and a random `part` as holdout.

    Conditions are split one by one.
    """
    check_fraction("holdout", part)
    if not are_conditions(data):
        return split_table(data, part, rng)
    halves = [(c, *split_table(c.data, part, rng)) for c in listed_conditions(data)]
    kept = [replace(condition, data=rows) for condition, rows, _ in halves]
    return kept, [replace(condition, data=rows) for condition, _, rows in halves]
