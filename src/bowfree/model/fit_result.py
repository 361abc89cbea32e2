"""A fitted BAP: estimates, standard errors, fit indices, and certificates of optimality.

:class:`Fit` is made by :func:`bowfree.fit`. Standard errors are computed in
:mod:`bowfree.model.inference`, fit indices in :mod:`bowfree.model.fit_indices`, predictions and
modification indices in :mod:`bowfree.model.diagnostics`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from bowfree import _core
from bowfree.data.covariance import total_effect_matrix
from bowfree.data.missing_values import IncompleteRows
from bowfree.data.moments import Moments
from bowfree.data.sample import Floats
from bowfree.errors import BowfreeError, GraphError
from bowfree.graph.encodings import members
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.graph.names import parse_edge
from bowfree.graph.text import quote
from bowfree.model import diagnostics, inference
from bowfree.model.certificates import STATES, Certificate, State
from bowfree.model.constraints import Constraints
from bowfree.model.context import Context, ScoringRule
from bowfree.model.diagnostics import CaseResiduals, ModificationIndices, Prediction
from bowfree.model.effect_tables import TotalEffects, total_effects
from bowfree.model.fiml import FullInformation
from bowfree.model.fit_indices import (
    FitIndices,
    FitMeasures,
    ModelTest,
    ScaledIndices,
    fit_indices,
    residual_correlations,
    scaled_indices,
    srmr,
)
from bowfree.model.fit_summary import (
    Estimate,
    FitSummary,
    html_parts,
    list_estimates,
    summarize,
    text_parts,
)
from bowfree.model.inference import Information, MomentVariation, Resamples, StandardErrors
from bowfree.model.linear_sem import LinearSEM
from bowfree.model.nongaussian import ErrorEstimates
from bowfree.parameters import Baseline, Method, StandardErrorKind, TestKind
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count, to_html
from bowfree.results.frozen import Frozen, lock_arrays
from bowfree.results.graph_display import Reportable
from bowfree.results.rows import data_frame
from bowfree.results.serialization import ToDict
from bowfree.validation import check_choice


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
        Means of the variables; None for a covariance matrix.
    moments : Moments
        The data.
    se : {"standard", "robust", "robust-huber-white", "bootstrap"}
        Kind of the standard errors.
    test : {"standard", "satorra-bentler", "yuan-bentler"}
        Scaling of the chi-square statistic.
    resamples : Resamples or None
        For ``se="bootstrap"``: the parameters in each sample, in the order of :meth:`estimates`.
    baseline : {"exogenous", "independence"}
        Baseline model of CFI and TLI.
    fixed_x : bool
        Whether likelihood and inference are conditional on the exogenous variables.
    two_stage : Fit or None
        For ``missing="fiml"``, where the likelihood is that of the observed values: the fit to the
        covariance matrix estimated from them, which scores are computed from.
    constraints : Constraints or None
        Parameters that are equal or fixed.
    error_estimates : ErrorEstimates or None
        For ``errors="nongaussian"``: their covariance matrix, and the fit by covariances
        (``by_covariances``), which has the likelihood, the tests and the fit indices.
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
    resamples: Resamples | None = None
    baseline: Baseline = "exogenous"
    fixed_x: bool = False
    two_stage: Fit | None = None
    constraints: Constraints | None = None
    error_estimates: ErrorEstimates | None = None

    def _context(self) -> Context:
        return Context(self.graph, self.moments, rule=self.rule)

    @property
    def penalty(self) -> float:
        """Weight of ``log n`` per node and edge in :attr:`score`."""
        return self.rule.weight

    @property
    def full_information(self) -> bool:
        """Whether the likelihood is that of the observed values (``missing="fiml"``)."""
        return self.two_stage is not None

    @property
    def method(self) -> Method:
        """Algorithm of the fit, "newton" or "ricf"."""
        return self.rule.method

    @property
    def S(self) -> Floats:
        """Covariance matrix of the data, divisor n."""
        return self.moments.S

    def sem(self) -> LinearSEM:
        """Return the fitted model, for sampling and path tracing."""
        return LinearSEM(self.graph, self.B, self.Omega)

    # --- likelihood ---

    @cached_property
    def Sigma(self) -> Floats:
        """Fitted covariance matrix ``(I-B)^-1 Omega (I-B)^-T`` (eq. covmat)."""
        return lock_arrays(self.sem().covariance())

    @property
    def loglik(self) -> float:
        """Maximal log-likelihood (eq. likelihood); per observation when ``n`` is ``inf``."""
        per_observation = self._loglik_of_all - self._loglik_of_fixed
        return per_observation * self.n if math.isfinite(self.n) else per_observation

    @property
    def _loglik_of_all(self) -> float:
        """The log-likelihood of all variables per observation."""
        objective = math.fsum([certificate.objective for certificate in self.certificate])
        return -(len(self.B) * math.log(2 * math.pi) + objective + self._own_total[0]) / 2

    @property
    def _loglik_of_fixed(self) -> float:
        """The log-likelihood per observation of the exogenous variables, if these are fixed."""
        if not self.fixed_x:
            return 0.0
        x = list(inference.exogenous_nodes(self.graph))
        log_det = float(np.linalg.slogdet(self.S[np.ix_(x, x)])[1])
        return -(len(x) * (math.log(2 * math.pi) + 1) + log_det) / 2

    @property
    def n_parameters(self) -> int:
        """Number of nodes (variances) plus number of edges.

        Plus the number of parameters that are specific to a condition; minus the variances and
        covariances of fixed variables.
        """
        k = len(inference.exogenous_nodes(self.graph)) if self.fixed_x else 0
        return self._n_free + self._own_total[1] - k * (k + 1) // 2

    @cached_property
    def _n_free(self) -> int:
        """The number of different free entries of B and Omega."""
        if self.constraints is None:
            return len(self.B) + self.graph.n_edges
        return len(self.constraints.matrices(self._parameters)[0].T)

    @cached_property
    def _K(self) -> Floats | None:
        """The derivatives of the parameters by the free ones, if some are equal or fixed."""
        return None if self.constraints is None else self.constraints.matrices(self._parameters)[0]

    @property
    def _own_total(self) -> tuple[float, int]:
        """The part of the objective, and the number of parameters, that are specific to conditions."""
        return 0.0, 0

    @property
    def score(self) -> float:
        """Penalized score ``(loglik - penalty (#nodes + #edges) log n) / n`` (eq. score).

        The same as in a search: it is computed from the covariance matrix of the data, their
        effective number of observations ``moments.n``, and the canonical start of the fit.
        Therefore `loglik` can be higher after further starts, and differs with missing values. For
        ``n = inf`` it is the log-likelihood per observation, without a penalty. With
        ``errors="nongaussian"`` it includes the evidence of the rows beyond their covariances.
        """
        if self.two_stage is not None:
            return self.two_stage.score
        if self.error_estimates is not None:
            parents, spouses = (words[None] for words in self.graph._bits())
            data, penalty = self.moments._core_data(), self.penalty
            scores = _core.score_graphs(data, self.moments.n, penalty, parents, spouses)
            return float(scores[0])
        n = self.moments.n
        gain = math.fsum([district.gain for district in self.certificate])
        if not math.isfinite(n):
            return self._loglik_of_all - gain
        n_parameters = self._n_free + self._own_total[1]
        return self._loglik_of_all - gain - self.penalty * n_parameters * math.log(n) / n

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

    # --- comparison with the saturated and the empty model ---

    @cached_property
    def indices(self) -> FitIndices:
        """All fit indices, with the interval of RMSEA and the baseline model."""
        if self.error_estimates is not None:
            return self.error_estimates.by_covariances.indices
        d, k = len(self.B), len(self._exogenous)
        df, baseline_df = d * (d + 1) // 2 - self._n_free, (d * (d - 1) - k * (k - 1)) // 2
        variation = self._variation
        shift = variation.mean_residuals() if isinstance(variation, FullInformation) else None
        residual = srmr(self.S, self.Sigma, shift)
        return fit_indices(*variation.misfit(), df, baseline_df, self.n, residual)

    @cached_property
    def _exogenous(self) -> tuple[int, ...]:
        """The variables whose covariances the baseline model keeps."""
        return () if self.baseline == "independence" else inference.exogenous_nodes(self.graph)

    @cached_property
    def scaled(self) -> ScaledIndices | None:
        """The scaled test and its indices; None when ``test="standard"``.

        With ``missing="fiml"`` there is always one, because RMSEA, CFI and TLI must be corrected
        for missing values; its chi-square is not scaled when ``test="standard"``.
        """
        if self.error_estimates is not None:
            return self.error_estimates.by_covariances.scaled
        if self.test != "standard":
            expected = self._variation.expected_chi2(self.test)
        elif self.two_stage is not None:
            expected = float(self.df), float(self.indices.baseline_df)
        else:
            return None
        near = self._variation.approximation(self.test)
        return scaled_indices(self.indices, self.n, self.test, expected, near)

    @property
    def valid_test(self) -> ModelTest:
        """The chi-square test that is valid for these data: scaled after robust inference."""
        shown = self.indices if self.scaled is None else self.scaled
        numbers = (shown.p_value, shown.rmsea, shown.cfi, shown.tli)
        return ModelTest(shown.chi2, self.indices.df, *numbers, self.test)

    def residual_correlations(self) -> Floats:
        """Return correlations of the data minus those of the fit, shape (d, d).

        With ``errors="nongaussian"`` these are the correlations at the estimates; chi-square, SRMR
        and the other fit indices are those of the fit by covariances.
        """
        return residual_correlations(self.S, self.Sigma)

    def modification_indices(self) -> ModificationIndices:
        """Return score tests of all edges that could be added, with the expected change.

        The largest comes first. :func:`bowfree.edge_changes` refits instead, and also removes and
        reverses edges.

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
        if self.constraints is not None:
            raise BowfreeError("modification indices need a fit without equal or fixed parameters")
        if self.error_estimates is not None:
            return self.error_estimates.by_covariances.modification_indices()
        return diagnostics.modification_indices(self)

    # --- inference ---

    @cached_property
    def _parameters(self) -> tuple[inference.Parameter, ...]:
        return inference.parameter_index(
            [list(members(mask)) for mask in self.graph._parents],
            [list(members(mask)) for mask in self.graph._spouses],
        )

    def _values(self) -> Floats:
        """Return the parameters as one vector."""
        return inference.parameter_values(self.B, self.Omega, self._parameters)

    @cached_property
    def _variation(self) -> MomentVariation | FullInformation:
        rows = self.moments.sample
        if self.full_information and isinstance(rows, IncompleteRows) and self.mean is not None:
            return FullInformation(
                self.B, self.Omega, self.mean, rows, self._parameters, self._exogenous
            )
        fixed = inference.exogenous_nodes(self.graph) if self.fixed_x else ()
        model = self.B, self.Omega, self.Sigma, self.moments, self.n, self._parameters
        return MomentVariation(*model, self._exogenous, fixed, self._K)

    @cached_property
    def _standard_errors(self) -> dict[Information, StandardErrors]:
        return {}  # by kind of information, filled on demand

    def standard_errors(self, *, information: Information | None = None) -> StandardErrors:
        """Return standard errors of all parameters, of the kind :attr:`se`.

        They are NaN if the information is singular (with a :class:`FitWarning`) or ``n = inf``.

        Parameters
        ----------
        information : {"expected", "observed"}, optional
            Expected (Fisher) information, or minus the Hessian of the log-likelihood. By default
            observed for ``se="robust-huber-white"`` and ``missing="fiml"``, otherwise expected.
            Estimates with ``errors="nongaussian"`` have one sandwich, and refuse it.
        """
        if information is not None:
            check_choice("information", information, ("expected", "observed"))
            if self.error_estimates is not None:
                raise BowfreeError(
                    f"information = {information!r} is that of covariances: omit it with "
                    "errors='nongaussian', or fit with errors='gaussian'"
                )
        observed = self.full_information or self.se == "robust-huber-white"
        chosen = information or ("observed" if observed else "expected")
        if chosen not in self._standard_errors:
            if self.resamples is not None:
                covariance = self.resamples.covariance()
            elif self.error_estimates is not None:
                covariance = self.error_estimates.covariance
            else:
                covariance = self._variation.covariance(self.se, chosen)
            self._standard_errors[chosen] = StandardErrors(
                self.graph.nodes, self._parameters, covariance, chosen, self.se
            )
        return self._standard_errors[chosen]

    def estimates(
        self, *, information: Information | None = None, confidence: float = 0.95
    ) -> tuple[Estimate, ...]:
        """Return the table of parameters: regressions, covariances, variances.

        The argument `information` is that of :meth:`standard_errors`, `confidence` the level of the
        intervals.
        """
        errors = self.standard_errors(information=information)
        return list_estimates(self, errors.values, confidence)

    def edge(self, a: str, mark: str | None = None, b: str | None = None) -> Estimate:
        """Return the estimate of one edge.

        Parameters
        ----------
        a, mark, b : str
            ``fit.edge("x", "->", "y")``, with mark ``"->"``, ``"<-"`` or ``"<->"``; or the edge
            as one string, ``fit.edge("x -> y")``.
        """
        which = self._parameter_at(*parse_edge(self.graph.nodes, a, mark, b))
        return list_estimates(self, self.standard_errors().values, 0.95, [which])[0]

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

    @property
    def params(self) -> dict[str, float]:
        """The estimates by name: "x -> y", "x <-> y", "var eps(x)"."""
        edges = (inference.parameter_edge(self.graph.nodes, p) for p in self._parameters)
        labels = [inference.edge_label(*edge) for edge in edges]
        return dict(zip(labels, self._values().tolist(), strict=True))

    def conf_int(self, confidence: float = 0.95) -> dict[str, tuple[float, float]]:
        """Return the confidence intervals of all parameters, by the names of :attr:`params`."""
        rows = self.estimates(confidence=confidence)
        return {row.label: (row.lower, row.upper) for row in rows}

    def standardized(self) -> LinearSEM:
        """Return the model in units in which every variable has variance one (section 2.2)."""
        return LinearSEM(self.graph, *self._standardized())

    def _standardized(self) -> tuple[Floats, Floats]:
        sd = np.sqrt(np.diag(self.Sigma))
        return self.B * np.outer(1 / sd, sd), self.Omega / np.outer(sd, sd)

    @cached_property
    def _effects(self) -> Floats:
        """Total effects, exactly zero where no directed path leads."""
        return total_effect_matrix(self.B)

    def total_effects(self, *, information: Information | None = None) -> TotalEffects:
        """Return total causal effects ``(I-B)^-1``, with errors of delta method or bootstrap.

        The argument `information` is that of :meth:`standard_errors`.
        """
        errors = self.standard_errors(information=information)
        return total_effects(self.B, errors, self.resamples)

    # --- single observations ---

    def predict(self, data: Any, *, of: str | Sequence[str] | None = None) -> Prediction:
        """Predict variables from others, row by row: conditional expectations.

        A row with a missing value has the prediction NaN.

        Parameters
        ----------
        data : data frame, mapping of names to columns, or array_like of shape (rows, k)
            The variables to predict from. Columns that are not variables of the graph are ignored;
            an array without names contains all variables that are not predicted, in node order.
        of : str or sequence of str, optional
            The variables to predict; by default those that `data` lacks.

        Examples
        --------
        >>> import bowfree as bf
        >>> data = {"x": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.1, 5.9, 8.0]}
        >>> bf.fit(bf.parse("x -> y"), data).predict({"x": [5.0]})["y"].round(2)
        array([9.95])
        """
        return diagnostics.predict(self, data, of)

    def residuals(self, data: Any) -> CaseResiduals:
        """Return the errors of single rows, and their Mahalanobis distances.

        Parameters
        ----------
        data : array_like of shape (rows, d), data frame, or mapping of names to columns
            All variables of the graph, for the rows that were fitted or for others. The error of a
            variable is NaN if it or one of its parents is missing.
        """
        return diagnostics.residuals(self, data)

    # --- optimality ---

    @property
    def converged(self) -> bool:
        """Whether every district is certified."""
        return all(certificate.converged for certificate in self.certificate)

    @property
    def state(self) -> State:
        """The worst state of a district, from "converged" to "uncertified"."""
        return max((district.state for district in self.certificate), key=STATES.index)

    @property
    def diverging(self) -> bool:
        """Whether a district diverged: its likelihood may have no finite maximum."""
        return any(certificate.diverging for certificate in self.certificate)

    @property
    def n_iter(self) -> int:
        """Largest number of iterations over the districts."""
        if self.error_estimates is not None:
            return self.error_estimates.n_iter
        return max(certificate.n_iter for certificate in self.certificate)

    @property
    def gradient_norm(self) -> float:
        """Largest gradient entry over the districts, in parameters without unit."""
        return max(certificate.gradient_norm for certificate in self.certificate)

    # --- output ---

    def summary(self, *, information: Information | None = None) -> FitSummary:
        """Return the tables of the fit, with `information` as in :meth:`standard_errors`."""
        return summarize(self, information)

    def to_frame(self, backend: str = "pandas", *, confidence: float = 0.95) -> Any:
        """Return the estimates as a data frame of "pandas", "polars" or "pyarrow".

        Its rows are those of :meth:`estimates`, with intervals of level `confidence`: a, mark, b,
        estimate, se, z, p_value, lower, upper, std_all. ``x -> y`` has a = x and b = y; the mark of
        a variance is "variance", and both a and b are the variable.
        """
        rows = self.estimates(confidence=confidence)
        return data_frame({name: [row[name] for row in rows] for name in rows[0]}, backend)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of {count(len(self.B), 'node')} and "
            f"{count(self.graph.n_edges, 'edge')}{self._data_label()}, n = {self.n:g}, "
            f"loglik = {self.loglik:.6g}, {self.state}>"
        )

    def _data_label(self) -> str:
        """Return a description of the data for ``repr``; empty for one sample."""
        return "" if self.error_estimates is None else ", non-Gaussian errors"

    def _by_condition(self) -> Iterator[str | Table]:
        """Yield what is printed below the tables; empty for one sample."""
        yield from ()

    def _sections(self) -> Iterator[str | Table]:
        yield from text_parts(self.summary(), MOST_ROWS)
        yield from self._by_condition()

    def _repr_html_(self) -> str:
        return to_html([*html_parts(self.summary(), MOST_ROWS), *self._by_condition()])

    def _content(self) -> Any:
        numbers = ("loglik", "score", "penalty", "n_parameters", "aic", "bic", "converged")
        return {
            "nodes": self.graph.nodes,
            "n": self.n if math.isfinite(self.n) else "inf",
            "method": self.method,
            "errors": "gaussian" if self.error_estimates is None else "nongaussian",
            **{name: getattr(self, name) for name in numbers},
            **self.indices.to_dict(),
            "se": self.se,
            "test": self.test,
            "scaled": self.scaled,
            "B": self.B,
            "Omega": self.Omega,
            "estimates": self.estimates(),
            "certificate": self.certificate,
        }
