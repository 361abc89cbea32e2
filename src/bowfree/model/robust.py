"""Standard errors and tests that hold whatever the data are: the sandwich with Gamma.

Estimates are functions of S, and ``Gamma`` (:class:`bowfree.Moments`) says how S varies. With
``sigma(theta)`` the entries of Sigma, ``Delta`` their derivatives by the parameters, ``V`` the
weight matrix of the normal likelihood (the inverse of Gamma of normal data) at Sigma, and ``J``
the information matrix of one observation, expected or observed, the estimates have the covariance

    J^-1 (Delta^T V Gamma V Delta) J^-1 / n,

"bread" around "meat". For complete normal data the meat is J and the sandwich its inverse.
The chi-square statistic is a mixture of df chi-squares; dividing by the mean of its weights puts
its mean right. Satorra and Bentler take ``tr(U Gamma) / df`` with ``U = V - V Delta (Delta^T V
Delta)^-1 Delta^T V``. Yuan and Bentler (as in Mplus) take the difference of ``tr(J^-1 meat)``
between the saturated model and the graph, with observed information.

References
----------
A. Satorra and P. Bentler, Corrections to test statistics and standard errors in covariance
structure analysis, 1994; K.-H. Yuan and P. Bentler, Three likelihood-based methods for mean and
covariance structure analysis with nonnormal missing data, Sociological Methodology 2000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bowfree.data.covariance import safe_inverse
from bowfree.data.sample import lower_triangle, normal_gamma
from bowfree.model.inference import Information, Parameter, observed_information
from bowfree.parameters import TestKind

Floats = npt.NDArray[np.float64]


def jacobian(B: Floats, Omega: Floats, parameters: Sequence[Parameter]) -> Floats:
    """Return the derivatives of the entries of Sigma (rows) by the parameters (columns).

    With ``E = (I-B)^-1``: ``dSigma = E dB Sigma + Sigma dB^T E^T + E dOmega E^T``.
    """
    E = np.linalg.inv(np.eye(len(B)) - B)
    Sigma = E @ Omega @ E.T
    r, c = lower_triangle(len(B))
    columns = []
    for matrix, i, j in parameters:
        other = Sigma[j] if matrix == "B" else E[:, j]
        slope = E[r, i] * other[c] + E[c, i] * other[r]
        columns.append(slope / 2 if matrix == "Omega" and i == j else slope)
    return np.stack(columns, axis=1)


def normal_weight(Sigma: Floats) -> Floats:
    """Return V, the inverse of :func:`~bowfree.data.sample.normal_gamma` at Sigma."""
    i, j = lower_triangle(len(Sigma))
    counted = np.where(i == j, 0.5, 1.0)  # a variance appears once in Sigma, a covariance twice
    W = np.asarray(np.linalg.inv(Sigma), dtype=np.float64)
    return normal_gamma(W) * counted * counted[:, None]


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates from a covariance matrix, and what the sandwich is made of.

    Attributes
    ----------
    B, Omega : ndarray of shape (d, d)
        The estimates.
    S : ndarray of shape (d, d)
        Covariance matrix of the data.
    Gamma : ndarray of shape (p, p)
        Asymptotic covariance matrix of the entries of S.
    parameters : tuple
        What :func:`~bowfree.model.inference.parameter_index` returned.
    weight_at : ndarray of shape (d, d)
        Where V is taken: at Sigma, or at S. Both are consistent if the graph is right.
    """

    B: Floats
    Omega: Floats
    S: Floats
    Gamma: Floats
    parameters: tuple[Parameter, ...]
    weight_at: Floats

    @cached_property
    def _Delta(self) -> Floats:
        return jacobian(self.B, self.Omega, self.parameters)

    @cached_property
    def _V(self) -> Floats:
        return normal_weight(self.weight_at)

    def _bread(self, information: Information) -> Floats:
        """Return the inverse of the information matrix of one observation."""
        if information == "expected":
            return safe_inverse(self._Delta.T @ self._V @ self._Delta)
        J = observed_information(self.B, self.Omega, self.S, 1.0, self.parameters)
        return safe_inverse(J)

    def covariance(self, information: Information) -> Floats:
        """Return the covariance matrix of ``sqrt(n)`` times the estimates, shape (q, q).

        With the observed information the sandwich holds for wrong graphs, too: it is the delta
        method for the estimates as functions of S.
        """
        slope = self._V @ self._Delta @ self._bread(information)
        covariance: Floats = slope.T @ self.Gamma @ slope
        # The variance of a rank or of a category is set to one: what does not vary has no error,
        # and rounding should not look like a very small one.
        usual = slope.T**2 @ np.diag(normal_gamma(self.S))
        fixed = np.diag(covariance) <= np.finfo(float).eps * usual
        covariance[fixed], covariance[:, fixed] = 0.0, 0.0
        return covariance

    def expected_chi2(self, test: TestKind) -> float:
        """Return the mean of the chi-square statistic if the graph is right."""
        VD = self._V @ self._Delta
        meat = VD.T @ self.Gamma @ VD
        if test == "satorra-bentler":
            return float(np.sum(self._V * self.Gamma) - np.sum(self._bread("expected") * meat))
        saturated = np.sum(normal_weight(self.S) * self.Gamma)
        return float(saturated - np.sum(self._bread("observed") * meat))
