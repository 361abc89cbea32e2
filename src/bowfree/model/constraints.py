"""Fits with equal parameters and fixed values: lavaan's labels and numbers.

The parameters are ``theta = offset + K phi`` with free ``phi``: a column of K has ones for the
parameters that are equal, and fixed parameters are entries of the offset. The likelihood is
maximized over phi by Fisher scoring, from the weighted projection of the unconstrained fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bowfree.data.covariance import is_definite
from bowfree.data.joint_moments import JointMoments
from bowfree.data.sample import Floats, inverse_covariance
from bowfree.errors import BowfreeError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.names import parse_edge
from bowfree.model.certificates import Certificate
from bowfree.model.inference import (
    Parameter,
    expected_information,
    observed_information,
    parameter_matrices,
    split_parameters,
)
from bowfree.text_reading import short_repr
from bowfree.validation import as_list, is_number

if TYPE_CHECKING:
    from bowfree.model.fit_result import Fit

_STEPS, _HALVINGS, _TOLERANCE, _POLISH = 200, 30, 1e-12, 4


@dataclass(frozen=True, eq=False)
class Constraints:
    """Sets of equal parameters, and values of fixed ones."""

    equal: tuple[tuple[Parameter, ...], ...] = ()
    fixed: tuple[tuple[Parameter, float], ...] = ()

    @classmethod
    def of(
        cls,
        graph: MixedGraph,
        equal: Iterable[Sequence[str]] = (),
        fixed: Mapping[str, float] | None = None,
    ) -> Constraints | None:
        """Return the constraints on edges written as ``"x -> y"``; None if there are none."""

        def parameter(edge: str) -> Parameter:
            if not isinstance(edge, str):
                raise BowfreeError(f"{short_repr(edge)} should be an edge, such as 'x -> y'")
            i, mark, j = parse_edge(graph.nodes, edge, None, None)
            found: Parameter = ("B", j, i) if mark == "->" else ("Omega", min(i, j), max(i, j))
            masks = graph._parents if mark == "->" else graph._spouses
            if not masks[j] >> i & 1:
                raise BowfreeError(f"the graph has no edge {short_repr(edge)}")
            return found

        if fixed is not None and not isinstance(fixed, Mapping):
            raise BowfreeError(f"fixed = {short_repr(fixed)}: must be a mapping, {{'x -> y': 0.5}}")
        values = {} if fixed is None else dict(fixed)
        for edge, value in values.items():
            if not is_number(value) or not np.isfinite(value):
                raise BowfreeError(
                    f"fixed: the value {short_repr(value)} of {edge!r} is not a number"
                )
        equal = (
            []
            if isinstance(equal, tuple) and not equal
            else as_list("equal", equal, "lists of edges")
        )
        if any(not isinstance(edges, list | tuple) for edges in equal):
            raise BowfreeError("equal must be a list of lists of edges, [['x -> y', 'y -> z']]")
        sets = tuple(tuple(map(parameter, edges)) for edges in equal)
        numbers = tuple((parameter(edge), float(value)) for edge, value in values.items())
        return cls(sets, numbers) if sets or numbers else None

    def matrices(self, parameters: Sequence[Parameter]) -> tuple[Floats, Floats]:
        """Return K and the offset."""
        place = {parameter: k for k, parameter in enumerate(parameters)}
        first = list(range(len(parameters)))

        def root(k: int) -> int:
            while first[k] != k:
                k = first[k]
            return k

        for group in self.equal:
            for parameter in group[1:]:
                a, b = root(place[group[0]]), root(place[parameter])
                first[max(a, b)] = min(a, b)
        roots = np.array([root(k) for k in range(len(parameters))])
        offset, is_fixed = np.zeros(len(parameters)), np.zeros(len(parameters), dtype=bool)
        for parameter, value in self.fixed:
            own = roots == roots[place[parameter]]
            if is_fixed[own].any() and (offset[own] != value).any():
                raise BowfreeError("equal parameters are fixed to different values")
            is_fixed |= own
            offset[own] = value
        K = (roots[:, None] == np.unique(roots[~is_fixed])).astype(float)
        return K, offset


def fit_constrained(start: Fit, constraints: Constraints) -> Fit:
    """Return the constrained fit, from an unconstrained one."""
    if isinstance(start.moments, JointMoments) or start.full_information or start.method == "ricf":
        raise BowfreeError(
            "equal and fixed parameters need one sample and estimates from its covariance matrix: "
            "omit conditions, missing='fiml' and method='ricf'"
        )
    parameters, d, S = start._parameters, len(start.B), start.S
    K, offset = constraints.matrices(parameters)
    _, (i, j), (a, b), half = split_parameters(parameters)
    n_B = len(i)

    def model(theta: Floats) -> tuple[Floats, Floats]:
        return parameter_matrices(d, parameters, theta)

    def objective(theta: Floats) -> float:
        B, Omega = model(theta)
        if not (np.diag(Omega) > 0).all() or not is_definite(Omega):
            return np.inf
        A = np.eye(d) - B
        log_det = np.linalg.slogdet(Omega)[1]
        return float(log_det + np.sum(inverse_covariance(Omega) * (A @ S @ A.T)))

    def gradient(theta: Floats) -> Floats:
        B, Omega = model(theta)
        A, W = np.eye(d) - B, inverse_covariance(Omega)
        WAS = W @ A @ S
        by_Omega = 2 * half * (W - WAS @ A.T @ W)[a, b]
        return np.concatenate([-2 * WAS[i, j], by_Omega])

    def information(theta: Floats) -> Floats:
        return K.T @ (2 * expected_information(*model(theta), 1.0, parameters)) @ K

    weight = expected_information(start.B, start.Omega, 1.0, parameters)
    phi = _solve(K.T @ weight @ K, K.T @ weight @ (start._values() - offset))
    if not np.isfinite(objective(offset + K @ phi)):
        # Uncorrelated errors with the variances of the data, where these are free.
        covariances = np.concatenate([np.zeros(n_B), np.where(a == b, S[a, b], 0.0)])
        own = (K > 0) & (np.arange(len(K)) >= n_B)[:, None]
        mean = (own * covariances[:, None]).sum(axis=0) / np.maximum(own.sum(axis=0), 1)
        phi = np.where(own.any(axis=0), mean, phi)
    value = objective(offset + K @ phi)
    if not np.isfinite(value):
        raise BowfreeError("the fixed values leave no positive definite error covariance matrix")
    decrement, steps = np.inf, 0
    while decrement > _TOLERANCE and steps < _STEPS:
        theta, steps = offset + K @ phi, steps + 1
        slope = K.T @ gradient(theta)
        step = _solve(information(theta), slope)
        decrement = float(slope @ step) / 4
        for _ in range(_HALVINGS):
            tried = objective(offset + K @ (phi - step))
            if tried <= value:
                phi, value = phi - step, tried
                break
            step = step / 2
        else:
            break
    # Newton's method at the end: rounding errors of the objective hide its last digits.
    for _ in range(_POLISH):
        theta = offset + K @ phi
        H = K.T @ (2 * observed_information(*model(theta), S, 1.0, parameters)) @ K
        slope = K.T @ gradient(theta)
        step = _solve(H, slope)
        trial = offset + K @ (phi - step)
        smaller = float(slope @ step) / 4
        if not (np.isfinite(objective(trial)) and 0 <= smaller <= decrement):
            break
        phi, decrement = phi - step, smaller
    theta, value = offset + K @ phi, objective(offset + K @ phi)
    B, Omega = model(theta)
    H = K.T @ observed_information(B, Omega, S, 1.0, parameters) @ K
    scale = np.sqrt(np.abs(np.diag(H)))
    certified = decrement <= 1e-9 and is_definite(H / np.outer(scale, scale))
    sd = np.sqrt(np.diag(Omega))
    smallest = float(np.linalg.eigvalsh(Omega / np.outer(sd, sd))[0])
    size = float(np.abs(K.T @ gradient(theta) / scale).max(initial=0.0))
    certificate = Certificate(
        start.graph.nodes, value, certified, decrement, size, smallest, False, steps, 1
    )
    return replace(start, B=B, Omega=Omega, certificate=(certificate,), constraints=constraints)


def _solve(H: Floats, g: Floats) -> Floats:
    """Solve H x = g with pivots that do not depend on units; H may be singular."""
    scale = np.sqrt(np.abs(np.diag(H)))
    return np.asarray(np.linalg.lstsq(H / np.outer(scale, scale), g / scale, rcond=None)[0] / scale)
