"""Maximum likelihood for a given BAP: ``fit(graph, data)`` and its result (sections 2.2, 2.3).

The model is ``X = B X + eps`` with ``cov(eps) = Omega``: an entry ``B[i, j]``, the effect of j on
i, for every directed edge ``j -> i``, and an entry ``Omega[i, j]`` for every bidirected edge. The
likelihood splits over the districts of the graph (section 3.1), so the compiled core fits one
district after the other, and each fit brings its own certificate of optimality.

Next: :mod:`bowfree.inference` (standard errors), :mod:`bowfree.fit_indices` (chi-square and
friends), :mod:`bowfree.summary` (how it is printed), :mod:`bowfree.score` (graphs compared).
"""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowfree import _core, inference
from bowfree.data import Moments, read_moments
from bowfree.errors import BowfreeError, FitWarning
from bowfree.fit_indices import FitIndices, fit_indices, residual_correlations
from bowfree.graph import MixedGraph
from bowfree.inference import Information, StandardErrors, TotalEffects
from bowfree.masks import members
from bowfree.sem import LinearSEM

__all__ = ["Certificate", "Estimate", "Fit", "fit"]

Floats = npt.NDArray[np.float64]
Method = Literal["newton", "ricf"]

_RICF_ONLY = "max_iter and tol are options of method='ricf'; 'newton' runs until it is certified"


@dataclass(frozen=True)
class Certificate:
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
        Distinct local maxima met over all starts.
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


