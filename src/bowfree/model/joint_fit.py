"""A fit to several conditions: one B and one Omega, and what each condition says of them.

The likelihoods of the conditions are multiplied, the information matrices added
(:mod:`bowfree.model.joint_variation`), and chi-square compares with the model in which every
condition has a covariance matrix of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree import _core
from bowfree.data.covariance import check_definite
from bowfree.data.joint_moments import ConditionMoments, JointMoments
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.fit_indices import FitIndices, chi2_upper_tail, indices_from, srmr
from bowfree.model.fit_result import Fit
from bowfree.model.fit_summary import html_parts, text_parts
from bowfree.model.joint_variation import JointVariation, Model
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count, number, p_text, to_html
from bowfree.results.frozen import Frozen
from bowfree.results.serialization import ToDict

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ConditionFit(TextDisplay, Frozen, ToDict):
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
        Standardized root mean square residual.
    """

    name: str
    n: float
    targets: tuple[str, ...]
    Sigma: Floats
    loglik: float
    chi2: float
    srmr: float

    def _headline(self) -> str:
        told = f", targets {', '.join(self.targets)}" if self.targets else ""
        return (
            f"{self.name}: n = {self.n:g}{told}, chi-square {self.chi2:.3f}, SRMR {self.srmr:.3f}"
        )


@dataclass(frozen=True, repr=False)
class SharingTest(TextDisplay, ToDict):
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

    def _headline(self) -> str:
        return f"chi-square {self.chi2:.3f} on {self.df} df, {p_text(self.p_value)}"


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
        free means. A variable that was set has the parameters that it has elsewhere. Intercepts are
        those of variables minus their mean over all conditions; with ``kind="activity"``
        somewhere, of the variables as they are.

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
            graph = cut_graph(self.graph, condition)
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

    def _to_what(self) -> str:
        return f" to {count(len(self._joint.conditions), 'condition')}"

    def _sections(self) -> Iterator[str | Table]:
        yield from text_parts(self.summary(), MOST_ROWS)
        yield ""
        yield from self._by_condition()

    def _repr_html_(self) -> str:
        return to_html([*html_parts(self.summary(), MOST_ROWS), *self._by_condition()])

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


def cut_graph(graph: MixedGraph, condition: ConditionMoments) -> MixedGraph:
    """Return the graph in a condition: of what varies there, without the edges into targets."""
    left = [name for name, varies in zip(graph.nodes, condition.varies, strict=True) if varies]
    part = graph.subgraph(left)
    targets = set(condition.targets) if condition.kind == "perfect" else set()
    return MixedGraph(
        left,
        directed=[(a, b) for a, b in part.directed if b not in targets],
        bidirected=[(a, b) for a, b in part.bidirected if not {a, b} & targets],
    )
