"""What each condition says of the parameters: information that is added, misfit that is summed.

In a condition that sets its targets T from outside the model is the graph without the edges into T:
rows T of B are zero, and so are rows and columns T of Omega but for the variances, which are the
condition's own. Other kinds of intervention leave the graph as it is, and some of its parameters to
the condition (``ConditionMoments._use`` says which).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.covariance import safe_inverse
from bowfree.data.joint_moments import ConditionMoments, JointMoments
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_indices import Approximation, discrepancy
from bowfree.model.inference import (
    Information,
    Parameter,
    expected_information,
    observed_information,
)
from bowfree.parameters import StandardErrorKind, TestKind

Floats = npt.NDArray[np.float64]


class Model(NamedTuple):
    """The parameters in one condition."""

    B: Floats
    Omega: Floats
    intercepts: Floats


def model_in(core: _core.GraphFit, condition: int) -> Model:
    """Return the parameters of a fit in the condition of this number."""
    return Model(core.B_in(condition), core.Omega_in(condition), core.intercepts_in(condition))


class _Cut(NamedTuple):
    """The model in one condition, for the variables that vary there."""

    kept: npt.NDArray[np.intp]
    B: Floats
    Omega: Floats
    S: Floats
    shared: tuple[int, ...]  # numbers of the shared parameters that the condition tells of
    own: tuple[int, ...]  # numbers of those that it has to itself
    mean: Floats  # in the data, and in the model; zero where means are free
    expected: Floats
    intercepts: Floats | None  # None where means are free

    def misfit(self) -> float:
        """Return how far the condition is from what the model expects."""
        Sigma, shift = self.Sigma(), self.mean - self.expected
        return discrepancy(self.S, Sigma) + float(shift @ np.linalg.solve(Sigma, shift))

    def loglik(self) -> float:
        """Return the mean log-density."""
        Sigma, shift = self.Sigma(), self.mean - self.expected
        distance = np.trace(np.linalg.solve(Sigma, self.S + np.outer(shift, shift)))
        log_det = np.linalg.slogdet(2 * np.pi * Sigma)[1]
        return float(-(log_det + distance) / 2)

    def with_constant(self) -> tuple[Floats, Floats, Floats]:
        """Return B, Omega and S; where means are shared, with the constant behind the variables."""
        if self.intercepts is None:
            return self.B, self.Omega, self.S
        d = len(self.B)
        B, Omega, S = np.zeros((d + 1, d + 1)), np.eye(d + 1), np.ones((d + 1, d + 1))
        B[:d, :d], B[:d, d], Omega[:d, :d] = self.B, self.intercepts, self.Omega
        S[:d, :d] = self.S + np.outer(self.mean, self.mean)
        S[:d, d] = S[d, :d] = self.mean
        return B, Omega, S

    def Sigma(self) -> Floats:
        E = np.linalg.inv(np.eye(len(self.B)) - self.B)
        Sigma: Floats = E @ self.Omega @ E.T
        return (Sigma + Sigma.T) / 2


def cut(
    condition: ConditionMoments,
    B: Floats,
    Omega: Floats,
    parameters: Sequence[Parameter],
    means: tuple[Floats, Floats] | None = None,
) -> _Cut:
    """Return what is left of a model in a condition, whose own parameters B and Omega have.

    With shared means, `means` are the mean in the data and the intercepts.
    """
    target, varies = condition.is_target, condition.varies
    mean, intercepts = (np.zeros(len(B)), None) if means is None else means
    if condition.kind == "perfect":
        B, Omega, own = B.copy(), Omega.copy(), np.diag(condition.S)
        B[target] = 0.0
        Omega[target] = 0.0
        Omega[:, target] = 0.0
        Omega[target, target] = own[target]
        if intercepts is not None:
            intercepts = np.where(target, mean, intercepts)
    expected = np.zeros(len(B))
    if intercepts is not None:
        expected[:] = np.linalg.solve(np.eye(len(B)) - B, intercepts)
    kept = np.flatnonzero(varies)
    block = np.ix_(kept, kept)
    use = [condition._use(parameter) for parameter in parameters]
    # Nothing is learned of the edges out of a variable that does not vary.
    shared = tuple(
        s
        for s, (kind, _, j) in enumerate(parameters)
        if use[s] == "shared" and (varies[j] or kind == "Omega")
    )
    # The variance of a set variable is that of the data, whatever the model.
    others = tuple(s for s, word in enumerate(use) if word == "own" and condition.kind != "perfect")
    return _Cut(
        kept,
        B[block],
        Omega[block],
        condition.S[block],
        shared,
        others,
        mean[kept],
        expected[kept],
        None if intercepts is None else intercepts[kept],
    )


@dataclass(frozen=True, eq=False)
class JointVariation:
    """How the estimates of a fit to several conditions vary, by normal theory."""

    moments: JointMoments
    models: tuple[Model, ...]
    parameters: tuple[Parameter, ...]

    @cached_property
    def cuts(self) -> tuple[_Cut, ...]:
        """The model in each condition."""
        return tuple(
            self._cut(condition, model, self.parameters)
            for condition, model in zip(self.moments.conditions, self.models, strict=True)
        )

    def _cut(
        self, condition: ConditionMoments, model: Model, parameters: Sequence[Parameter]
    ) -> _Cut:
        B, Omega, intercepts = model
        shared = self.moments.means == "shared"
        means = (self.moments._mean(condition), intercepts) if shared else None
        return cut(condition, B, Omega, parameters, means)

    @cached_property
    def told(self) -> tuple[int, ...]:
        """Numbers of the shared parameters that some condition tells of."""
        return tuple(sorted({s for part in self.cuts for s in part.shared}))

    def information(self, se: StandardErrorKind) -> Information:
        """Return "expected", as for one sample."""
        return "expected"

    def covariance(self, se: StandardErrorKind, information: Information) -> Floats:
        """Return the inverse of the sum of the conditions' information; NaN where there is none.

        Parameters that a condition has to itself are estimated, too; they follow the shared ones
        in the sum, and what they leave uncertain is in the inverse.
        """
        q, d = len(self.parameters), len(self.moments.names)
        n_shared = q + d * (self.moments.means == "shared")  # and the intercepts
        added, size = [], n_shared
        for condition, part in zip(self.moments.conditions, self.cuts, strict=True):
            place = {int(i): k for k, i in enumerate([*part.kept, d])}  # the constant comes last
            here = [(s, self.parameters[s]) for s in part.shared]
            own = [self.parameters[s] for s in part.own]
            for i in part.kept if part.intercepts is not None else ():
                use = condition._use(("B", int(i), d))
                if use == "shared":
                    here.append((q + int(i), ("B", int(i), d)))
                elif use == "own":
                    own.append(("B", int(i), d))
            here += [(size + k, parameter) for k, parameter in enumerate(own)]
            size += len(own)
            here.sort(key=lambda entry: entry[1][0] != "B")  # entries of B come first
            if not here:
                continue
            local: list[Parameter] = [(kind, place[i], place[j]) for _, (kind, i, j) in here]
            B, Omega, S = part.with_constant()
            if information == "expected":
                block = expected_information(B, Omega, condition.n, local)
            else:
                block = observed_information(B, Omega, S, condition.n, local)
            added.append(([number for number, _ in here], block))
        total = np.zeros((size, size))
        for numbers, block in added:
            total[np.ix_(numbers, numbers)] += block
        known = [*self.told, *range(q, size)]
        inverse = safe_inverse(total[np.ix_(known, known)])
        covariance, n_told = np.full((q, q), np.nan), len(self.told)
        covariance[np.ix_(self.told, self.told)] = inverse[:n_told, :n_told]
        return covariance

    def n_means(self) -> int:
        """Return how many means the conditions have beyond those of the model."""
        if self.moments.means == "free":
            return 0
        d = len(self.moments.names)
        own = sum(
            c._use(("B", int(i), d)) != "shared"
            for c in self.moments.conditions
            for i in np.flatnonzero(c.varies)
        )
        return sum(int(c.varies.sum()) for c in self.moments.conditions) - d - own

    def misfit(self) -> tuple[float, float]:
        """Return the distances from the saturated model, of this graph and of the empty one."""
        return self._distance(self.cuts), self._distance(self._empty)

    @cached_property
    def _empty(self) -> tuple[_Cut, ...]:
        """The graph without edges: a variance for each variable, over what leaves it alone."""
        conditions = self.moments.conditions
        if self.moments.means == "shared":
            empty = MixedGraph(self.moments.names)
            core = _core.fit_graph(self.moments._core_data(), *empty._bits())
            return tuple(self._cut(c, model_in(core, e), ()) for e, c in enumerate(conditions))
        apart = [c.is_target & (c.kind != "activity") for c in conditions]
        left = np.array([c.n * ~own for c, own in zip(conditions, apart, strict=True)])
        variances = np.array([np.diag(c.S) for c in conditions])
        shared = np.sum(left * variances, axis=0) / left.sum(axis=0)
        return tuple(
            cut(c, np.zeros_like(c.S), np.diag(np.where(own, np.diag(c.S), shared)), ())
            for c, own in zip(conditions, apart, strict=True)
        )

    def _distance(self, cuts: Sequence[_Cut]) -> float:
        return math.fsum(
            c.n / self.moments.n * part.misfit()
            for c, part in zip(self.moments.conditions, cuts, strict=True)
        )

    def expected_chi2(self, test: TestKind) -> tuple[float, float]:
        """Raise: there are no scaled tests of several conditions."""
        raise _for_one_sample(test)

    def approximation(self, test: TestKind) -> Approximation:
        """Raise: there are no scaled tests of several conditions."""
        raise _for_one_sample(test)


def _for_one_sample(test: TestKind) -> DataError:
    return DataError(f"test={test!r} is for one sample: with several conditions leave it out")