@dataclass(frozen=True)
class Estimate:
    """One line of the table of parameters, in lavaan's language.

    Attributes
    ----------
    lhs, op, rhs : str
        ``y ~ x`` is the effect of x on y, ``y ~~ z`` an error covariance, ``y ~~ y`` a variance.
    estimate, se, z, p_value : float
        Estimate, standard error, their ratio, and the two-sided p-value.
    std_all : float
        Standardised estimate: an effect in standard deviations, an error correlation, or the
        share of the variance that is unexplained.
    """

    lhs: str
    op: Literal["~", "~~"]
    rhs: str
    estimate: float
    se: float
    z: float
    p_value: float
    std_all: float


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """A fitted BAP; made by :func:`fit`.

    Attributes
    ----------
    graph : MixedGraph
        The graph; its node order is the order of all matrices.
    n : float
        Number of observations, ``inf`` for a population covariance matrix.
    S : ndarray of shape (d, d)
        Covariance matrix of the data, divisor n.
    B : ndarray of shape (d, d)
        ``B[i, j]`` is the direct effect of j on i.
    Omega : ndarray of shape (d, d)
        Covariance matrix of the errors.
    penalty : float
        Weight of ``log n`` per node and edge in :attr:`score`.
    method : {"newton", "ricf"}
        How it was fitted.
    certificate : tuple of Certificate
        One for each district.
    """

    graph: MixedGraph
    n: float
    S: Floats
    B: Floats
    Omega: Floats
    penalty: float
    method: Method
    certificate: tuple[Certificate, ...]

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
        E = np.linalg.inv(np.eye(len(self.B)) - self.B)
        Sigma = E @ self.Omega @ E.T
        return (Sigma + Sigma.T) / 2

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

    @property
    def score(self) -> float:
        """Penalised score ``(loglik - penalty (#nodes + #edges) log n) / n`` (eq. score).

        For ``n = inf`` it is the log-likelihood per observation: there is no penalty.
        """
        if not math.isfinite(self.n):
            return self.loglik
        return (self.loglik - self.penalty * self.n_parameters * math.log(self.n)) / self.n

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
        return fit_indices(self.S, self.Sigma, self.n, self.n_parameters)

    @property
    def chi2(self) -> float:
        """Likelihood-ratio statistic against the saturated model."""
        return self.indices.chi2

    @property
    def df(self) -> int:
        """Degrees of freedom of :attr:`chi2`: d (d + 1) / 2 minus the number of parameters."""
        return self.indices.df

    @property
    def p_value(self) -> float:
        """Upper tail probability of :attr:`chi2`; NaN when ``df = 0``."""
        return self.indices.p_value

    @property
    def rmsea(self) -> float:
        """Root mean square error of approximation."""
        return self.indices.rmsea

    @property
    def cfi(self) -> float:
        """Comparative fit index."""
        return self.indices.cfi

    @property
    def tli(self) -> float:
        """Tucker–Lewis index."""
        return self.indices.tli

    @property
    def srmr(self) -> float:
        """Standardised root mean square residual."""
        return self.indices.srmr

    def residual_correlations(self) -> Floats:
        """Correlations of the data minus those of the fit, shape (d, d)."""
        return residual_correlations(self.S, self.Sigma)

    # --- inference ---

    @cached_property
    def _parameters(self) -> tuple[inference.Parameter, ...]:
        return inference.parameter_index(
            [list(members(mask)) for mask in self.graph._parents],
            [list(members(mask)) for mask in self.graph._spouses],
        )

    def standard_errors(self, *, information: Information = "expected") -> StandardErrors:
        """Return standard errors of all parameters.

        Parameters
        ----------
        information : {"expected", "observed"}
            Expected (Fisher) information, or minus the Hessian of the log-likelihood.

        Returns
        -------
        StandardErrors
            NaN throughout, with a :class:`FitWarning`, where the information is singular; NaN
            without a warning for ``n = inf``.
        """
        return inference.standard_errors(
            self.graph.nodes, self.B, self.Omega, self.S, self.n, self._parameters, information
        )

    def estimates(self, *, information: Information = "expected") -> tuple[Estimate, ...]:
        """Return the table of parameters: regressions, covariances, variances.

        Parameters
        ----------
        information : {"expected", "observed"}
            What the standard errors are computed from.

        Returns
        -------
        tuple of Estimate
        """
        errors = self.standard_errors(information=information)
        standardized_B, standardized_Omega = self.standardized()
        names, sd_errors = self.graph.nodes, np.sqrt(np.diag(self.Omega))
        values = np.array(
            [(self.B if kind == "B" else self.Omega)[i, j] for kind, i, j in self._parameters]
        )
        se = np.sqrt(np.diag(errors.covariance))
        z, p_value = inference.wald(values, se)
        table = []
        for s, (kind, i, j) in enumerate(self._parameters):
            if kind == "B":
                std_all = standardized_B[i, j]
            elif i == j:
                std_all = standardized_Omega[i, i]
            else:
                std_all = self.Omega[i, j] / (sd_errors[i] * sd_errors[j])
            numbers = (float(x) for x in (values[s], se[s], z[s], p_value[s], std_all))
            table.append(Estimate(names[i], "~" if kind == "B" else "~~", names[j], *numbers))
        return tuple(table)

    def standardized(self) -> tuple[Floats, Floats]:
        """Return B and Omega for variables scaled to (fitted) variance one.

        Returns
        -------
        B, Omega : ndarray of shape (d, d)
            The parameters of the normalised model of section 2.2.
        """
        sd = np.sqrt(np.diag(self.Sigma))
        return self.B * np.outer(1 / sd, sd), self.Omega / np.outer(sd, sd)

    def total_effects(self, *, information: Information = "expected") -> TotalEffects:
        """Return total causal effects ``(I-B)^-1`` with delta-method standard errors.

        Parameters
        ----------
        information : {"expected", "observed"}
            What the standard errors are computed from.

        Returns
        -------
        TotalEffects
        """
        return inference.total_effects(self.B, self.standard_errors(information=information))

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

    def summary(self, *, information: Information = "expected") -> str:
        """Return the fit as text, laid out as a lavaan user expects it.

        Parameters
        ----------
        information : {"expected", "observed"}
            What the standard errors are computed from.

        Returns
        -------
        str
        """
        from bowfree.summary import text_summary

        return text_summary(self, information)

    def report(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write all about the fit into one HTML file that needs no network.

        Parameters
        ----------
        path : str or path
            The file; one that exists is overwritten.
        **options
            Those of :func:`bowfree.report.render`.

        Returns
        -------
        Path
            The file.
        """
        from bowfree.report import write

        return write(path, self, **options)

    def __repr__(self) -> str:
        state = "diverging" if self.diverging else "converged" if self.converged else "uncertified"
        return (
            f"<Fit of {len(self.B)} nodes and {self.n_parameters - len(self.B)} edges, "
            f"n = {self.n:g}, loglik = {self.loglik:.6g}, {state}>"
        )

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from bowfree.summary import html_summary

        return html_summary(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything that describes the fit, ready for ``json.dumps`` (NaN becomes None)."""
        numbers = {
            name: getattr(self, name)
            for name in ("loglik", "score", "penalty", "n_parameters", "aic", "bic", "converged")
        }
        content = {
            "nodes": list(self.graph.nodes),
            "n": self.n if math.isfinite(self.n) else "inf",
            "method": self.method,
            **numbers,
            **self.indices.to_dict(),
            "B": self.B.tolist(),
            "Omega": self.Omega.tolist(),
            "estimates": [asdict(estimate) for estimate in self.estimates()],
            "certificate": [asdict(certificate) for certificate in self.certificate],
        }
        cleaned = _without_nan(content)
        assert isinstance(cleaned, dict)
        return cleaned


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def fit(
    graph: MixedGraph,
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    penalty: float = 1.0,
    method: Method = "newton",
    max_iter: int | None = None,
    tol: float | None = None,
    n_starts: int = 1,
    rng: Any = None,
) -> Fit:
    """Fit a BAP by maximum likelihood.

    Parameters
    ----------
    graph : MixedGraph
        A bow-free acyclic path diagram.
    data : array_like of shape (n, d) or data frame, optional
        Observations in rows; columns of a data frame are matched with the nodes by name.
    cov : array_like of shape (d, d) or data frame, optional
        Covariance matrix, in place of `data`.
    n : int or inf, optional
        Number of observations behind `cov`. With ``inf``, a population covariance matrix, the
        log-likelihood is per observation, the score has no penalty, and what speaks of samples
        (AIC, BIC, chi-square, standard errors) is NaN.
    ddof : {1, 0}
        `cov` was computed with divisor ``n - ddof``.
    penalty : float
        Weight of ``log n`` per node and edge in the score: 1 is the paper's, 0.5 the usual BIC.
    method : {"newton", "ricf"}
        ``"newton"`` goes on to a certified maximum. ``"ricf"`` is the algorithm of the paper, from
        B = 0; with ``max_iter=10`` it stops where the paper stopped, converged or not.
    max_iter, tol : int, float, optional
        Only for ``"ricf"``: largest number of sweeps (default 1000), and the summed absolute
        change of B and Omega below which it stops (default 1e-6).
    n_starts : int
        Only for ``"newton"``: number of starts. The likelihood of some graphs has several maxima;
        the best one found is returned, and ``certificate`` says how many were met.
    rng : seed or numpy.random.Generator, optional
        For the starts after the first.

    Returns
    -------
    Fit

    Warns
    -----
    FitWarning
        When a district's fit is not certified, or a coefficient runs to infinity.

    References
    ----------
    Sections 2.2 and 2.3 of the paper, eqs. (covmat), (likelihood), (maxlikelihood), (score).

    Examples
    --------
    The instrumental-variable-like graph ``x -> y -> z`` with ``x <-> z``:

    >>> import bowfree as bf
    >>> g = bf.MixedGraph(list("xyz"), directed=[("x", "y"), ("y", "z")], bidirected=[("x", "z")])
    >>> S = [[1.0, 0.5, 0.7], [0.5, 1.0, 0.8], [0.7, 0.8, 2.0]]
    >>> result = bf.fit(g, cov=S, n=200)
    >>> round(float(result.B[1, 0]), 3), round(float(result.B[2, 1]), 3)
    (0.5, 0.6)
    """
    moments = read_moments(data, cov=cov, n=n, ddof=ddof, graph=graph)
    result = fit_moments(
        graph,
        moments,
        penalty=penalty,
        method=method,
        max_iter=max_iter,
        tol=tol,
        n_starts=n_starts,
        rng=rng,
    )
    warn_if_doubtful(result.certificate, stacklevel=3)
    return result


def fit_moments(
    graph: MixedGraph,
    moments: Moments,
    *,
    penalty: float = 1.0,
    method: Method = "newton",
    max_iter: int | None = None,
    tol: float | None = None,
    n_starts: int = 1,
    rng: Any = None,
) -> Fit:
    """Fit a graph to moments that have passed the gate; the options are those of :func:`fit`."""
    if not penalty >= 0:
        raise BowfreeError(f"penalty = {penalty!r}: must be a number >= 0 (1 is the paper's)")
    sweeps = sweeps_of(method, max_iter)
    if method == "newton" and tol is not None:
        raise BowfreeError(_RICF_ONLY)
    if method == "ricf" and n_starts != 1:
        raise BowfreeError("n_starts is an option of method='newton'; 'ricf' has the paper's start")
    if n_starts < 1:
        raise BowfreeError(f"n_starts = {n_starts}: must be at least 1")
    seed = int(np.random.default_rng(rng).integers(2**63)) if n_starts > 1 else 0
    core = _core.fit_graph(
        np.ascontiguousarray(moments.S),
        *graph._bits(),
        method=method,
        max_iter=sweeps,
        tol=1e-6 if tol is None else tol,
        n_starts=n_starts,
        seed=seed,
    )
    certificate = tuple(
        Certificate(tuple(graph.nodes[i] for i in district), *numbers)
        for district, *numbers in zip(
            core.districts,
            core.objective,
            core.converged,
            core.decrement,
            core.gradient_norm,
            core.smallest_eigenvalue,
            core.diverging,
            core.n_iter,
            core.n_optima,
            strict=True,
        )
    )
    B, Omega = core.B, core.Omega
    B.flags.writeable = Omega.flags.writeable = False
    return Fit(graph, moments.n, moments.S, B, Omega, penalty, method, certificate)


def sweeps_of(method: Method, max_iter: int | None) -> int:
    """Return the number of RICF sweeps behind a score, 0 for a converged one."""
    if method not in ("newton", "ricf"):
        raise BowfreeError(f"method = {method!r}: must be 'newton' or 'ricf'")
    if method == "newton":
        if max_iter is not None:
            raise BowfreeError(_RICF_ONLY)
        return 0
    if max_iter is not None and max_iter < 1:
        raise BowfreeError(f"max_iter = {max_iter}: must be at least 1")
    return 1000 if max_iter is None else max_iter


def warn_if_doubtful(certificate: tuple[Certificate, ...], *, stacklevel: int) -> None:
    """Say which districts have no certified maximum."""
    for district in certificate:
        where = f"district {{{', '.join(district.nodes)}}}"
        if district.diverging:
            warnings.warn(
                f"{where}: a coefficient runs to infinity, or Omega to a singular matrix, while "
                "the likelihood still grows; there may be no finite maximum (more starts can tell)",
                FitWarning,
                stacklevel=stacklevel + 1,
            )
        elif not district.converged:
            warnings.warn(
                f"{where}: no certified maximum after {district.n_iter} iterations (the score may "
                f"still gain {district.decrement:.2g}); try more starts or iterations, or another "
                "graph",
                FitWarning,
                stacklevel=stacklevel + 1,
            )
