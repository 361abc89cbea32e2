"""What would happen if some variables were set from outside: ``intervene(fit, do={"x": 1.0})``.

Under do(x = 1) the equation of x is struck out, its error with it, and all other equations stay as
they are. So the interventional law is that of the mutilated model: rows of B, and rows and columns
of Omega, that belong to the variables set are zero. An effect of x on y is then the change of the
mean of y per unit of x, which is the entry ``[y, x]`` of ``(I - B)^-1`` (section 2.2).

The number holds for one graph. Over a class of graphs that fit alike:
:mod:`bowfree.effects.bounds`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bowfree.errors import DataError, GraphError
from bowfree.graph.names import node_index
from bowfree.graph.text import quote
from bowfree.model.fit_result import Fit
from bowfree.model.linear_sem import LinearSEM
from bowfree.results.display import MOST_ROWS, Table, TextDisplay
from bowfree.results.frames import data_frame
from bowfree.results.frozen import Frozen
from bowfree.results.serialization import ToDict
from bowfree.text_reading import join_names, short_repr
from bowfree.validation import as_list

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class IntervenedVariable(TextDisplay, ToDict):
    """One variable under an intervention.

    Attributes
    ----------
    name : str
        The variable.
    mean, sd : float
        Its interventional mean and standard deviation.
    fixed : bool
        Whether it was set from outside.
    """

    name: str
    mean: float
    sd: float
    fixed: bool

    def _headline(self) -> str:
        how = "set to" if self.fixed else "mean"
        spread = "" if self.fixed else f", sd {self.sd:.4f}"
        return f"{quote(self.name)}: {how} {self.mean:.4f}{spread}"


@dataclass(frozen=True, eq=False, repr=False)
class Intervention(TextDisplay, ToDict, Frozen):
    """The law of the variables under an intervention.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of `mean` and `covariance`.
    do : dict of str to float
        The variables that were set, and to what.
    mean : ndarray of shape (d,)
        Interventional means.
    covariance : ndarray of shape (d, d)
        Interventional covariance matrix; zero at the variables set.
    """

    names: tuple[str, ...]
    do: dict[str, float]
    mean: Floats
    covariance: Floats

    def variable(self, name: str) -> IntervenedVariable:
        """Return mean and standard deviation of one variable.

        Examples
        --------
        >>> import bowfree as bf
        >>> sem = bf.LinearSEM(bf.parse("x -> y"), [[0, 0], [2, 0]], [[1, 0], [0, 1]])
        >>> bf.intervene(sem, do={"x": 3.0}).variable("y").mean
        6.0
        """
        i = node_index(name, self.names)
        sd = math.sqrt(self.covariance[i, i])
        return IntervenedVariable(name, float(self.mean[i]), sd, name in self.do)

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each variable.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns variable, mean, sd, fixed (whether it was set from outside).
        """
        rows = [self.variable(name) for name in self.names]
        numbers = {key: [getattr(row, key) for row in rows] for key in ("mean", "sd", "fixed")}
        return data_frame({"variable": self.names, **numbers}, backend)

    def _headline(self) -> str:
        setting = ", ".join(f"{quote(name)} = {value:g}" for name, value in self.do.items())
        return f"under do({setting})"

    def _sections(self) -> Iterator[str | Table]:
        yield self._headline()
        rows = [
            (quote(v.name), f"{v.mean:.4f}", f"{v.sd:.4f}") for v in map(self.variable, self.names)
        ]
        yield Table(
            ("variable", "mean", "sd"), rows, most=MOST_ROWS, rest="more: to_frame() has all"
        )


def intervene(
    model: Fit | LinearSEM,
    do: Mapping[str, float],
    *,
    mean: Mapping[str, float] | Sequence[float] | None = None,
) -> Intervention:
    """Return the mean and the covariance of all variables when some are set from outside.

    Parameters
    ----------
    model : Fit or LinearSEM
        A fitted or known model.
    do : mapping from str to float
        The value that each intervened variable is set to.
    mean : mapping from str to float, or sequence of float in node order, optional
        Means of the variables without the intervention. A model knows no means; by default they
        are 0, so values and results are deviations from the observational means.

    Returns
    -------
    Intervention

    Raises
    ------
    GraphError
        A variable that the model does not have.
    DataError
        No variable to set, or a value that is not a finite number.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("x -> y -> z, x <-> z")
    >>> sem = bf.LinearSEM(g, [[0, 0, 0], [2, 0, 0], [0, 3, 0]],
    ...                    [[1, 0, 0.5], [0, 1, 0], [0.5, 0, 1]])
    >>> print(bf.intervene(sem, do={"x": 1.0}))
    under do(x = 1)
    variable    mean      sd
    x         1.0000  0.0000
    y         2.0000  1.0000
    z         6.0000  3.1623

    References
    ----------
    Section 2.2 of the paper, equation (causaleffect).
    """
    if not isinstance(model, Fit | LinearSEM):
        raise DataError(f"model is {short_repr(model)}: give a Fit or a LinearSEM")
    graph = model.graph
    if not isinstance(do, Mapping):
        raise DataError(f"do is {short_repr(do)}: give names and values, as do={{'x': 1.0}}")
    if not do:
        raise DataError("do is empty: name at least one variable and its value, as do={'x': 1.0}")
    values = {name: _number(f"do[{short_repr(name)}]", value) for name, value in do.items()}
    fixed = [graph._node(name) for name in values]
    base = _means(mean, graph.nodes)
    B, Omega = model.B.copy(), model.Omega.copy()
    B[fixed] = 0.0
    Omega[fixed] = 0.0
    Omega[:, fixed] = 0.0
    push = np.zeros(len(graph))
    push[fixed] = np.array(list(values.values())) - base[fixed]
    E = np.linalg.inv(np.eye(len(graph)) - B)
    with np.errstate(over="ignore", invalid="ignore"):
        covariance = E @ Omega @ E.T
        shifted = base + E @ push
    if not (np.isfinite(shifted).all() and np.isfinite(covariance).all()):
        raise DataError(
            "means or variances under the intervention are beyond the largest number, 1.8e308; "
            "set smaller values"
        )
    # Exactly zero, and not some 1e-17, where nothing is left to vary.
    covariance[fixed] = 0.0
    covariance[:, fixed] = 0.0
    shifted[fixed] = list(values.values())
    return Intervention(graph.nodes, values, shifted, (covariance + covariance.T) / 2)


def _number(what: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{what} is {short_repr(value)}: it must be a finite number")
    return number


def _means(mean: Any, names: tuple[str, ...]) -> Floats:
    if mean is None:
        return np.zeros(len(names))
    if isinstance(mean, Mapping):
        missing = [name for name in names if name not in mean]
        unknown = [name for name in mean if name not in names]
        if missing or unknown:
            raise GraphError(
                f"mean must have one value for each of {join_names(names)}; missing: "
                f"{join_names(missing) or 'none'}, unknown: {short_repr(unknown) if unknown else 'none'}"
            )
        mean = [mean[name] for name in names]
    values = list(as_list("mean", mean, "numbers", DataError))
    if len(values) != len(names):
        raise DataError(f"mean has {len(values)} values, the model has {len(names)} variables")
    return np.array(
        [_number(f"mean[{short_repr(name)}]", m) for name, m in zip(names, values, strict=True)]
    )
