"""Fit indices: chi-square, RMSEA, CFI, TLI and SRMR, as in lavaan (likelihood "normal").

All of them compare the fitted Sigma with the covariance matrix S (divisor n) through

    F_ML = log |Sigma| + tr(Sigma^-1 S) - log |S| - d,

and ``chi2 = n F_ML``. For a population matrix (``n = inf``) there is no test; RMSEA, CFI and TLI
are then the limits for large n, which are properties of the model. If S is singular (``n <= d``),
the saturated model has no likelihood and all indices but SRMR are NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bowfree.data.sample import Floats
from bowfree.parameters import TestKind
from bowfree.results.display import Table, TextDisplay, number, p_cell, p_text
from bowfree.results.serialization import ToDict


@dataclass(frozen=True, repr=False)
class FitIndices(TextDisplay, ToDict):
    """Fit of a model compared with the saturated model and with a baseline model.

    Attributes
    ----------
    chi2, df, p_value : float, int, float
        Likelihood-ratio test against the saturated model. The p-value is NaN when ``df = 0``.
    rmsea, rmsea_lower, rmsea_upper, rmsea_p_close : float
        Root mean square error of approximation, its 90 % interval, and the p-value of the
        hypothesis that it is at most 0.05.
    cfi, tli : float
        Comparative fit index and Tucker–Lewis index.
    srmr : float
        Standardized root mean square residual over the d (d + 1) / 2 entries; after
        full-information maximum likelihood also over the d means.
    baseline_chi2, baseline_df : float, int
        The same test for the baseline model.
    """

    chi2: float
    df: int
    p_value: float
    rmsea: float
    rmsea_lower: float
    rmsea_upper: float
    rmsea_p_close: float
    cfi: float
    tli: float
    srmr: float
    baseline_chi2: float
    baseline_df: int

    def facts(self) -> list[tuple[str, str]]:
        """Return label and value of each available index."""
        return [
            ("Chi-square", number(self.chi2)),
            ("Degrees of freedom", str(self.df)),
            ("P-value (chi-square)", p_cell(self.p_value, 3)),
            *self._approximate(""),
            ("P-value (RMSEA <= 0.05)", p_cell(self.rmsea_p_close, 3)),
            ("SRMR", number(self.srmr)),
        ]

    def _approximate(self, prefix: str) -> list[tuple[str, str]]:
        interval = f"{self.rmsea_lower:.3f} – {self.rmsea_upper:.3f}"
        return [
            (f"{prefix}CFI", number(self.cfi)),
            (f"{prefix}TLI", number(self.tli)),
            (f"{prefix}RMSEA", number(self.rmsea)),
            (f"{prefix}RMSEA 90 % interval", "" if math.isnan(self.rmsea_lower) else interval),
        ]

    def _headline(self) -> str:
        test = "" if math.isnan(self.chi2) else f"chi-square {self.chi2:.3f} on {self.df} df, "
        near = {"RMSEA": self.rmsea, "CFI": self.cfi, "SRMR": self.srmr}
        return test + ", ".join(f"{k} {v:.3f}" for k, v in near.items() if not math.isnan(v))

    def _sections(self) -> Iterator[str | Table]:
        yield Table((), [fact for fact in self.facts() if fact[1]])


@dataclass(frozen=True, repr=False)
class ScaledIndices(FitIndices):
    """The chi-square test, scaled for data that are not normal, and the indices based on it.

    RMSEA, CFI and TLI estimate the same population values as those of normal theory; only the
    correction for chance differs (lavaan's "robust").

    Attributes
    ----------
    test : {"satorra-bentler", "yuan-bentler", "standard"}
        Method of the scaling factor; "standard" for full-information maximum likelihood without
        scaling.
    scaling_factor, baseline_scaling_factor : float
        The numbers by which both chi-squares were divided. In small samples Yuan and Bentler's
        factor can be negative; the scaled test is then NaN.
    chi2, df, p_value, rmsea, cfi, tli, ...
        As for :class:`FitIndices`.
    """

    test: TestKind
    scaling_factor: float
    baseline_scaling_factor: float

    def facts(self) -> list[tuple[str, str]]:
        """Return label and value of each index that differs from normal theory."""
        robust = self._approximate("Robust ")
        if self.test == "standard":
            return robust
        name = {"satorra-bentler": "Satorra–Bentler"}.get(self.test, "Yuan–Bentler")
        return [
            (f"Scaled chi-square ({name})", number(self.chi2)),
            ("Scaling factor", number(self.scaling_factor)),
            ("P-value (scaled chi-square)", p_cell(self.p_value, 3)),
            *robust,
        ]

    def _headline(self) -> str:
        return f"scaled (factor {self.scaling_factor:.3f}): {super()._headline()}"


@dataclass(frozen=True, repr=False)
class ModelTest(TextDisplay, ToDict):
    """The test of a graph against the saturated model that is valid for its data.

    It is the scaled test after a fit with robust inference (the default for ranks, ordered
    categories, weights and two-stage estimates), and the plain one otherwise.

    Attributes
    ----------
    chi2, df, p_value : float, int, float
        Statistic, degrees of freedom, and p-value; NaN if there is no test.
    rmsea, cfi, tli : float
        Indices of approximate fit that belong to the test.
    scaling : {"standard", "satorra-bentler", "yuan-bentler"}
        How the statistic was scaled.
    """

    chi2: float
    df: int
    p_value: float
    rmsea: float
    cfi: float
    tli: float
    scaling: TestKind

    @property
    def name(self) -> str:
        """Either "chi-square" or "scaled chi-square"."""
        return "chi-square" if self.scaling == "standard" else "scaled chi-square"

    def _headline(self) -> str:
        p = f", {p_text(self.p_value, 3)}" if self.df else ""
        return f"{self.name} {self.chi2:.2f} on {self.df} df{p}"


def _measure(source: str, name: str, doc: str) -> Any:
    """Return a property that reads one index of ``fit.indices`` or ``fit.scaled``."""
    return property(lambda fit: getattr(getattr(fit, source), name, math.nan), doc=doc)


class FitMeasures:
    """Mixin for a fit: its indices as attributes, ``fit.chi2`` for ``fit.indices.chi2``.

    Those of the scaled test are NaN when ``test="standard"``.
    """

    chi2: float = _measure("indices", "chi2", "Likelihood-ratio statistic of the saturated model.")
    df: int = _measure(
        "indices", "df", "Degrees of freedom of `chi2`: d (d + 1) / 2 minus the parameters."
    )
    p_value: float = _measure("indices", "p_value", "Upper tail of `chi2`; NaN when df is 0.")
    rmsea: float = _measure("indices", "rmsea", "Root mean square error of approximation.")
    cfi: float = _measure("indices", "cfi", "Comparative fit index.")
    tli: float = _measure("indices", "tli", "Tucker–Lewis index.")
    srmr: float = _measure("indices", "srmr", "Standardized root mean square residual.")
    chi2_scaled: float = _measure("scaled", "chi2", "`chi2` divided by `scaling_factor`.")
    scaling_factor: float = _measure("scaled", "scaling_factor", "Mean of chi-square over df.")
    p_value_scaled: float = _measure("scaled", "p_value", "Upper tail of `chi2_scaled`.")
    rmsea_robust: float = _measure("scaled", "rmsea", "RMSEA for data that are not normal.")
    cfi_robust: float = _measure("scaled", "cfi", "CFI for data that are not normal.")
    tli_robust: float = _measure("scaled", "tli", "TLI for data that are not normal.")


def fit_indices(
    F: float, F0: float, df: int, baseline_df: int, n: float, residual: float, *, groups: int = 1
) -> FitIndices:
    """Compute the indices from chi-square per observation, of the graph and of the baseline model.

    `residual` is the SRMR. With several groups of observations, n in all, RMSEA is that of one of
    them: n is divided by their number (Steiger 1998).
    """
    # Per observation, so that the limit n = inf is no special case: the expected chi2 under the
    # model is df, which is df / n of F.
    excess, excess0 = F - df / n, F0 - baseline_df / n
    chi2, baseline_chi2 = (n * F, n * F0) if math.isfinite(n) else (math.nan, math.nan)
    lower, upper, p_close = _rmsea_interval(chi2, df, n / groups)
    rmsea = math.sqrt(groups * max(excess, 0.0) / df) if df and not math.isnan(F) else 0.0 * F
    return FitIndices(
        chi2=chi2,
        df=df,
        p_value=chi2_upper_tail(chi2, df),
        rmsea=rmsea,
        rmsea_lower=lower,
        rmsea_upper=upper,
        rmsea_p_close=p_close,
        cfi=_cfi(excess, excess0, df),
        tli=_tli(F, F0, df, baseline_df, n),
        srmr=residual,
        baseline_chi2=baseline_chi2,
        baseline_df=baseline_df,
    )


class Approximation(NamedTuple):
    """Distances that indices of approximate fit are computed from: graph and baseline model."""

    misfit: tuple[float, float]  # from the data, per observation
    expected: tuple[float, float]  # means of n times the distances, if the models were true


def scaled_indices(
    indices: FitIndices,
    n: float,
    test: TestKind,
    expected: tuple[float, float],
    near: Approximation,
) -> ScaledIndices:
    """Scale the test, and correct the indices.

    `expected` are the means of chi-square for the graph and the baseline model, if they were correct.
    The indices are computed from `near`, which is the same if no values are missing.
    """
    df, df0 = indices.df, indices.baseline_df
    chi2, chi2_0 = indices.chi2, indices.baseline_chi2
    factor = _factor(expected[0], df) if df else 1.0
    factor0 = _factor(expected[1], df0)
    F, mean = near.misfit[0], near.expected[0]
    unit = _factor(mean, df)
    lower, upper, _ = _rmsea_interval(n * F / unit, df, n)
    excess, excess0 = F - mean / n, near.misfit[1] - near.expected[1] / n
    return ScaledIndices(
        test=test,
        scaling_factor=expected[0] / df if df else math.nan,
        baseline_scaling_factor=factor0,
        **vars(indices)
        | {
            "chi2": chi2 / factor,
            "p_value": chi2_upper_tail(chi2 / factor, df),
            "rmsea": math.sqrt(max(excess, 0.0) / df) if df else 0.0,
            "rmsea_lower": math.sqrt(unit) * lower,
            "rmsea_upper": math.sqrt(unit) * upper,
            "rmsea_p_close": math.nan,
            "cfi": _cfi(excess, excess0, df),
            "tli": (1 - excess / df * df0 / excess0 if excess0 else math.nan) if df else 1.0,
            "baseline_chi2": chi2_0 / factor0,
        },
    )


def _factor(mean: float, df: int) -> float:
    """Return the mean over df; NaN where it is negative, as a difference of traces may be."""
    return mean / df if df and mean > 0 else math.nan


def discrepancy(S: Floats, Sigma: Floats) -> float:
    """Return F_ML as a sum of non-negative terms, without cancellation if Sigma is close to S."""
    # Powers of two next to the standard deviations: pivots do not depend on units, nothing rounds.
    units = np.exp2(np.round(np.log2(np.diag(S)) / 2))
    root = np.linalg.cholesky(Sigma / units / units[:, None])
    whitened = np.linalg.solve(root, np.linalg.solve(root, S / units / units[:, None]).T)
    ratios = np.linalg.eigvalsh((whitened + whitened.T) / 2)
    if ratios[0] <= len(S) * np.finfo(float).eps * ratios[-1]:
        return math.nan
    return float(np.sum((ratios - 1) - np.log1p(ratios - 1)))


def residual_correlations(S: Floats, Sigma: Floats) -> Floats:
    """Return correlations of the data minus those of the fit (lavaan's ``resid``)."""
    sd, fitted = np.sqrt(np.diag(S)), np.sqrt(np.diag(Sigma))
    residuals: Floats = S / np.outer(sd, sd) - Sigma / np.outer(fitted, fitted)
    return residuals


def srmr(S: Floats, Sigma: Floats, shift: Floats | None = None) -> float:
    """Return the standardized root mean square residual, of the means too if `shift` has theirs."""
    sd = np.sqrt(np.diag(S))
    residual = ((S - Sigma) / np.outer(sd, sd))[np.tril_indices(len(S))]
    if shift is not None:
        residual = np.append(residual, shift / sd)
    return float(np.sqrt(np.mean(residual**2)))


def _cfi(excess: float, excess0: float, df: int) -> float:
    if math.isnan(excess):
        return math.nan
    worst = max(excess, excess0, 0.0)
    return 1.0 if df == 0 or worst == 0 else 1 - max(excess, 0.0) / worst


def _tli(F: float, F0: float, df: int, baseline_df: int, n: float) -> float:
    """Return (F0/df0 - F/df) / (F0/df0 - 1/n), the relative drop of misfit per df."""
    if df == 0:
        return 1.0 + 0.0 * F
    ratio0 = F0 / baseline_df
    return (ratio0 - F / df) / (ratio0 - 1 / n) if ratio0 != 1 / n else math.nan


def chi2_upper_tail(chi2: float, df: int) -> float:
    """Return the probability of a larger chi-square; NaN without degrees of freedom."""
    from scipy.special import chdtrc

    return float(chdtrc(df, chi2)) if df else math.nan


def _rmsea_interval(chi2: float, df: int, n: float) -> tuple[float, float, float]:
    """Return the 90 % interval and P(chi2 or more | RMSEA = 0.05), by noncentral chi-squares."""
    from scipy.special import chndtr, chndtrinc

    if math.isnan(chi2):
        return math.nan, math.nan, math.nan
    if df == 0:
        return 0.0, 0.0, math.nan

    def bound(level: float) -> float:
        # The noncentrality at which `chi2` is the quantile of this level; 0 if there is none.
        reachable = chndtr(chi2, df, 0.0) > level
        return math.sqrt(float(chndtrinc(chi2, df, level)) / (n * df)) if reachable else 0.0

    p_close = 1 - float(chndtr(chi2, df, n * df * 0.05**2))
    return bound(0.95), bound(0.05), p_close
