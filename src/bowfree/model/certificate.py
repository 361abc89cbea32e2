"""How it is known that the fit of a district is a maximum of its likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bowfree.results.display import TextDisplay
from bowfree.results.serialization import ToDict

MoreStarts = Literal["not needed", "done", "too large"]


@dataclass(frozen=True, repr=False)
class Certificate(TextDisplay, ToDict):
    """What is known about the optimality of one district's fit.

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
        Half the squared Newton decrement: how much the score could still gain.
    gradient_norm : float
        Largest entry of the gradient, in parameters without unit.
    smallest_eigenvalue : float
        Of the error correlation matrix; near 0 the district is close to singular.
    diverging : bool
        A coefficient runs to infinity, or Omega to a singular matrix, while the likelihood still
        grows: there may be no finite maximum.
    n_iter : int
        RICF sweeps and Newton steps.
    n_optima : int
        Distinct ends found over all starts: certified maxima, and points of higher likelihood.
    gain : float
        Log-likelihood per observation that further starts gained over the end of the canonical
        start, which scores are computed from.
    more_starts : {"not needed", "done", "too large"}
        Whether further starts were tried because the district is far from the data.
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

    def _headline(self) -> str:
        state = "diverging" if self.diverging else "converged" if self.converged else "uncertified"
        return (
            f"{state} after {self.n_iter} iterations, could gain {self.decrement:.1e}, smallest "
            f"eigenvalue {self.smallest_eigenvalue:.2g}, district {', '.join(self.nodes)}"
        )
