"""Moments of several conditions: batches, experiments, interventions with known targets.

Each condition is a sample with its own mean. Its *targets* were intervened on. A "perfect"
intervention removes all edges into its targets, which then have a variance of their own. Other
kinds change the mechanism, the activity or the noise of their targets, so that some parameters
differ between conditions. All other entries of B and Omega are the same in all conditions and are
estimated from all of them.

Without targets, the pooled covariance matrix (about the means of the conditions) is sufficient, and
:class:`JointMoments` are like other moments. With targets no single matrix is sufficient;
`JointMoments.S` is then an error, and functions that support conditions use `_core_data`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.covariance import check_definite, is_definite
from bowfree.data.frames import quoted
from bowfree.data.moments import Moments
from bowfree.data.sample import Bools, CompleteRows, Floats, Indices, cross_products
from bowfree.errors import BowfreeError, DataError
from bowfree.graph.encodings import members
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parameters import Kind, Means, Method
from bowfree.results.display import Table, TextDisplay, count
from bowfree.results.frozen import Frozen, lock_arrays
from bowfree.results.rows import data_frame
from bowfree.results.serialization import ToDict
from bowfree.text_reading import join_names, short_repr
from bowfree.validation import as_list, check_choice

Use = Literal["absent", "shared", "own"]
"""Roles of a parameter in a condition, in the order of cpp/data/intervention_kinds.hpp."""

_USES: tuple[Use, ...] = get_args(Use)


@dataclass(frozen=True, eq=False, repr=False)
class ConditionMoments(TextDisplay, ToDict, Frozen):
    """The moments of one condition.

    Attributes
    ----------
    name : str
        Name of the condition.
    names : tuple of str
        The variables, in the order of the rows of `S`.
    n : float
        Number of observations.
    S : ndarray of shape (d, d)
        Covariance matrix about the mean of the condition, divisor n; zero for constant targets.
    targets : tuple of str
        The variables intervened on.
    mean : ndarray of shape (d,) or None
        Means of the columns; None for a covariance matrix.
    deviations : ndarray of shape (n, d) or None
        The rows minus their mean; None for a covariance matrix.
    kind : {"perfect", "mechanism", "activity", "noise"}
        What the intervention does to its targets.
    """

    name: str
    names: tuple[str, ...]
    n: float
    S: Floats
    targets: tuple[str, ...] = ()
    mean: Floats | None = None
    deviations: Floats | None = None
    kind: Kind = "perfect"

    @cached_property
    def is_target(self) -> Bools:
        """Which of the variables are targets."""
        return lock_arrays(np.array([name in self.targets for name in self.names], dtype=bool))

    @cached_property
    def varies(self) -> Bools:
        """Which of the variables vary; targets may be constant."""
        return lock_arrays(np.asarray(np.diag(self.S) > 0))

    def _take(self, order: Sequence[int]) -> ConditionMoments:
        """Return the moments of some of the variables, which must include all targets."""
        chosen = list(order)
        names = tuple(self.names[i] for i in chosen)
        if names == self.names:
            return self
        lost = [name for name in self.targets if name not in names]
        if lost:
            raise DataError(
                f"condition {self.name!r} has the target {quoted(lost)}, which affects the other "
                "variables: keep it, or drop the condition"
            )
        return replace(
            self,
            names=names,
            S=self.S[np.ix_(chosen, chosen)],
            mean=None if self.mean is None else self.mean[chosen],
            deviations=None if self.deviations is None else self.deviations[:, chosen],
        )

    def _of_rows(self, chosen: npt.NDArray[Any]) -> ConditionMoments:
        """Return the moments of some of the rows, about their own mean; not checked."""
        assert self.deviations is not None  # checked by the callers
        rows = self.deviations[chosen]
        shift = rows.mean(axis=0)
        rows = rows - shift
        S = cross_products(rows, rows) / len(rows)
        mean = None if self.mean is None else self.mean + shift
        return replace(self, n=float(len(rows)), S=S, mean=mean, deviations=rows)

    @cached_property
    def _uses(self) -> dict[str, npt.NDArray[np.uint8]]:
        """The use of each entry of B and Omega by number; the constant is the last variable."""
        target = np.append(self.is_target, False).astype(np.uint8)
        B, Omega = _core.parameter_uses(get_args(Kind).index(self.kind), target)
        return lock_arrays({"B": B, "Omega": Omega})

    def _use(self, parameter: tuple[str, int, int]) -> Use:
        """Return the role of an entry ("B" or "Omega", i, j) of the model in this condition."""
        what, i, j = parameter
        return _USES[int(self._uses[what][i, j])]

    def _content(self) -> Any:
        return {word: getattr(self, word) for word in ("name", "n", "targets", "kind", "mean", "S")}

    def _headline(self) -> str:
        targets = f"targets {', '.join(self.targets)}" if self.targets else "no targets"
        return f"{self.name}: {self.n:.0f} observations, {targets}"


class JointMoments(Moments):
    """Moments of several conditions, as :func:`bowfree.moments` computes them.

    Every function that takes data accepts them; functions that need a single covariance matrix
    raise an error if there are targets.

    Parameters
    ----------
    conditions : sequence of ConditionMoments
        The conditions, with the same variables in the same order.
    means : {"free", "shared"}
        Each condition has its own mean, or all conditions share their intercepts except where an
        intervention acts.

    Attributes
    ----------
    names, n, n_rows, notes
        As for :class:`bowfree.Moments`, of all conditions; `mean` is None.

    Examples
    --------
    >>> import bowfree as bf
    >>> control = bf.Condition(cov=[[1.0, 0.5], [0.5, 1.0]], n=100, name="control")
    >>> treated = bf.Condition(cov=[[1.0, 0.0], [0.0, 4.0]], n=50, targets=["x2"], name="treated")
    >>> bf.moments([control, treated])
    <JointMoments: 150 observations of 2 variables in 2 conditions, targets x2>
    """

    conditions: tuple[ConditionMoments, ...]
    means: Means

    def __init__(
        self,
        conditions: Sequence[ConditionMoments],
        *,
        means: Means = "free",
        notes: tuple[str, ...] = (),
    ) -> None:
        given = tuple(as_list("conditions", conditions, "ConditionMoments", DataError))
        if not given or not all(isinstance(c, ConditionMoments) for c in given):
            raise DataError(
                f"conditions = {short_repr(conditions)}: must be a list of ConditionMoments; see "
                "bowfree.moments for rows and covariance matrices"
            )
        check_choice("means", means, get_args(Means), DataError)
        for condition in given if means == "shared" else ():
            if condition.mean is None:
                raise DataError(
                    f"means = 'shared': condition {condition.name!r} has a covariance matrix and no "
                    "means; pass its rows, or use means='free'"
                )
            still = [name for k, name in enumerate(condition.names) if not condition.varies[k]]
            if still:
                raise DataError(
                    f"means = 'shared': {quoted(still)} was held constant in condition "
                    f"{condition.name!r}; use means='free'"
                )
        n = math.fsum(condition.n for condition in given)
        vars(self).update(
            names=given[0].names,
            n=n,
            mean=None,
            n_rows=n,
            notes=notes,
            sample=None,
            conditions=given,
            means=means,
        )

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kind of intervention of each condition; "perfect" for those without targets."""
        return tuple(c.kind if c.targets else "perfect" for c in self.conditions)

    @property
    def _alike(self) -> bool:
        """Whether B and Omega are the same in all conditions, except for perfect targets."""
        return all(kind == "perfect" for kind in self.kinds)

    @property
    def S(self) -> Floats:
        """Covariance matrix about the means of the conditions; raises an error if there are targets.

        With shared means, about the overall mean.
        """
        if self.targets:
            raise DataError(
                f"conditions with interventions (on {join_names(self.targets)}) have no common covariance "
                "matrix, which is needed here: pass one of the conditions, or those without targets"
            )
        return self._pooled

    @cached_property
    def definite(self) -> bool:
        """Whether the pooled covariance matrix is positive definite."""
        return self.n > len(self.names) or is_definite(self._pooled)

    @cached_property
    def _pooled(self) -> Floats:
        shares = [c.n / self.n for c in self.conditions]
        S = np.sum([share * c.S for share, c in zip(shares, self.conditions, strict=True)], axis=0)
        if self.means == "shared":
            shifts = [np.asarray(c.mean) - self._overall_mean for c in self.conditions]
            S = S + cross_products(np.array(shifts) * np.array(shares)[:, None], np.array(shifts))
        return lock_arrays(np.asarray(S))

    @cached_property
    def _overall_mean(self) -> Floats:
        mean: Floats = np.sum([c.n / self.n * np.asarray(c.mean) for c in self.conditions], axis=0)
        return mean

    def _mean(self, condition: ConditionMoments) -> Floats:
        """Return the mean of a condition, if means are shared minus the overall mean.

        Intercepts absorb any shift of the origin, except for `kind="activity"`, where a shift
        interacts with coefficients that differ. There the origin stays.
        """
        mean = np.asarray(condition.mean)
        return mean if "activity" in self.kinds else mean - self._overall_mean

    def _second_moments(self, condition: ConditionMoments) -> Floats:
        """Return S of a condition; with shared means second moments, the constant 1 last."""
        if self.means == "free":
            return condition.S
        m = self._mean(condition)
        return np.block([[condition.S + np.outer(m, m), m[:, None]], [m[None], np.ones((1, 1))]])

    @property
    def _has_rows(self) -> bool:
        return all(condition.deviations is not None for condition in self.conditions)

    def _one_table(self) -> Moments:
        """Return the rows of conditions without targets, minus the means that S is about."""
        rows = [
            c.deviations if self.means == "free" else c.deviations + self._mean(c)
            for c in self.conditions
            if c.deviations is not None
        ]
        sample = CompleteRows(np.concatenate(rows))
        return Moments._unchecked(self.names, self.S, self.n, None, sample, self.notes)

    @property
    def variances(self) -> Floats:
        """Variances about the means of the conditions."""
        return np.diag(self._pooled)

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """The targets of all conditions."""
        return tuple(name for name in self.names if any(name in c.targets for c in self.conditions))

    def _core_data(self, method: Method = "newton") -> Any:
        """Return the pooled matrix, or all conditions, in the form that the core takes."""
        if not self.targets:
            return np.ascontiguousarray(self.S)
        if method == "ricf":
            raise BowfreeError(
                "method='ricf' needs a single covariance matrix; omit it for conditions with targets"
            )
        return _core.JointData(
            np.stack([self._second_moments(c) for c in self.conditions]),
            [c.n / self.n for c in self.conditions],
            np.stack([c.is_target for c in self.conditions]).astype(np.uint8),
            [get_args(Kind).index(c.kind) for c in self.conditions],
            self.means == "shared",
        )

    def _set_objective(self) -> Floats:
        """Return the terms of the objective that belong to perfect targets, for any graph.

        Each variable has ``w (log s + 1)`` for each condition in which it was set, with w the share
        of the observations and s the variance there. A constant target has no density, so its
        ``log 2 pi`` is subtracted.
        """
        objective = np.zeros(len(self.names))
        for condition in self.conditions:
            if condition.kind == "perfect":
                for i in np.flatnonzero(condition.is_target):
                    s = condition.S[i, i]
                    own = math.log(s) + 1 if condition.varies[i] else -math.log(2 * math.pi)
                    objective[i] += condition.n / self.n * own
        return objective

    @cached_property
    def _own(self) -> tuple[Indices, Indices]:
        """In how many conditions an entry of B, and of Omega, is specific.

        The diagonal of the second has the number of variances and intercepts of a variable.
        """
        d = len(self.names)
        B, Omega, number = (np.zeros(shape, dtype=int) for shape in ((d, d), (d, d), d))
        for c in self.conditions:
            own = {what: use[:d] == _USES.index("own") for what, use in c._uses.items()}
            number += np.diag(own["Omega"]) & c.varies
            if self.means == "shared":
                number += c.is_target & c.varies if c.kind == "perfect" else own["B"][:, d]
            if c.kind != "perfect":
                B += own["B"][:, :d]
                Omega += own["Omega"][:, :d]
        np.fill_diagonal(Omega, number)
        return B, Omega

    def _own_numbers(self, graph: MixedGraph) -> Indices:
        """Return the number of specific parameters by variable, covariances at the first."""
        B, Omega = self._own
        number = np.diag(Omega).copy()
        if not self._alike:
            for i, (parents, spouses) in enumerate(
                zip(graph._parents, graph._spouses, strict=True)
            ):
                number[i] += B[i, list(members(parents))].sum()
                number[i] += Omega[i, list(members(spouses >> i << i))].sum()
        return number

    def _numbers(self) -> tuple[Floats, ...]:
        """Return the numbers that the likelihood depends on."""
        targets = np.array([c.is_target for c in self.conditions], dtype=float)
        sizes = np.array([c.n for c in self.conditions])
        kinds = np.array([float(get_args(Kind).index(kind)) for kind in self.kinds])
        return (*(self._second_moments(c) for c in self.conditions), sizes, targets, kinds)

    def take(self, names: Sequence[str]) -> JointMoments:
        """Return the moments of some of the variables, in the given order, with all targets."""
        order = self._positions(names)
        return self._like(condition._take(order) for condition in self.conditions)

    def without_rows(self) -> JointMoments:
        """Return the moments without the rows, which takes less memory."""
        return self._like(replace(condition, deviations=None) for condition in self.conditions)

    def _like(self, conditions: Iterable[ConditionMoments]) -> JointMoments:
        """Return the moments of other conditions, with the same `means`."""
        return JointMoments(tuple(conditions), means=self.means, notes=self.notes)

    def _with_targets(self, targets: Sequence[tuple[str, ...]]) -> JointMoments:
        """Return the same data with other targets; not checked."""
        return self._like(
            replace(c, targets=t) for c, t in zip(self.conditions, targets, strict=True)
        )

    def _of_rows(self, chosen: Sequence[npt.NDArray[Any]]) -> JointMoments:
        """Return the moments of some of the rows of each condition."""
        found = self._like(
            c._of_rows(rows) for c, rows in zip(self.conditions, chosen, strict=True)
        )
        for condition in found.conditions:
            still = condition.S.diagonal()[~condition.is_target] <= 0
            if still.any():
                raise DataError(f"condition {condition.name!r}: too few different rows")
        found._check(None)
        return found

    def _check(self, graph: MixedGraph | None) -> None:
        """Raise an error if a variable has no maximum in the conditions without it as a target."""
        checked: list[tuple[str, Floats, float]] = []  # description, S, n
        for c in self.conditions:
            # With few rows, a variance of its own would converge to zero.
            if c.targets and c.kind in ("mechanism", "noise"):
                what = f"condition {c.name!r}, which has parameters of its own (kind={c.kind!r}): "
                checked.append((what, c.S, c.n))
        targets = zip(*(c.is_target.tolist() for c in self.conditions), strict=True)
        first: dict[tuple[bool, ...], str] = {}  # a variable for each set of conditions
        for name, conditions in zip(self.names, targets, strict=True):
            first.setdefault(conditions, name)
        for conditions, name in first.items():
            left = [
                c for c, is_target in zip(self.conditions, conditions, strict=True) if not is_target
            ]
            if not left:
                raise DataError(
                    f"{name!r} is a target in every condition, so that its causes are not identified: "
                    "add a condition without this target, or drop the variable"
                )
            n = sum(c.n for c in left)
            S = np.sum([c.n / n * c.S for c in left], axis=0)
            still = [self.names[k] for k in np.flatnonzero(np.diag(S) <= 0)]
            if still:
                raise DataError(
                    f"{quoted(still)} is constant in all conditions without the target {name!r}: drop "
                    "it, or add a condition in which both vary"
                )
            what = ""
            if len(left) < len(self.conditions):
                names = join_names([c.name for c in left])
                what = f"conditions without the target {name!r} ({names}): "
            checked.append((what, S, n - len(left) + 1))
        for what, S, n in checked:
            try:
                check_definite(self.names, S, n, graph)
            except DataError as error:
                raise DataError(f"{what}{error}") from None

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the conditions as a data frame of "pandas", "polars" or "pyarrow"."""
        columns = {
            "condition": [c.name for c in self.conditions],
            "n": [c.n for c in self.conditions],
            "targets": [", ".join(c.targets) for c in self.conditions],
            "kind": list(self.kinds),
        }
        return data_frame(columns, backend)

    def to_dict(self) -> dict[str, Any]:
        """Return the moments as a dictionary of lists and numbers, ready for ``json.dumps``."""
        return {
            "names": list(self.names),
            "n": self.n,
            "means": self.means,
            "conditions": [condition.to_dict() for condition in self.conditions],
        }

    def _headline(self) -> str:
        targets = f", targets {', '.join(self.targets)}" if self.targets else ""
        return (
            f"{self.n:.0f} observations of {count(len(self.names), 'variable')} in "
            f"{count(len(self.conditions), 'condition')}{targets}"
        )

    def _sections(self, most: int = 12) -> Iterator[str | Table]:
        """Yield the size and the targets of each condition."""
        yield self._headline()
        yield from self.notes
        rows = [(c.name, f"{c.n:.0f}", ", ".join(c.targets)) for c in self.conditions]
        yield Table(("condition", "n", "targets"), rows, left=(0, 2), most=most, rest="more")
