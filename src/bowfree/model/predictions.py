"""Single cases under a fitted model: what it predicts, and how far they are from it.

The joint distribution is normal with the means of the data and the fitted ``Sigma``. Of a case with
some of the variables the others have the conditional expectation

    E[x_t | x_o] = mean_t + Sigma_to Sigma_oo^-1 (x_o - mean_o),

whichever way the arrows point: a prediction is not an intervention (:func:`bowfree.intervene` is).
The residuals of a case are its errors ``eps = (I - B) (x - mean)``, and its distance
``(x - mean)^T Sigma^-1 (x - mean)`` has a chi-square distribution with d degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bowfree.data.covariance import check_cases
from bowfree.data.frames import read_observations
from bowfree.data.joint_moments import JointMoments
from bowfree.errors import DataError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.names import node_index
from bowfree.graph.text import quote
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count, number
from bowfree.results.frames import data_frame
from bowfree.results.frozen import Frozen
from bowfree.results.serialization import ToDict
from bowfree.text_reading import join_names
from bowfree.validation import as_list

if TYPE_CHECKING:
    from bowfree.model.fit_result import Fit


Floats = npt.NDArray[np.float64]


class _CaseByCase:
    """Mixin: ``[name]`` is the column of a variable."""

    names: tuple[str, ...]
    values: Floats

    def __getitem__(self, name: str) -> Floats:
        column: Floats = self.values[:, node_index(name, self.names)]
        return column

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(TextDisplay, ToDict, _CaseByCase, Frozen):
    """Conditional expectations of some variables, case by case.

    Attributes
    ----------
    names : tuple of str
        The variables that are predicted.
    given : tuple of str
        The variables that they are predicted from.
    values : ndarray of shape (cases, predicted)
        The expectations.
    sd : ndarray of shape (predicted,)
        Standard deviation about the prediction, the same for all cases; the parameters are taken to
        be known.
    r2 : ndarray of shape (predicted,)
        Share of the (fitted) variance that is predicted.
    """

    names: tuple[str, ...]
    given: tuple[str, ...]
    values: Floats
    sd: Floats
    r2: Floats

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each case and one column for each prediction.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.
        """
        return data_frame(dict(zip(self.names, self.values.T, strict=True)), backend)

    def _headline(self) -> str:
        return (
            f"{count(len(self), 'case')}, {count(len(self.names), 'variable')} from "
            f"{join_names(self.given)}"
        )

    def _sections(self) -> Iterator[str | Table]:
        yield f"predicted: {self._headline()}"
        rows = [
            (quote(name), number(self.sd[k], 4), number(self.r2[k]))
            for k, name in enumerate(self.names)
        ]
        yield Table(("variable", "sd about it", "R squared"), rows, most=MOST_ROWS, rest="more")
        yield "`values` and to_frame() have the cases"


