"""Parameters from a covariance matrix of the model, without iteration (the half-trek criterion).

The coefficients into a node solve linear equations, one for each of its parents. Sources of these
equations whose own coefficients are known enter by their errors, the others by themselves; which
are needed, and in which order, is in :mod:`bowfree.graph.identification`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.errors import DataError, GraphError
from bowfree.graph.encodings import members
from bowfree.graph.identification import half_trek_equations
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.model.parameter_matrices import square_matrix, supports, symmetric
from bowfree.results.display import shorten_list

Matrix = npt.NDArray[np.float64]

_ASIDE = 1e-8  # an error correlation where there is no edge: rounding, or another model
_WORST_CONDITION = 1e12  # beyond it the solution has no digit that means anything


def closed_form(graph: MixedGraph, Sigma: Any) -> tuple[Matrix, Matrix]:
    """Return B and Omega; :meth:`bowfree.LinearSEM.from_covariance` tells more."""
    graph.check_acyclic()
    S = symmetric(square_matrix(Sigma, "Sigma", graph), graph, "Sigma")
    equations = half_trek_equations(graph)
    if len(equations) < len(graph):
        unsolved = [e for e in graph.identified().rows if e.verdict != "identified"]
        some = shorten_list(
            ", ".join(f"{e.a} {e.mark} {e.b}" for e in unsolved), "and others", most=99
        )
        raise GraphError(
            f"the covariances are not known to determine the parameters of {some}; "
            "graph.identified() tells more"
        )
    # In units of variance one, in which "up to rounding" means the same for every variable.
    with np.errstate(invalid="ignore"):
        sd = np.sqrt(np.diag(S))
    if not (sd > 0).all():
        v = int(np.argmin(sd > 0))
        raise DataError(f"the variance of {quote(graph.nodes[v])} is {S[v, v]:g}; it must be > 0")
    R = S / np.outer(sd, sd)
    smallest = float(np.linalg.eigvalsh(R)[0]) if R.size else 1.0
    if smallest <= len(R) * np.finfo(float).eps:
        raise DataError(
            "Sigma is not positive definite: the smallest eigenvalue of its correlations is "
            f"{smallest:.3g}; it is no covariance matrix of such a model"
        )
    B = np.zeros_like(R)
    rows = R.copy()  # row y of R, or of (I - B) R once the coefficients into y are known
    for v, sources, reached in equations:
        parents = list(members(graph._parents[v]))
        used = np.array([rows[y] if reached >> y & 1 else R[y] for y in sources])
        if parents:
            A, b = used[:, parents], used[:, v]
            if np.linalg.cond(A) > _WORST_CONDITION:
                raise DataError(
                    f"at this Sigma the coefficients into {quote(graph.nodes[v])} are not "
                    "determined: their equations are singular (an instrument without effect?)"
                )
            B[v, parents] = np.linalg.solve(A, b)
        rows[v] = R[v] - B[v] @ R
    Omega = (np.eye(len(R)) - B) @ R @ (np.eye(len(R)) - B).T
    outside = ~supports(graph)[1]
    gap = np.where(outside, np.abs(Omega), 0.0)
    if gap.size and gap.max() > _ASIDE:
        i, j = np.unravel_index(gap.argmax(), gap.shape)
        x, y = quote(graph.nodes[i]), quote(graph.nodes[j])
        raise DataError(
            f"Sigma is no covariance matrix of this graph: the errors of {x} and {y} would "
            f"have covariance {Omega[i, j]:.3g} (at unit variances) without {x} <-> {y}; "
            "bowfree.fit finds the closest model"
        )
    Omega[outside] = 0.0
    return B * np.outer(sd, 1 / sd), Omega * np.outer(sd, sd)
