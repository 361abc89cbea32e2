"""What B, Omega and Sigma must be: numbers, in node order, where the graph has edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.text_reading import short_repr
from bowfree.validation import as_list

Matrix = npt.NDArray[np.float64]

_ASYMMETRY = 1e-10  # relative; more than rounding leaves behind, less than a mistake


def square_matrix(value: Any, name: str, graph: MixedGraph) -> Matrix:
    """Copy to a float array; check labels, shape and entries."""
    if hasattr(value, "columns"):  # a data frame; some kinds have row labels too
        rows = getattr(value, "index", range(len(graph)))
        for kind, found in (("columns", value.columns), ("rows", rows)):
            labels = tuple(as_list(f"{kind} of {name}", found, "nodes", DataError))
            if labels != graph.nodes and (kind == "columns" or labels != tuple(range(len(graph)))):
                raise DataError(
                    f"{name} has {kind} {short_repr(list(labels))} but the nodes are "
                    f"{short_repr(list(graph.nodes))}; "
                    "bring rows and columns into node order"
                )
    try:
        matrix = real_array(value)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{name} must be a matrix of numbers, not {short_repr(value)}") from None
    d = len(graph)
    if matrix.shape != (d, d):
        raise DataError(
            f"{name} has shape {matrix.shape}, but the graph has {d} nodes; expected ({d}, {d})"
        )
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        i, j = bad[0]
        raise DataError(
            f"{name}[{graph.nodes[i]}, {graph.nodes[j]}] is {matrix[i, j]}; "
            "every entry must be a finite number"
        )
    return matrix


def real_array(value: Any) -> Matrix:
    """Copy what a user gave to an array of floats.

    Raises
    ------
    TypeError, ValueError, OverflowError
        It has something else than real numbers in it, or rows of different lengths.
    """
    found = np.asarray(value)
    if np.iscomplexobj(found):
        raise TypeError("complex numbers are not real")
    return found.astype(np.float64)


def supports(graph: MixedGraph) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return where B and where Omega may differ from zero."""
    d = len(graph)
    directed, bidirected = np.zeros((d, d), dtype=bool), np.eye(d, dtype=bool)
    for a, b in graph.directed:
        directed[graph._node(b), graph._node(a)] = True
    for a, b in graph.bidirected:
        i, j = graph._node(a), graph._node(b)
        bidirected[i, j] = bidirected[j, i] = True
    return directed, bidirected


def check_support(
    matrix: Matrix, name: str, support: npt.NDArray[np.bool_], graph: MixedGraph, mark: str
) -> None:
    """Raise when an entry differs from zero where the graph has no edge."""
    outside = np.argwhere((matrix != 0) & ~support)
    if len(outside):
        i, j = (int(k) for k in outside[0])
        a, b = quote(graph.nodes[i]), quote(graph.nodes[j])
        # A transposed B is the usual mistake, so the message says which way round it goes.
        hint = " (B[i, j] is the effect of j on i; is it transposed?)" if name == "B" else ""
        raise DataError(
            f"{name}[{a}, {b}] is {matrix[i, j]:g}, but {b} {mark} {a} is not an edge of the graph"
            f"{hint}; set the entry to zero or add the edge"
        )


def symmetric(Omega: Matrix, graph: MixedGraph, name: str = "Omega") -> Matrix:
    """Return the matrix without the rounding that makes it asymmetric; raise if it is more."""
    gap = np.abs(Omega - Omega.T)
    if gap.size and gap.max() > _ASYMMETRY * np.abs(Omega).max():
        i, j = np.unravel_index(gap.argmax(), gap.shape)
        a, b = graph.nodes[i], graph.nodes[j]
        raise DataError(
            f"{name} is not symmetric: {name}[{a}, {b}] is {Omega[i, j]:g} but {name}[{b}, {a}] is "
            f"{Omega[j, i]:g}; use ({name} + {name}.T) / 2 if the difference is rounding"
        )
    return Omega / 2 + Omega.T / 2


def check_positive_definite(Omega: Matrix, graph: MixedGraph) -> None:
    """Raise when some combination of the errors would have no variance."""
    if not Omega.size:
        return
    way_out = "raise the error variances (the diagonal) or lower the error covariances"
    variances = np.diag(Omega)
    if variances.min() <= 0:
        name = short_repr(graph.nodes[int(variances.argmin())])
        raise DataError(
            f"Omega is not positive definite: the error variance of {name} is "
            f"{variances.min():.3g}; {way_out}"
        )
    # In units of the errors' standard deviations: there nothing overflows, and which unit a
    # variable is measured in plays no part.
    sd = np.sqrt(variances)
    eigenvalues = np.linalg.eigvalsh(Omega / sd / sd[:, None])
    # An eigenvalue that is zero in exact arithmetic comes out as d rounding errors of the largest.
    if eigenvalues[0] <= len(Omega) * np.finfo(float).eps * eigenvalues[-1]:
        raise DataError(
            "Omega is not positive definite: the smallest eigenvalue of its correlations is "
            f"{eigenvalues[0]:.3g}; {way_out}"
        )