@dataclass(frozen=True, eq=False, repr=False)
class CaseResiduals(TextDisplay, ToDict, _CaseByCase, Frozen):
    """The errors of the cases under a fitted model, and which cases it does not expect.

    Attributes
    ----------
    names : tuple of str
        The variables.
    values : ndarray of shape (cases, d)
        Errors ``eps = (I - B) (x - mean)``: what the parents of a variable do not explain.
    standardized : ndarray of shape (cases, d)
        The same divided by their fitted standard deviations.
    distance : ndarray of shape (cases,)
        Squared Mahalanobis distance of each case from the mean.
    p_value : ndarray of shape (cases,)
        Probability of a larger distance, under normality.
    """

    names: tuple[str, ...]
    values: Floats
    standardized: Floats
    distance: Floats
    p_value: Floats

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each case.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            A column for the error of each variable, then ``mahalanobis`` and ``p_value`` (with an
            underscore in front where a variable has that name).
        """
        columns = dict(zip(self.names, self.values.T, strict=True))
        for name, values in (("mahalanobis", self.distance), ("p_value", self.p_value)):
            while name in columns:
                name = f"_{name}"
            columns[name] = values
        return data_frame(columns, backend)

    def _headline(self) -> str:
        return f"{count(len(self), 'case')} of {count(len(self.names), 'variable')}"

    def _sections(self, most: int = 10) -> Iterator[str | Table]:
        """Show the cases that are farthest from what the model expects."""
        yield f"residuals of {self._headline()}; the farthest cases:"
        rows = []
        for case in np.argsort(-self.distance, kind="stable")[:most].tolist():
            k = int(np.abs(self.standardized[case]).argmax())
            rows.append(
                (
                    str(case),
                    number(self.distance[case], 2),
                    f"{self.p_value[case]:.2g}",
                    f"{quote(self.names[k])} ({self.standardized[case, k]:+.2f} sd)",
                )
            )
        yield Table(("row", "distance", "p", "largest error"), rows, left=(0, 3))


def predict(fit: Fit, data: Any, of: str | Sequence[str] | None) -> Prediction:
    """Predict variables from others; see :meth:`bowfree.Fit.predict`."""
    mean = _mean(fit, "predict")
    names = fit.graph.nodes
    wanted = None
    if of is not None:
        said = [of] if isinstance(of, str) else as_list("of", of, "names of variables")
        wanted = tuple(names[node_index(name, names)] for name in said)
    there = _column_names(data)
    if there is None and wanted is None:
        raise DataError(
            "an array has no names for its columns: say which variables to predict, as in of='y', "
            "and give all others in the order of the graph's nodes; or give a data frame"
        )
    # Columns without names are all variables that are not predicted.
    given = tuple(name for name in names if name not in (wanted or ()) and name in (there or names))
    if wanted is None:
        wanted = tuple(name for name in names if name not in given)
        if not wanted:
            raise DataError("data have all variables: say which to predict, as in of='y'")
    if not given:
        raise DataError(
            f"data have none of the variables to predict from: the graph has {join_names(names)}"
        )
    targets = [names.index(name) for name in wanted]
    _, X = read_observations(data, MixedGraph(given), "data")
    check_cases(given, X)
    known = [names.index(name) for name in given]
    Sigma = fit.Sigma
    slopes = np.linalg.solve(Sigma[np.ix_(known, known)], Sigma[np.ix_(known, targets)])
    variance = np.diag(Sigma)[targets]
    rest = variance - np.sum(Sigma[np.ix_(known, targets)] * slopes, axis=0)
    values = mean[targets] + (X - mean[known]) @ slopes
    return Prediction(
        wanted,
        given,
        values,
        np.sqrt(np.maximum(rest, 0.0)),
        1 - np.maximum(rest, 0.0) / variance,
    )


def residuals(fit: Fit, data: Any) -> CaseResiduals:
    """Return the errors of cases; see :meth:`bowfree.Fit.residuals`."""
    from scipy.special import chdtrc

    mean = _mean(fit, "residuals")
    _, X = read_observations(data, fit.graph, "data")
    check_cases(fit.graph.nodes, X)
    slopes = np.eye(len(fit.B)) - fit.B
    gaps = np.isnan(X)
    errors = np.where(gaps, 0.0, X - mean) @ slopes.T
    # A variable's error is known where it and its parents are, whatever else is missing.
    errors[gaps.astype(np.float64) @ (slopes != 0).T > 0] = np.nan
    # Sigma^-1 = (I - B)^T Omega^-1 (I - B), so the distance of x is that of its errors.
    distance = np.sum(errors * np.linalg.solve(fit.Omega, errors.T).T, axis=1)
    return CaseResiduals(
        fit.graph.nodes,
        errors,
        errors / np.sqrt(np.diag(fit.Omega)),
        distance,
        np.asarray(chdtrc(len(fit.B), distance), dtype=np.float64),
    )


def _mean(fit: Fit, method: str) -> Floats:
    if isinstance(fit.moments, JointMoments):
        raise DataError(
            f"{method} needs the means of the variables, and every condition has its own: fit one "
            "of them"
        )
    if fit.mean is None:
        raise DataError(
            f"{method} needs the means of the variables, and this fit was made from a covariance "
            "matrix: fit the data themselves, or bowfree.Moments with a mean"
        )
    return fit.mean


def _column_names(data: Any) -> set[str] | None:
    """Return the names of a table's columns, None for an array, which has none."""
    if isinstance(data, Mapping):
        return set(map(str, data))
    columns = getattr(data, "column_names", getattr(data, "columns", None))
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        return None
    return set(map(str, columns))
