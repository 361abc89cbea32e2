"""A fit to several conditions: one B and one Omega, and what each condition says of them.

In a condition that sets its targets T from outside the model is the graph without the edges into T:
rows T of B are zero, and so are rows and columns T of Omega but for the variances, which are the
condition's own. Other kinds of intervention leave the graph as it is, and some of its parameters to
the condition (``ConditionMoments._use`` says which). The likelihoods of the conditions are
multiplied, the information matrices added, and chi-square compares with the model in which every
condition has a covariance matrix of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.display import MOST_ROWS, Shown, Table, count, html_page, number, p_text
from bowfree.errors import DataError
from bowfree.frozen import Frozen
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.json_values import Plain
from bowfree.model.covariance import check_definite
from bowfree.model.fit_indices import (
    Approximation,
    FitIndices,
    chi2_upper_tail,
    discrepancy,
    indices_from,
    srmr,
)
from bowfree.model.fit_result import Fit
from bowfree.model.fit_summary import html_parts, text_parts
from bowfree.model.inference import (
    Information,
    Parameter,
    expected_information,
    observed_information,
    safe_inverse,
)
from bowfree.model.joint_moments import ConditionMoments, JointMoments
from bowfree.options import StandardErrorKind, TestKind

__all__ = ["ConditionFit", "JointFit", "SharingTest"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ConditionFit(Shown, Frozen, Plain):
    """How the joint fit does in one condition.

    Attributes
    ----------
    name : str
        The condition.
    n : float
        Number of observations.
    targets : tuple of str
        Variables that were intervened on.
    Sigma : ndarray of shape (d, d)
        Covariance matrix that the model expects there; a target has the variance that it has.
    loglik : float
        The condition's part of the log-likelihood.
    chi2 : float
        Its part of chi-square: the distance of `Sigma` from the covariance matrix of the condition.
        NaN where the condition has no more rows than variables.
    srmr : float
        Standardised root mean square residual.
    """

    name: str
    n: float
    targets: tuple[str, ...]
    Sigma: Floats
    loglik: float
    chi2: float
    srmr: float

    def _brief(self) -> str:
        told = f", targets {', '.join(self.targets)}" if self.targets else ""
        return (
            f"{self.name}: n = {self.n:g}{told}, chi-square {self.chi2:.3f}, SRMR {self.srmr:.3f}"
        )


@dataclass(frozen=True, repr=False)
class SharingTest(Shown, Plain):
    """Whether the parameters are the same in all conditions: a likelihood-ratio test.

    Attributes
    ----------
    chi2 : float
        Twice the log-likelihood that is gained when every condition has its own B, Omega and mean,
        for the same graph and targets. NaN where a condition has too few rows to be fitted alone.
    df : int
        The number of parameters that this takes.
    p_value : float
        Upper tail probability. A small one speaks against sharing: an intervention reaches
        further than its targets, or a batch is not like the others.
    """

    chi2: float
    df: int
    p_value: float

    def _brief(self) -> str:
        return f"chi-square {self.chi2:.3f} on {self.df} df, {p_text(self.p_value)}"


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


@dataclass(frozen=True, eq=False, repr=False)
class JointFit(Fit):
    """A BAP fitted to several conditions; made by :func:`fit`.

    B and Omega are shared by all conditions, except for what :class:`Condition` says. It is a
    :class:`Fit` in every other way: :attr:`Sigma` is what the model expects without interventions,
    standard errors come from the information of all conditions, and chi-square is against the model
    that has a covariance matrix for each condition. Its baseline is the empty graph, and RMSEA has
    the factor that several groups need (Steiger 1998), as in lavaan.

    Attributes
    ----------
    graph, n, B, Omega, penalty, method, certificate, moments
        As for :class:`Fit`; `n` is the number of observations in all conditions, B and Omega are
        those without an intervention.
    own : tuple of Model
        B, Omega and intercepts in each condition, where an intervention changed some of them, or
        means are shared; empty for perfect interventions, which set variables from outside, and
        free means. Intercepts are those of variables minus their mean over all conditions; with
        ``kind="activity"``, of the variables as they are.

    Examples
    --------
    >>> import bowfree as bf
    >>> watched = bf.Condition(cov=[[1.0, 0.5], [0.5, 1.0]], n=100, name="watched")
    >>> set_y = bf.Condition(cov=[[1.0, 0.0], [0.0, 4.0]], n=50, targets=["x2"], name="set")
    >>> fit = bf.fit(bf.parse("x1 -> x2"), [watched, set_y])
    >>> fit
    <JointFit of 2 nodes and 1 edge to 2 conditions, n = 150, loglik = -443.941, converged>
    >>> print(fit.conditions[1])
    set: n = 50, targets x2, chi-square 0.001, SRMR 0.004
    """

    own: tuple[Model, ...] = ()

    @property
    def _joint(self) -> JointMoments:
        assert isinstance(self.moments, JointMoments)
        return self.moments

    @property
    def loglik(self) -> float:
        """Maximal log-likelihood of all conditions."""
        objective = math.fsum(certificate.objective for certificate in self.certificate)
        own = math.fsum(self._set_terms()[0])
        return -self.n * (len(self.B) * math.log(2 * math.pi) + objective + own) / 2

    @property
    def n_parameters(self) -> int:
        """Number of nodes, edges, and parameters that conditions have to themselves."""
        return len(self._parameters) + int(self._set_terms()[1].sum())

    def _set_terms(self) -> tuple[Floats, npt.NDArray[np.int_]]:
        return self._joint._set_terms()[0], self._joint._own_numbers(self.graph)

    @cached_property
    def _variation(self) -> JointVariation:
        alike = Model(self.B, self.Omega, np.zeros(len(self.B)))
        models = self.own or (alike,) * len(self._joint.conditions)
        return JointVariation(self._joint, models, self._parameters)

    @cached_property
    def indices(self) -> FitIndices:
        """All fit indices, with the RMSEA's interval and the baseline model."""
        entries = sum(int(v * (v + 1) / 2) for v in self._n_varying())
        entries += self._variation.n_means()
        own = int(self._set_terms()[1].sum())
        own_empty = int(self._joint._own_numbers(MixedGraph(self.graph.nodes)).sum())
        return indices_from(
            *self._variation.misfit(),
            entries - len(self._variation.told) - own,
            entries - len(self.B) - own_empty,
            self.n,
            math.fsum(c.n / self.n * c.srmr for c in self.conditions),
            groups=len(self.conditions),
        )

    def _n_varying(self) -> list[int]:
        return [int(c.varies.sum()) for c in self._joint.conditions]

    @cached_property
    def conditions(self) -> tuple[ConditionFit, ...]:
        """The fit in each condition."""
        found = []
        for condition, part in zip(self._joint.conditions, self._variation.cuts, strict=True):
            Sigma = part.Sigma()
            whole = np.zeros_like(condition.S)
            whole[np.ix_(part.kept, part.kept)] = Sigma
            found.append(
                ConditionFit(
                    condition.name,
                    condition.n,
                    condition.targets,
                    whole,
                    condition.n * part.loglik(),
                    condition.n * part.misfit(),
                    srmr(part.S, Sigma),
                )
            )
        return tuple(found)

    def sharing_test(self) -> SharingTest:
        """Test whether the parameters are the same in all conditions.

        Returns
        -------
        SharingTest

        Examples
        --------
        >>> import bowfree as bf
        >>> a = bf.Condition(cov=[[1.0, 0.5], [0.5, 1.0]], n=100)
        >>> b = bf.Condition(cov=[[1.0, 0.1], [0.1, 1.0]], n=100)
        >>> print(bf.fit(bf.parse("x1 -> x2"), [a, b]).sharing_test())
        chi-square 10.911 on 3 df, p = 0.0122
        """
        apart, n_apart = 0.0, 0
        for condition, part in zip(self._joint.conditions, self._variation.cuts, strict=True):
            graph = _cut_graph(self.graph, condition)
            n_apart += len(graph) + graph.n_edges
            try:
                check_definite(graph.nodes, part.S, condition.n, graph)
            except DataError:
                apart = math.nan
                continue
            own = _core.fit_graph(np.ascontiguousarray(part.S), *graph._bits())
            if not all(own.converged):
                apart = math.nan
            apart -= condition.n / 2 * (len(graph) * math.log(2 * math.pi) + sum(own.objective))
        df = n_apart + self._variation.n_means()
        df -= len(self._variation.told) + int(self._set_terms()[1].sum())
        chi2 = max(0.0, 2 * (apart - self.loglik)) if not math.isnan(apart) else math.nan
        return SharingTest(chi2, df, chi2_upper_tail(chi2, df))

    def to_dict(self) -> dict[str, Any]:
        """Return everything that describes the fit, ready for ``json.dumps`` (NaN becomes None)."""
        conditions = [condition.to_dict() for condition in self.conditions]
        return {
            **super().to_dict(),
            "conditions": conditions,
            "sharing": self.sharing_test().to_dict(),
        }

    def __repr__(self) -> str:
        state = "diverging" if self.diverging else "converged" if self.converged else "uncertified"
        return (
            f"<JointFit of {count(len(self.B), 'node')} and {count(self.graph.n_edges, 'edge')} to "
            f"{count(len(self._joint.conditions), 'condition')}, n = {self.n:g}, "
            f"loglik = {self.loglik:.6g}, {state}>"
        )

    def _shown(self) -> Iterator[str | Table]:
        yield from text_parts(self.summary(), MOST_ROWS)
        yield ""
        yield from self._by_condition()

    def _repr_html_(self) -> str:
        return html_page([*html_parts(self.summary(), MOST_ROWS), *self._by_condition()])

    def _by_condition(self) -> Iterator[str | Table]:
        yield "Conditions:"
        rows = [
            (
                c.name,
                f"{c.n:.0f}",
                ", ".join(c.targets),
                number(c.loglik),
                number(c.chi2),
                number(c.srmr),
            )
            for c in self.conditions
        ]
        heads = ("", "n", "targets", "Log-likelihood", "Chi-square", "SRMR")
        yield Table(heads, rows, left=(0, 2), most=MOST_ROWS, rest="more: fit.conditions has all")
        yield f"Parameters shared by all conditions: {self.sharing_test()}"


def _cut_graph(graph: MixedGraph, condition: ConditionMoments) -> MixedGraph:
    """Return the graph in a condition: of what varies there, without the edges into targets."""
    left = [name for name, varies in zip(graph.nodes, condition.varies, strict=True) if varies]
    part = graph.subgraph(left)
    targets = set(condition.targets) if condition.kind == "perfect" else set()
    return MixedGraph(
        left,
        directed=[(a, b) for a, b in part.directed if b not in targets],
        bidirected=[(a, b) for a, b in part.bidirected if not {a, b} & targets],
    )
