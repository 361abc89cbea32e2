"""How the estimates of a fit vary, and how its chi-square statistic does: as the user chose.

:class:`MomentVariation` is for estimates that are functions of S: its words are those of
:mod:`bowfree.model.robust`. Estimates by the likelihood of rows with gaps have their own
(:mod:`bowfree.model.fiml`). Both answer the same questions, and :class:`bowfree.Fit` asks them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from bowfree.data.joint_moments import JointMoments
from bowfree.data.missing_values import IncompleteRows
from bowfree.data.moments import Moments
from bowfree.errors import BowfreeError, DataError
from bowfree.model.fit_indices import Approximation, discrepancy
from bowfree.model.inference import Information, Parameter, normal_covariance
from bowfree.model.robust import Estimates
from bowfree.parameters import StandardErrorKind, TestKind
from bowfree.validation import check_choice

Floats = npt.NDArray[np.float64]

STANDARD_ERRORS = ("standard", "robust", "robust-huber-white", "bootstrap")
TESTS = ("standard", "satorra-bentler", "yuan-bentler")


class Variation(Protocol):
    """What a fit wants to know beyond its estimates."""

    def information(self, se: StandardErrorKind) -> Information:
        """Return the information matrix that goes with a kind of standard errors."""
        ...

    def covariance(self, se: StandardErrorKind, information: Information) -> Floats:
        """Return the covariance matrix of the estimates."""
        ...

    def misfit(self) -> tuple[float, float]:
        """Return chi-square per observation of the graph, and of the empty graph."""
        ...

    def expected_chi2(self, test: TestKind) -> tuple[float, float]:
        """Return the means of both chi-square statistics, if the models hold."""
        ...

    def approximation(self, test: TestKind) -> Approximation:
        """Return what RMSEA, CFI and TLI go by."""
        ...


@dataclass(frozen=True, eq=False)
class MomentVariation:
    """Estimates that are functions of S.

    Attributes
    ----------
    B, Omega, Sigma : ndarray of shape (d, d)
        The fit.
    moments : Moments
        What was fitted.
    n : float
        Number of observations.
    parameters : tuple
        The parameters, in the order of the covariance matrix.
    """

    B: Floats
    Omega: Floats
    Sigma: Floats
    moments: Moments
    n: float
    parameters: tuple[Parameter, ...]

    def information(self, se: StandardErrorKind) -> Information:
        """Return "observed" for Huber and White's sandwich, "expected" for all others."""
        return "observed" if se == "robust-huber-white" else "expected"

    def covariance(self, se: StandardErrorKind, information: Information) -> Floats:
        """Return the inverse information, or the sandwich."""
        S = self.moments.S
        if se == "standard" or not math.isfinite(self.n):
            return normal_covariance(self.B, self.Omega, S, self.n, self.parameters, information)
        return self._graph.covariance(information) / self.n

    @cached_property
    def _graph(self) -> Estimates:
        return self._estimates(self.B, self.Omega, self.Sigma, self.parameters)

    @cached_property
    def _empty(self) -> Estimates:
        own: tuple[Parameter, ...] = tuple(("Omega", i, i) for i in range(len(self.B)))
        diagonal = np.diag(np.diag(self.moments.S))
        return self._estimates(0 * diagonal, diagonal, diagonal, own)

    def _estimates(
        self, B: Floats, Omega: Floats, Sigma: Floats, parameters: tuple[Parameter, ...]
    ) -> Estimates:
        # As lavaan has it: two-stage estimates weigh with what the first stage found.
        S, two_stage = self.moments.S, isinstance(self.moments.sample, IncompleteRows)
        return Estimates(B, Omega, S, self.moments.Gamma, parameters, S if two_stage else Sigma)

    def misfit(self) -> tuple[float, float]:
        """Return the discrepancies of Sigma and of the diagonal of S."""
        S = self.moments.S
        return discrepancy(S, self.Sigma), discrepancy(S, np.diag(np.diag(S)))

    def expected_chi2(self, test: TestKind) -> tuple[float, float]:
        """Return the traces of :mod:`bowfree.model.robust`."""
        return self._graph.expected_chi2(test), self._empty.expected_chi2(test)

    def approximation(self, test: TestKind) -> Approximation:
        """Return what the test compares, too."""
        return Approximation(self.misfit(), self.expected_chi2(test))


def choose_inference(
    moments: Moments,
    se: StandardErrorKind | None,
    test: TestKind | None,
    *,
    full_information: bool,
) -> tuple[StandardErrorKind, TestKind]:
    """Check what the user wants, and choose what is right for the moments where nothing was said.

    Normal theory is right for complete rows, each counted once, and for the likelihood of the
    observed cells. Everything else needs the sandwich.
    """
    if se is not None:
        check_choice("se", se, STANDARD_ERRORS)
    if test is not None:
        check_choice("test", test, TESTS)
    wanted = [f"se={se!r}"] * (se not in (None, "standard"))
    wanted += [f"test={test!r}"] * (test not in (None, "standard"))
    if wanted and isinstance(moments, JointMoments):
        raise DataError(
            f"{' and '.join(wanted)} are for one sample: with several conditions leave them out"
        )
    if wanted and moments.sample is None:
        raise DataError(
            f"{' and '.join(wanted)} need the observations: a covariance matrix does not say how "
            "it varies; give the rows as `data`"
        )
    if full_information and test == "satorra-bentler":
        raise BowfreeError(
            "test='satorra-bentler' is for estimates from a covariance matrix: with "
            "missing='fiml' use test='yuan-bentler', or choose missing='two-stage'"
        )
    normal = full_information or moments.plain
    return (
        se if se is not None else "standard" if normal else "robust",
        test if test is not None else "standard" if normal else "satorra-bentler",
    )
