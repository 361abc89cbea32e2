"""Certificates of optimality, and warnings about fits without one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from bowfree.errors import FitWarning, warn
from bowfree.results.display import TextDisplay, significant
from bowfree.results.serialization import ToDict
from bowfree.text_reading import join_names

MoreStarts = Literal["not needed", "done", "too large"]
State = Literal["converged", "certified after rounding", "diverging", "uncertified"]
STATES = get_args(State)


@dataclass(frozen=True, repr=False)
class Certificate(TextDisplay, ToDict):
    """Convergence of the fit of one district.

    Attributes
    ----------
    nodes : tuple of str
        The district.
    objective : float
        ``log |Omega_C| + tr(Omega_C^-1 E_C)``, minus twice its log-likelihood per observation
        without the constant.
    converged : bool
        The point is certified to be a local maximum of the likelihood (``method="newton"``), or
        the sweeps changed less than `tol` (``method="ricf"``).
    decrement : float
        Half the squared Newton decrement: an estimate of what the score could still gain.
    gradient_norm : float
        Largest entry of the gradient, in parameters without unit.
    smallest_eigenvalue : float
        Smallest eigenvalue of the error correlation matrix; near 0 it is close to singular.
    diverging : bool
        A coefficient diverges, or Omega approaches a singular matrix, while the likelihood still
        grows: there may be no finite maximum.
    n_iter : int
        RICF sweeps and Newton steps.
    n_optima : int
        Distinct ends found over all starts: certified maxima, and points of higher likelihood.
    gain : float
        Log-likelihood per observation that further starts gained over the end of the canonical
        start, which scores are computed from.
    more_starts : {"not needed", "done", "too large"}
        Whether further starts were tried because the district is far from the data; "too large" if
        they were needed and none was tried.
    rounded : bool
        The point is a certified maximum for correlations that differ from the data by rounding
        (at most 1.5e-8), but rounding errors prevent a certificate for the data themselves.
    """

    nodes: tuple[str, ...]
    objective: float
    converged: bool
    decrement: float
    gradient_norm: float
    smallest_eigenvalue: float
    diverging: bool
    n_iter: int
    n_optima: int
    gain: float = 0.0
    more_starts: MoreStarts = "not needed"
    rounded: bool = False

    @property
    def state(self) -> State:
        """Either "converged", "certified after rounding", "diverging" or "uncertified"."""
        if self.converged:
            return "converged"
        if self.rounded:
            return "certified after rounding"
        return "diverging" if self.diverging else "uncertified"

    def _headline(self) -> str:
        return (
            f"{self.state} after {self.n_iter} iterations, could gain {self.decrement:.1e}, smallest "
            f"eigenvalue {self.smallest_eigenvalue:.2g}, district {', '.join(self.nodes)}"
        )


def warn_if_doubtful(certificate: tuple[Certificate, ...]) -> None:
    """Warn about districts without a certified maximum."""
    for district in certificate:
        if district.converged:
            continue
        problem = (
            "its maximum is certified after rounding only: the data are so close to a singular "
            "matrix that rounding errors prevent a certificate for the data themselves"
            if district.rounded
            else "a coefficient diverges, or Omega approaches a singular matrix, while the likelihood "
            "still grows; there may be no finite maximum (try n_starts=20)"
            if district.diverging
            else f"no certified maximum after {district.n_iter} iterations (the score may still "
            f"gain {district.decrement:.2g}); try more starts or iterations, or another graph"
        )
        warn(f"district {{{join_names(district.nodes)}}}: {problem}", FitWarning)


def warn_if_several(certificate: tuple[Certificate, ...], n: float) -> None:
    """Warn about districts whose likelihood has several maxima, or may have."""
    for district in certificate:
        if district.n_optima > 1:
            higher = ""
            if district.gain > 0 and math.isfinite(n):
                higher = (
                    f", {significant(n * district.gain)} log-likelihood units above the maximum "
                    "that scores use"
                )
            problem = (
                f"its likelihood has several maxima ({district.n_optima} found); this fit is the "
                f"highest of them{higher}. n_starts= tries more starting points"
            )
        elif district.more_starts == "too large":
            problem = (
                "its likelihood may have other, higher maxima; none were looked for because the "
                "district has too many parameters. n_starts=20 looks for them"
            )
        else:
            continue
        names = join_names(district.nodes)
        warn(f"district {{{names}}}: the graph fits badly, and {problem}", FitWarning)
