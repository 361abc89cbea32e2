"""A fitted BAP: estimates, standard errors, fit indices, and the proof of its own optimality.

:class:`Fit` is made by :func:`bowfree.fit` (:mod:`bowfree.model.fitting`). What it computes on
demand is told in :mod:`bowfree.model.inference` (standard errors),
:mod:`bowfree.model.parameter_table` (estimates by name), :mod:`bowfree.model.fit_indices`
(chi-square and friends) and :mod:`bowfree.model.fit_summary` (how it is printed).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree.data.missing_values import IncompleteRows
from bowfree.data.moments import Moments
from bowfree.errors import GraphError
from bowfree.graph.encodings import members
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.text import quote
from bowfree.model import inference
from bowfree.model import predictions as cases
from bowfree.model.certificate import Certificate
from bowfree.model.context import Context
from bowfree.model.estimate import Estimate
from bowfree.model.fiml import FullInformation
from bowfree.model.fit_indices import (
    FitIndices,
    FitMeasures,
    ScaledIndices,
    fit_indices,
    residual_correlations,
    scaled_indices,
    units_of,
)
from bowfree.model.fit_summary import FitSummary, html_parts, summarize, text_parts
from bowfree.model.inference import Information, StandardErrors, TotalEffects
from bowfree.model.linear_sem import LinearSEM
from bowfree.model.modification_indices import ModificationIndices, modification_indices
from bowfree.model.parameter_table import estimate_of_edge, estimates_frame, list_estimates
from bowfree.model.predictions import CaseResiduals, Prediction
from bowfree.model.scoring_rule import ScoringRule
from bowfree.model.variation import MomentVariation, Variation
from bowfree.parameters import Method, StandardErrorKind, TestKind
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count, to_html
from bowfree.results.frozen import Frozen, lock_arrays
from bowfree.results.graph_display import Reportable
from bowfree.results.serialization import ToDict
from bowfree.validation import check_choice

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Fit(TextDisplay, ToDict, Frozen, FitMeasures, Reportable):
    """A fitted BAP; made by :func:`fit`.

    Attributes
    ----------
    graph : MixedGraph
        The graph; its node order is the order of all matrices.
    n : float
        Number of observations, ``inf`` for a population covariance matrix.
    B : ndarray of shape (d, d)
        ``B[i, j]`` is the direct effect of j on i.
    Omega : ndarray of shape (d, d)
        Covariance matrix of the errors.
    rule : ScoringRule
        Penalty of :attr:`score`, and method of the fit.
    certificate : tuple of Certificate
        One for each district.
    mean : ndarray of shape (d,) or None
        Means of the variables; None when a covariance matrix was given.
    moments : Moments
        What was fitted.
    se : {"standard", "robust", "robust-huber-white", "bootstrap"}
        What the standard errors rely on.
    test : {"standard", "satorra-bentler", "yuan-bentler"}
        Whether, and how, the chi-square statistic is scaled.
    resampled : ndarray of shape (m, q) or None
        For ``se="bootstrap"``: the parameters in each of the m samples, in the order of
        :meth:`estimates`.
    full_information : bool
        Whether the likelihood is that of the observed cells of rows with gaps
        (``missing="fiml"``), and not a function of `S`.
    """

    graph: MixedGraph
    n: float
    B: Floats
    Omega: Floats
    rule: ScoringRule
    certificate: tuple[Certificate, ...]
    mean: Floats | None
    moments: Moments
    se: StandardErrorKind = "standard"
    test: TestKind = "standard"
    resampled: Floats | None = None
    full_information: bool = False

    def _context(self) -> Context:
        return Context(self.graph, self.moments, rule=self.rule)

    @property
    def penalty(self) -> float:
        """Weight of ``log n`` per node and edge in :attr:`score`."""
        return self.rule.weight

    @property
    def method(self) -> Method:
        """Algorithm of the fit, "newton" or "ricf"."""
        return self.rule.method

    @property
    def S(self) -> Floats:
        """Covariance matrix of the data, divisor n."""
        return self.moments.S

    def sem(self) -> LinearSEM:
        """Return the fitted model, to sample from or to ask for effects.

        Returns
        -------
        LinearSEM
        """
        return LinearSEM(self.graph, self.B, self.Omega)

    # --- likelihood ---

    @cached_property
    def Sigma(self) -> Floats:
        """Fitted covariance matrix ``(I-B)^-1 Omega (I-B)^-T`` (eq. covmat)."""
        units = units_of(self.moments.variances)
        E = np.linalg.inv(np.eye(len(self.B)) - self.B * units / units[:, None])
        Sigma = (E @ (self.Omega / units / units[:, None]) @ E.T) * units * units[:, None]
        symmetric: Floats = (Sigma + Sigma.T) / 2
        lock_arrays(symmetric)
        return symmetric

    @property
    def loglik(self) -> float:
        """Maximal log-likelihood (eq. likelihood); per observation when ``n`` is ``inf``."""
        objective = math.fsum(certificate.objective for certificate in self.certificate)
        per_observation = -(len(self.B) * math.log(2 * math.pi) + objective) / 2
        return per_observation * self.n if math.isfinite(self.n) else per_observation

    @property
    def n_parameters(self) -> int:
        """Number of nodes (variances) plus number of edges."""
        return len(self._parameters)

    def _set_terms(self) -> tuple[Floats, npt.NDArray[np.int_]]:
        """Return what each variable has to itself, whatever the graph: nothing, in one sample."""
        return np.zeros(len(self.B)), np.zeros(len(self.B), dtype=int)

    @property
    def score(self) -> float:
        """Penalized score ``(loglik - penalty (#nodes + #edges) log n) / n`` (eq. score).

        For ``n = inf`` it is the log-likelihood per observation: there is no penalty. A score is
        computed from the canonical start; where further starts found a higher likelihood, `loglik`
        is that of the higher one.
        """
        gain = math.fsum(district.gain for district in self.certificate)
        if not math.isfinite(self.n):
            return self.loglik - gain
        penalty = self.penalty * self.n_parameters * math.log(self.n)
        return (self.loglik - penalty) / self.n - gain

    @property
    def aic(self) -> float:
        """Akaike's criterion ``-2 loglik + 2 n_parameters``; NaN for ``n = inf``."""
        return -2 * self.loglik + 2 * self.n_parameters if math.isfinite(self.n) else math.nan

    @property
    def bic(self) -> float:
        """Bayesian criterion ``-2 loglik + n_parameters log n``; NaN for ``n = inf``."""
        if not math.isfinite(self.n):
            return math.nan
        return -2 * self.loglik + self.n_parameters * math.log(self.n)

    # --- fit against the saturated and the empty model ---

    @cached_property
    def indices(self) -> FitIndices:
        """All fit indices, with the RMSEA's interval and the baseline model."""
        misfit = self._variation.misfit()
        return fit_indices(self.S, self.Sigma, self.n, self.n_parameters, misfit)

    @cached_property
    def scaled(self) -> ScaledIndices | None:
        """The scaled test and its indices; None when ``test="standard"``."""
        if self.test == "standard":
            return None
        expected = self._variation.expected_chi2(self.test)
        near = self._variation.approximation(self.test)
        return scaled_indices(self.indices, self.n, self.test, expected, near)

    def residual_correlations(self) -> Floats:
        """Correlations of the data minus those of the fit, shape (d, d)."""
        return residual_correlations(self.S, self.Sigma)

    def modification_indices(self) -> ModificationIndices:
        """Return score tests of all edges that could be added, with the expected change.

        Returns
        -------
        ModificationIndices
            The largest first. :func:`bowfree.edge_changes` refits instead, and also has what is
            lost without an edge or by turning it.

        Examples
        --------
        >>> import bowfree as bf
        >>> S = [[1.0, 0.5, 0.4], [0.5, 1.0, 0.6], [0.4, 0.6, 1.0]]
        >>> fit = bf.fit(bf.parse("x -> y -> z"), cov=S, n=200)
        >>> print(fit.modification_indices())
        edge     index       p  expected change  std. all
        x -> z   4.167  0.0412           0.1333     0.133
        x <-> z  4.167  0.0412           0.1327     0.167
        skipped: 2 would make a bow, 3 would make a cycle

        References
        ----------
        D. Sörbom, Model modification, Psychometrika 54 (1989).
        """
        return modification_indices(self)

    # --- inference ---

    @cached_property
    def _parameters(self) -> tuple[inference.Parameter, ...]:
        return inference.parameter_index(
            [list(members(mask)) for mask in self.graph._parents],
            [list(members(mask)) for mask in self.graph._spouses],
        )

    @cached_property
    def _variation(self) -> Variation:
        rows = self.moments.sample
        if self.full_information and isinstance(rows, IncompleteRows) and self.mean is not None:
            return FullInformation(
                self.B, self.Omega, self.mean, self.loglik, rows, self._parameters
            )
        return MomentVariation(
            self.B, self.Omega, self.Sigma, self.moments, self.n, self._parameters
        )

    def standard_errors(self, *, information: Information | None = None) -> StandardErrors:
        """Return standard errors of all parameters, of the kind :attr:`se` that was chosen.

        Parameters
        ----------
        information : {"expected", "observed"}, optional
            Expected (Fisher) information, or minus the Hessian of the log-likelihood; by default
            what goes with :attr:`se`: observed for ``"robust-huber-white"`` and for
            ``missing="fiml"``, else expected.

        Returns
        -------
        StandardErrors
            NaN throughout, with a :class:`FitWarning`, where the information is singular; NaN
            without a warning for ``n = inf``.
        """
        if information is not None:
            check_choice("information", information, ("expected", "observed"))
        chosen = information or self._variation.information(self.se)
        if self.resampled is not None:
            covariance = np.atleast_2d(np.cov(self.resampled, rowvar=False))
        else:
            covariance = self._variation.covariance(self.se, chosen)
        return inference.standard_errors(
            self.graph.nodes, self._parameters, covariance, chosen, self.se
        )

    def estimates(self, *, information: Information | None = None) -> tuple[Estimate, ...]:
        """Return the table of parameters: regressions, covariances, variances.

        Parameters
        ----------
        information : {"expected", "observed"}, optional
            What the standard errors are computed from, as in :meth:`standard_errors`.

        Returns
        -------
        tuple of Estimate
        """
        return list_estimates(self, self.standard_errors(information=information))

    def _values(self) -> Floats:
        """Return the parameters as one vector."""
        return np.array(
            [(self.B if kind == "B" else self.Omega)[i, j] for kind, i, j in self._parameters]
        )

    @property
    def params(self) -> dict[str, float]:
        """The estimates by name: "x -> y", "x <-> y", "var eps(x)"."""
        labels = inference.parameter_labels(self.graph.nodes, self._parameters)
        return dict(zip(labels, self._values().tolist(), strict=True))

    @cached_property
    def _effects(self) -> Floats:
        """Total effects, exactly zero where no directed path leads."""
        return self.sem()._effects()

    def _parameter_at(self, i: int, mark: Literal["->", "<->"], j: int) -> int:
        """Return the index of the parameter of an edge between nodes by number, or raise."""
        wanted = ("B", j, i) if mark == "->" else ("Omega", min(i, j), max(i, j))
        if wanted in self._parameters:
            return self._parameters.index(wanted)
        a, b = self.graph.nodes[i], self.graph.nodes[j]
        seen = str(self.graph.subgraph([a, b])) if self.graph.adjacent(a, b) else "no edge"
        raise GraphError(
            f"the graph has no edge {quote(a)} {mark} {quote(b)}: this pair has {seen}"
        )

    def edge(self, a: str, mark: str | None = None, b: str | None = None) -> Estimate:
        """Return the estimate that belongs to an edge.

        Parameters
        ----------
        a, mark, b : str
            ``fit.edge("x", "->", "y")``, with mark ``"->"``, ``"<-"`` or ``"<->"``; or the edge
            as one text, ``fit.edge("x -> y")``.

        Returns
        -------
        Estimate
            With expected information; others by :meth:`estimates`.

        Raises
        ------
        GraphError
            A name or an edge that the graph does not have.

        Examples
        --------
        >>> import bowfree as bf
        >>> fit = bf.fit(bf.parse("x -> y"), cov=[[1.0, 0.5], [0.5, 1.0]], n=300)
        >>> fit.edge("x", "->", "y").estimate, fit.edge("y <- x").estimate
        (0.5, 0.5)
        """
        return estimate_of_edge(self, a, mark, b)

    def standardized(self) -> LinearSEM:
        """Return the fitted model in units in which every variable has (fitted) variance one.

        Returns
        -------
        LinearSEM
            With the parameters B and Omega of the normalized model of section 2.2.
        """
        return LinearSEM(self.graph, *self._standardized())

    def _standardized(self) -> tuple[Floats, Floats]:
        sd = np.sqrt(np.diag(self.Sigma))
        return self.B * np.outer(1 / sd, sd), self.Omega / np.outer(sd, sd)

    def total_effects(self, *, information: Information | None = None) -> TotalEffects:
        """Return total causal effects ``(I-B)^-1`` with delta-method standard errors.

        Parameters
        ----------
        information : {"expected", "observed"}, optional
            What the standard errors are computed from, as in :meth:`standard_errors`.

        Returns
        -------
        TotalEffects
        """
        return inference.total_effects(self.B, self.standard_errors(information=information))

    # --- cases ---

    def predict(self, data: Any, *, of: str | Sequence[str] | None = None) -> Prediction:
        """Predict variables from others, case by case: conditional expectations.

        Parameters
        ----------
        data : data frame, mapping of names to columns, or array_like of shape (cases, k)
            What is known of each case. Columns that are no variables of the graph are left out; a
            bare array has all variables that are not predicted, in the order of the graph's nodes.
        of : str or sequence of str, optional
            What to predict; by default the variables that `data` have not.

        Returns
        -------
        Prediction
            NaN for a case with a missing value.

        Examples
        --------
        >>> import bowfree as bf
        >>> data = {"x": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.1, 5.9, 8.0]}
        >>> bf.fit(bf.parse("x -> y"), data).predict({"x": [5.0]})["y"].round(2)
        array([9.95])
        """
        return cases.predict(self, data, of)

    def residuals(self, data: Any) -> CaseResiduals:
        """Return the errors of single cases, and their distances from what the model expects.

        Parameters
        ----------
        data : array_like of shape (cases, d), data frame, or mapping of names to columns
            All variables of the graph, of the cases that were fitted or of others.

        Returns
        -------
        CaseResiduals
            NaN where the variable itself or one of its parents is missing.

        Examples
        --------
        >>> import bowfree as bf
        >>> data = {"x": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.1, 5.9, 8.0]}
        >>> bf.fit(bf.parse("x -> y"), data).residuals(data)["y"].round(2)
        array([-0.03,  0.09, -0.09,  0.03])
        """
        return cases.residuals(self, data)

    # --- optimality ---

    @property
    def converged(self) -> bool:
        """True when every district is certified."""
        return all(certificate.converged for certificate in self.certificate)

    @property
    def diverging(self) -> bool:
        """True when a district ran off: its likelihood may have no finite maximum."""
        return any(certificate.diverging for certificate in self.certificate)

    @property
    def n_iter(self) -> int:
        """Largest number of iterations over the districts."""
        return max(certificate.n_iter for certificate in self.certificate)

    @property
    def gradient_norm(self) -> float:
        """Largest gradient entry over the districts, in parameters without unit."""
        return max(certificate.gradient_norm for certificate in self.certificate)

    # --- output ---

    def summary(self, *, information: Information | None = None) -> FitSummary:
        """Return the tables of the fit, laid out as a lavaan user expects them; ``print`` it.

        Parameters
        ----------
        information : {"expected", "observed"}, optional
            What the standard errors are computed from, as in :meth:`standard_errors`.

        Returns
        -------
        FitSummary
        """
        return summarize(self, information)

    def to_frame(self, backend: str = "pandas", *, confidence: float = 0.95) -> Any:
        """Return the estimates as a data frame, one row for each parameter.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.
        confidence : float
            Level of the intervals.

        Returns
        -------
        data frame
            Columns a, mark, b, estimate, se, z, p_value, lower, upper (the confidence interval),
            std_all. ``x -> y`` has a = x and b = y; the mark of a variance is "variance", and both
            a and b are the variable.

        Examples
        --------
        >>> import bowfree as bf
        >>> fit = bf.fit(bf.parse("x -> y"), cov=[[1.0, 0.5], [0.5, 1.0]], n=300)
        >>> fit.to_frame().query("mark == '->'")[["a", "mark", "b", "estimate"]]
           a mark  b  estimate
        0  x   ->  y       0.5
        """
        return estimates_frame(self.estimates(), backend, confidence)

    def __repr__(self) -> str:
        state = "diverging" if self.diverging else "converged" if self.converged else "uncertified"
        return (
            f"<{type(self).__name__} of {count(len(self.B), 'node')} and "
            f"{count(self.graph.n_edges, 'edge')}{self._to_what()}, n = {self.n:g}, "
            f"loglik = {self.loglik:.6g}, {state}>"
        )

    def _to_what(self) -> str:
        """Return what is worth telling of the data in one line: nothing, of one sample."""
        return ""

    def _sections(self) -> Iterator[str | Table]:
        return text_parts(self.summary(), MOST_ROWS)

    def _repr_html_(self) -> str:
        return to_html(html_parts(self.summary(), MOST_ROWS))

    def _content(self) -> Any:
        numbers = ("loglik", "score", "penalty", "n_parameters", "aic", "bic", "converged")
        return {
            "nodes": self.graph.nodes,
            "n": self.n if math.isfinite(self.n) else "inf",
            "method": self.method,
            **{name: getattr(self, name) for name in numbers},
            **self.indices.to_dict(),
            "se": self.se,
            "test": self.test,
            "scaled": self.scaled,
            "B": self.B,
            "Omega": self.Omega,
            "estimates": [e.to_dict() for e in self.estimates()],
            "certificate": self.certificate,
        }
