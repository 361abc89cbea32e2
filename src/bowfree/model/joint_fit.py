"""A fit to several conditions: one B and one Omega, estimated from all of them.

The likelihoods of the conditions are multiplied and their information matrices added. Chi-square
compares with the model in which every condition has a covariance matrix of its own.

In a condition that sets its targets T from outside, the model is the graph without the edges into
T: rows T of B are zero, and so are rows and columns T of Omega except for the variances, which are
specific to the condition. Other kinds of intervention keep the graph and make some of its
parameters specific to the condition (``ConditionMoments._use``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bowfree.data.covariance import check_definite, safe_inverse, total_effect_matrix
from bowfree.data.joint_moments import ConditionMoments, JointMoments
from bowfree.data.moments import Moments
from bowfree.data.sample import Floats, Indices, inverse_covariance
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_indices import FitIndices, chi2_upper_tail, discrepancy, fit_indices, srmr
from bowfree.model.fit_result import Fit
from bowfree.model.inference import (
    Information,
    Parameter,
    baseline_model,
    case_scores,
    edge_label,
    expected_information,
    implied_covariance,
    observed_information,
)
from bowfree.parameters import StandardErrorKind
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count, number, p_cell, p_text
from bowfree.results.frozen import lock_arrays
from bowfree.results.rows import Cell, Row, RowTable, row_table
from bowfree.results.serialization import ToDict


class ConditionParameters(NamedTuple):
    """B, Omega and intercepts in one condition."""

    B: Floats
    Omega: Floats
    intercepts: Floats


@dataclass(frozen=True, repr=False)
class SharingTest(TextDisplay, ToDict):
    """Likelihood-ratio test of the hypothesis that all conditions share their parameters.

    Attributes
    ----------
    chi2 : float
        Twice the log-likelihood gained if every condition has its own B, Omega and mean, with the
        same graph and targets. NaN if a condition has too few rows to be fitted alone.
    df : int
        Number of additional parameters.
    p_value : float
        Upper tail probability. A small one is evidence against sharing: an intervention affects
        more than its targets, or a batch differs from the others.
    """

    chi2: float
    df: int
    p_value: float

    def _headline(self) -> str:
        return f"chi-square {self.chi2:.3f} on {self.df} df, {p_text(self.p_value)}"


@dataclass(frozen=True, repr=False)
class ConditionEstimates(RowTable, ToDict):
    """Estimates in each condition; returned by :meth:`JointFit.estimates_by_condition`.

    Attributes
    ----------
    rows : tuple of Row
        ``edge``, ``condition``, ``estimate``, ``se``, and the Wald test that the estimates of this
        edge are equal in all conditions: ``chi2``, ``df``, ``p_value``.
    """

    rows: tuple[Row, ...]
    _rows_key: ClassVar = "estimates"
    _columns: ClassVar = ("edge", "condition", "estimate", "se", "chi2", "df", "p_value")

    def _headline(self) -> str:
        names = dict.fromkeys(row.condition for row in self.rows)
        return f"estimates in {count(len(names), 'condition')}"

    def _sections(self) -> Iterator[str | Table]:
        yield "estimates in each condition (standard errors), and tests of equality"
        names = list(dict.fromkeys(row.condition for row in self.rows))
        by_edge: dict[str, list[Row]] = {}
        for row in self.rows:
            by_edge.setdefault(row.edge, []).append(row)
        cells = [
            (
                edge,
                *(f"{number(r.estimate)} ({number(r.se)})" if r.se > 0 else "" for r in rows),
                number(rows[0].chi2, 2),
                str(rows[0].df),
                p_cell(rows[0].p_value),
            )
            for edge, rows in by_edge.items()
        ]
        heading = ("edge", *names, "chi-square", "df", "p")
        yield Table(heading, cells, most=MOST_ROWS, rest="more: to_frame() has all")


@dataclass(frozen=True, eq=False, repr=False)
class JointFit(Fit):
    """A BAP fitted to several conditions; made by :func:`fit`.

    All conditions share B and Omega, except for the parameters that an intervention changes
    (:class:`Condition`). :attr:`Sigma` is the covariance matrix without interventions, standard
    errors come from the information of all conditions, and chi-square compares with the model that
    has a covariance matrix for each condition. As in lavaan, the baseline model has its own variances
    (and covariances of exogenous variables) in each condition, and RMSEA has the factor for several
    groups (Steiger 1998).

    Attributes
    ----------
    graph, n, B, Omega, rule, certificate, moments
        As for :class:`Fit`; `n` is the number of observations in all conditions, B and Omega are
        those without an intervention.
    own : tuple of ConditionParameters
        B, Omega and intercepts in each condition, if an intervention changes some of them or means
        are shared; empty for perfect interventions with free means. A variable that was set from
        outside has the parameters that it has elsewhere. Intercepts are those of variables minus
        their mean over all conditions; with ``kind="activity"`` in some condition, of the variables
        themselves.

    Examples
    --------
    >>> import bowfree as bf
    >>> watched = bf.Condition(cov=[[1.0, 0.5], [0.5, 1.0]], n=100, name="watched")
    >>> set_y = bf.Condition(cov=[[1.0, 0.0], [0.0, 4.0]], n=50, targets=["x2"], name="set")
    >>> fit = bf.fit(bf.parse("x1 -> x2"), [watched, set_y])
    >>> fit
    <JointFit of 2 nodes and 1 edge to 2 conditions, n = 150, loglik = -443.941, converged>
    >>> round(fit.conditions[1].srmr, 3)
    0.003
    """

    own: tuple[ConditionParameters, ...] = ()

    @property
    def _joint(self) -> JointMoments:
        assert isinstance(self.moments, JointMoments)
        return self.moments

    @cached_property
    def _own_total(self) -> tuple[float, int]:
        number = self._joint._own_numbers(self.graph).sum()
        return math.fsum(self._joint._set_objective()), int(number)

    @cached_property
    def _variation(self) -> JointVariation:  # type: ignore[override]  # scaled tests are refused
        alike = ConditionParameters(self.B, self.Omega, np.zeros(len(self.B)))
        parameters = self.own or (alike,) * len(self._joint.conditions)
        return JointVariation(self._joint, parameters, self._parameters, self._exogenous)

    @cached_property
    def indices(self) -> FitIndices:
        """All fit indices, with the interval of RMSEA and the baseline model."""
        variation, conditions = self._variation, self._joint.conditions
        df = sum(math.comb(c.varies.sum() + 1, 2) for c in conditions) + variation.n_means()
        # Each condition has its own variances, and covariances of exogenous variables.
        parts = zip(conditions, variation.models, strict=True)
        free = sum(math.comb(len(variation.exogenous_in(*part)), 2) for part in parts)
        return fit_indices(
            *variation.misfit(),
            df - len(variation.estimable) - self._own_total[1],
            sum(math.comb(c.varies.sum(), 2) for c in conditions) - free,
            self.n,
            math.fsum(c.n / self.n * c.srmr for c in self.conditions),
            groups=len(self.conditions),
        )

    @cached_property
    def conditions(self) -> tuple[Row, ...]:
        """The fit in each condition: a row with the parts of log-likelihood and chi-square.

        A row has ``name``, ``n``, ``targets``, ``loglik``, ``chi2`` (NaN if the condition has no
        more rows than variables), ``srmr`` and ``Sigma``, the fitted covariance matrix, in which a
        target has its own variance.
        """
        rows = []
        for condition, part in zip(self._joint.conditions, self._variation.models, strict=True):
            Sigma = part.Sigma()
            whole = np.zeros_like(condition.S)
            whole[np.ix_(part.varying, part.varying)] = Sigma
            numbers = {
                "loglik": condition.n * part.loglik(),
                "chi2": condition.n * part.misfit(),
                "srmr": srmr(part.S, Sigma, part.mean - part.expected),
            }
            given = {"name": condition.name, "n": condition.n, "targets": condition.targets}
            rows.append(Row(**given, **numbers, Sigma=lock_arrays(whole)))
        return tuple(rows)

    def sharing_test(self) -> SharingTest:
        """Test whether the parameters are the same in all conditions.

        Examples
        --------
        >>> import bowfree as bf
        >>> a = bf.Condition(cov=[[1.0, 0.5], [0.5, 1.0]], n=100)
        >>> b = bf.Condition(cov=[[1.0, 0.1], [0.1, 1.0]], n=100)
        >>> print(bf.fit(bf.parse("x1 -> x2"), [a, b]).sharing_test())
        chi-square 10.911 on 3 df, p = 0.0122
        """
        separate, n_separate = 0.0, 0
        for condition, graph, fit in self._separate_fits():
            n_separate += len(graph) + graph.n_edges
            if fit is None or not fit.converged:
                separate = math.nan
            else:
                objective = sum(district.objective for district in fit.certificate)
                separate -= condition.n / 2 * (len(graph) * math.log(2 * math.pi) + objective)
        df = n_separate + self._variation.n_means()
        df -= len(self._variation.estimable) + self._own_total[1]
        chi2 = max(0.0, 2 * (separate - self.loglik)) if not math.isnan(separate) else math.nan
        return SharingTest(chi2, df, chi2_upper_tail(chi2, df))

    def _separate_fits(self) -> Iterator[tuple[ConditionMoments, MixedGraph, Fit | None]]:
        """Yield each condition with the fit to it alone; None if it has too few rows."""
        from bowfree.model.fitting import fit_moments

        for condition, part in zip(self._joint.conditions, self._variation.models, strict=True):
            graph, fit = cut_graph(self.graph, condition), None
            with suppress(DataError):
                check_definite(graph.nodes, part.S, condition.n, graph)
                fit = fit_moments(graph, Moments._unchecked(graph.nodes, part.S, condition.n))
            yield condition, graph, fit

    def estimates_by_condition(self) -> ConditionEstimates:
        """Fit each condition by itself, and test whether the estimates are equal.

        Returns
        -------
        ConditionEstimates
            The estimates of the edges with normal-theory standard errors, and Wald tests of
            equality over conditions. An edge into a variable that is set from outside has no
            estimate in that condition; neither have conditions with too few rows.

        Examples
        --------
        >>> import bowfree as bf
        >>> a = bf.Condition(cov=[[1.0, 0.5], [0.5, 1.0]], n=100, name="a")
        >>> b = bf.Condition(cov=[[1.0, 0.1], [0.1, 1.0]], n=100, name="b")
        >>> print(bf.fit(bf.parse("x1 -> x2"), [a, b]).estimates_by_condition())
        estimates in each condition (standard errors), and tests of equality
        edge                  a              b  chi-square  df       p
        x1 -> x2  0.500 (0.087)  0.100 (0.099)        9.20   1  0.0024
        """
        found: dict[tuple[str, str], tuple[float, float]] = {}
        for condition, _, fit in self._separate_fits():
            for row in () if fit is None else fit.estimates():
                found[row.label, condition.name] = (row.estimate, row.se)
        rows = []
        for edge in (edge_label(*edge) for edge in self.graph.edges):
            own = {c.name: found.get((edge, c.name), (math.nan, math.nan)) for c in self.conditions}
            estimates, errors = (
                np.array([pair for pair in own.values() if pair[1] > 0]).reshape(-1, 2).T
            )
            weights = errors**-2.0
            df = max(len(weights) - 1, 0)
            shift = estimates - weights @ estimates / weights.sum() if df else np.zeros(0)
            chi2 = float(weights @ shift**2) if df else math.nan
            test = {"chi2": chi2, "df": df, "p_value": chi2_upper_tail(chi2, df)}
            for name, (estimate, se) in own.items():
                rows.append(Row(edge=edge, condition=name, estimate=estimate, se=se, **test))
        return ConditionEstimates(tuple(rows))

    def _content(self) -> Any:
        own = {"conditions": self.conditions, "sharing": self.sharing_test()}
        return {**super()._content(), **own}

    def _data_label(self) -> str:
        return f" to {count(len(self._joint.conditions), 'condition')}"

    def _by_condition(self) -> Iterator[str | Table]:
        yield ""
        yield "Conditions:"
        cells: dict[str, Cell] = {
            "": "name",
            "n": "n:.0f",
            "targets": lambda row: ", ".join(row.targets),
            "Log-likelihood": "loglik:.3f",
            "Chi-square": "chi2:.3f",
            "SRMR": "srmr:.3f",
        }
        rest = "more: fit.conditions has all"
        yield row_table(self.conditions, cells, left=(0, 2), rest=rest)
        yield f"Parameters shared by all conditions: {self.sharing_test()}"


def cut_graph(graph: MixedGraph, condition: ConditionMoments) -> MixedGraph:
    """Return the graph of the variables that vary in a condition, without edges into targets."""
    left = [name for name, varies in zip(graph.nodes, condition.varies, strict=True) if varies]
    part = graph.subgraph(left)
    targets = set(condition.targets) if condition.kind == "perfect" else set()
    return MixedGraph(
        left,
        directed=[(a, b) for a, b in part.directed if b not in targets],
        bidirected=[(a, b) for a, b in part.bidirected if not {a, b} & targets],
    )


class ConditionModel(NamedTuple):
    """The model in one condition, for the variables that vary there."""

    varying: Indices
    B: Floats
    Omega: Floats
    S: Floats
    shared: tuple[int, ...]  # numbers of the shared parameters that the condition informs about
    own: tuple[int, ...]  # numbers of the parameters that are specific to the condition
    mean: Floats  # of the data, minus the center; zero if means are free
    expected: Floats  # of the model
    intercepts: Floats | None  # None if means are free

    def misfit(self) -> float:
        """Return the discrepancy between data and model, per observation."""
        Sigma, shift = self.Sigma(), self.mean - self.expected
        return discrepancy(self.S, Sigma) + float(shift @ inverse_covariance(Sigma) @ shift)

    def loglik(self) -> float:
        """Return the log-likelihood per observation."""
        Sigma, shift = self.Sigma(), self.mean - self.expected
        distance = np.sum(inverse_covariance(Sigma) * (self.S + np.outer(shift, shift)))
        log_det = np.linalg.slogdet(2 * np.pi * Sigma)[1]
        return float(-(log_det + distance) / 2)

    def with_constant(self) -> tuple[Floats, Floats, Floats]:
        """Return B, Omega and S; if means are shared, with a constant after the variables."""
        if self.intercepts is None:
            return self.B, self.Omega, self.S
        d = len(self.B)
        B, Omega, S = np.zeros((d + 1, d + 1)), np.eye(d + 1), np.ones((d + 1, d + 1))
        B[:d, :d], B[:d, d], Omega[:d, :d] = self.B, self.intercepts, self.Omega
        S[:d, :d] = self.S + np.outer(self.mean, self.mean)
        S[:d, d] = S[d, :d] = self.mean
        return B, Omega, S

    def Sigma(self) -> Floats:
        return implied_covariance(self.B, self.Omega)


def condition_model(
    condition: ConditionMoments,
    B: Floats,
    Omega: Floats,
    parameters: Sequence[Parameter],
    means: tuple[Floats, Floats] | None = None,
) -> ConditionModel:
    """Return the model in a condition; `means` are mean and intercepts if means are shared."""
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
    expected = mean if intercepts is None else total_effect_matrix(B) @ intercepts
    varying = np.flatnonzero(varies)
    block = np.ix_(varying, varying)
    use = [condition._use(parameter) for parameter in parameters]
    # There is no information about the edges out of a constant variable.
    shared = tuple(
        s
        for s, (kind, _, j) in enumerate(parameters)
        if use[s] == "shared" and (varies[j] or kind == "Omega")
    )
    # The variance of a variable that is set from outside is that of the data.
    others = tuple(s for s, word in enumerate(use) if word == "own" and condition.kind != "perfect")
    return ConditionModel(
        varying,
        B[block],
        Omega[block],
        condition.S[block],
        shared,
        others,
        mean[varying],
        expected[varying],
        None if intercepts is None else intercepts[varying],
    )


@dataclass(frozen=True, eq=False)
class JointVariation:
    """Sampling variation of a fit to several conditions."""

    moments: JointMoments
    by_condition: tuple[ConditionParameters, ...]
    parameters: tuple[Parameter, ...]
    exogenous: tuple[int, ...]  # the variables whose covariances the baseline model keeps

    @cached_property
    def models(self) -> tuple[ConditionModel, ...]:
        """The model in each condition."""
        found, shared = [], self.moments.means == "shared"
        for condition, own in zip(self.moments.conditions, self.by_condition, strict=True):
            means = (self.moments._mean(condition), own.intercepts) if shared else None
            found.append(condition_model(condition, own.B, own.Omega, self.parameters, means))
        return tuple(found)

    @cached_property
    def estimable(self) -> tuple[int, ...]:
        """Numbers of the shared parameters that some condition informs about."""
        return tuple(sorted({s for part in self.models for s in part.shared}))

    def covariance(self, se: StandardErrorKind, information: Information) -> Floats:
        """Return the inverse of the summed information; NaN for parameters without any.

        Parameters that are specific to a condition are estimated, too; they follow the shared ones
        in the sum, so that the inverse accounts for them.
        """
        return self._of_parameters(self._inverse(self._information(information)))

    def _information(self, information: Information) -> Floats:
        """Return the sum of the information matrices of all conditions."""
        blocks, size = self._numbered()
        total = np.zeros((size, size))
        for condition, part, numbers, local in blocks:
            B, Omega, S = part.with_constant()
            if information == "expected":
                block = expected_information(B, Omega, condition.n, local)
            else:
                block = observed_information(B, Omega, S, condition.n, local)
            total[np.ix_(numbers, numbers)] += block
        return total

    def robust(self) -> tuple[float, Floats, Floats]:
        """Return the mean of chi-square if the graph is correct, and covariances of the estimates.

        For any distribution of the rows, which all conditions must have: traces as in Satorra and
        Bentler's factor, and the sandwich; the last matrix is that of normal theory.
        """
        blocks, size = self._numbered()
        K, mean = np.zeros((size, size)), 0.0
        for condition, part, numbers, local in blocks:
            assert condition.deviations is not None  # checked by the caller
            X, W = condition.deviations[:, part.varying], inverse_covariance(part.Sigma())
            WS = W @ part.S
            # tr(V Gamma), from the Mahalanobis distances; with shared means also that of the mean.
            mean += (np.mean(np.sum(X @ W * X, axis=1) ** 2) - np.sum(WS * WS.T)) / 2
            if part.intercepts is not None:
                mean += np.trace(WS)
                X = np.column_stack([X + part.mean, np.ones(len(X))])
            scores = case_scores(*part.with_constant()[:2], X, local)
            scores -= scores.mean(axis=0)
            K[np.ix_(numbers, numbers)] += scores.T @ scores
        mean -= np.sum(self._inverse(self._information("expected")) * K)
        inverse = self._inverse(self._information("observed"))
        return mean, self._of_parameters(inverse @ K @ inverse), self._of_parameters(inverse)

    def _numbered(
        self,
    ) -> tuple[list[tuple[ConditionMoments, ConditionModel, list[int], list[Parameter]]], int]:
        """Return the parameters of each condition with their numbers, and how many there are.

        Shared parameters come first, then shared intercepts, then those of single conditions.
        """
        q, d = len(self.parameters), len(self.moments.names)
        found, size = [], q + d * (self.moments.means == "shared")
        for condition, part in zip(self.moments.conditions, self.models, strict=True):
            place = {int(i): k for k, i in enumerate([*part.varying, d])}  # the constant is last
            here = [(s, self.parameters[s]) for s in part.shared]
            own = [self.parameters[s] for s in part.own]
            if condition.kind == "perfect":
                own += [("Omega", int(i), int(i)) for i in part.varying if condition.is_target[i]]
            for i in part.varying if part.intercepts is not None else ():
                use = condition._use(("B", int(i), d))
                if use == "shared":
                    here.append((q + int(i), ("B", int(i), d)))
                elif use == "own" or (condition.kind == "perfect" and condition.is_target[i]):
                    own.append(("B", int(i), d))
            here += [(size + k, parameter) for k, parameter in enumerate(own)]
            size += len(own)
            here.sort(key=lambda entry: entry[1][0] != "B")  # entries of B come first
            local: list[Parameter] = [(kind, place[i], place[j]) for _, (kind, i, j) in here]
            if here:
                found.append((condition, part, [number for number, _ in here], local))
        return found, size

    def _inverse(self, total: Floats) -> Floats:
        """Return the inverse of an information matrix; zero for parameters without information."""
        q, inverse = len(self.parameters), np.zeros_like(total)
        known = np.ix_(*2 * ([*self.estimable, *range(q, len(total))],))
        inverse[known] = safe_inverse(total[known])
        return inverse

    def _of_parameters(self, covariance: Floats) -> Floats:
        """Return the block of the shared parameters; NaN for those without information."""
        q, known = len(self.parameters), np.ix_(self.estimable, self.estimable)
        block = np.full((q, q), np.nan)
        block[known] = covariance[known]
        return block

    def n_means(self) -> int:
        """Return the number of means of all conditions beyond the shared intercepts."""
        if self.moments.means == "free":
            return 0
        return sum(int(c.varies.sum()) for c in self.moments.conditions) - len(self.moments.names)

    def misfit(self) -> tuple[float, float]:
        """Return the discrepancies of the graph and of the baseline model, per observation."""
        graph, baseline = [], []
        for c, part in zip(self.moments.conditions, self.models, strict=True):
            Sigma, _ = baseline_model(part.S, self.exogenous_in(c, part))
            graph.append(c.n / self.moments.n * part.misfit())
            baseline.append(c.n / self.moments.n * discrepancy(part.S, Sigma))
        return math.fsum(graph), math.fsum(baseline)

    def exogenous_in(self, condition: ConditionMoments, part: ConditionModel) -> list[int]:
        """Return the exogenous variables that covary in a condition, numbered as in its model."""
        fixed = condition.is_target & (condition.kind == "perfect")
        return [k for k, i in enumerate(part.varying) if i in self.exogenous and not fixed[i]]
