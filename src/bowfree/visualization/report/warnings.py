"""What a careful reader should be told before the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from bowfree.data.joint_moments import JointMoments
from bowfree.effects.bounds_result import EffectBounds
from bowfree.equivalence.class_summary import ClassSummary
from bowfree.model.estimate import Estimate
from bowfree.model.fit_result import Fit
from bowfree.results.display import p_text, percent
from bowfree.search.result import SearchResult
from bowfree.visualization.report.data_checks import DataChecks

ROBUST_WORK = 2e10  # operations for robust standard errors that a report may take unasked: seconds
NEGLIGIBLE = 0.01  # RMSEA below which a rejected graph fits all the same, for what it is worth


def cautions(
    fit: Fit,
    estimates: Sequence[Estimate],
    summary: ClassSummary,
    *,
    search: SearchResult | None = None,
    bounds: EffectBounds | None = None,
    checks: DataChecks | None = None,
) -> list[str]:
    """Return one sentence for everything that makes the numbers less certain than they look.

    The page and the terminal show the same ones.
    """
    found = []
    for district in fit.certificate:
        where = f"District {{{', '.join(district.nodes)}}}"
        if district.diverging:
            found.append(f"{where}: a coefficient runs to infinity; there is no finite maximum.")
        elif not district.converged:
            found.append(f"{where}: the fit is not certified to be a maximum of the likelihood.")
        if district.n_optima > 1:
            found.append(f"{where}: the likelihood has {district.n_optima} local maxima.")
    if search is not None:
        found += [f"{note[0].upper()}{note[1:]}." for note in search.notes]
        found += _search_cautions(search)
    if not summary.complete:
        found.append(
            "The equivalence class is larger than what was listed; shares and bounds are over some "
            "of its members, which are not a fair sample of all."
        )
    if bounds is not None and summary.complete and not bounds.complete:
        found.append("Bounds of effects are over a part of the class; the true ones may be wider.")
    if bounds is not None and bounds.n_uncertified:
        found.append(
            f"{bounds.n_uncertified} of {bounds.n_fits} fits behind the bounds of effects are not "
            "certified to be a maximum of the likelihood."
        )
    if math.isfinite(fit.n) and any(math.isnan(row.se) for row in estimates):
        found.append(
            "There are no standard errors: the information matrix is singular at the estimate, "
            "some parameters are not determined by the data."
        )
    if math.isfinite(fit.n) and fit.n < 5 * fit.n_parameters:
        found.append(
            f"{fit.n:.0f} observations for {fit.n_parameters} parameters: standard errors and "
            "tests are rough below five observations per parameter."
        )
    found += _data_cautions(fit, checks)
    if _rejected(fit):
        rejected = f"The chi-square test rejects the graph ({p_text(_p_value(fit), 3)})"
        found.append(
            f"{rejected}, but with {fit.n:,.0f} observations it sees the smallest misfit, and this "
            f"one is negligible (RMSEA {fit.rmsea:.4f})."
            if fit.rmsea < NEGLIGIBLE
            else f"{rejected}: see the {_residuals(fit)} for where it does not fit."
        )
    return found + ([] if checks is None else checks.warnings())


def in_doubt(fit: Fit, search: SearchResult | None) -> bool:
    """Tell whether the best graph itself is in doubt, so that nothing it settles is worth a word.

    That is, when the search was ended early, when few of its runs agree or searches of its kind
    often miss a better graph, or when the graph does not fit.
    """
    unsure = search is not None and not search.sureness.sure
    return unsure or (_rejected(fit) and not fit.rmsea < NEGLIGIBLE)


def _p_value(fit: Fit) -> float:
    return fit.p_value if fit.scaled is None else fit.p_value_scaled


def _rejected(fit: Fit) -> bool:
    return math.isfinite(_p_value(fit)) and _p_value(fit) < 0.01


def _residuals(fit: Fit) -> str:
    """Return what the page calls the place that shows where a fit is bad."""
    moments = fit.moments
    by_condition = isinstance(moments, JointMoments) and moments.targets
    return "worst pairs of the conditions" if by_condition else "residual correlations"


def _data_cautions(fit: Fit, checks: DataChecks | None) -> list[str]:
    """Say what was done to the data, what the gaps look like, and what robust numbers would be."""
    found = [f"{note[0].upper()}{note[1:]}." for note in fit.moments.notes]
    gaps = fit.moments.gaps
    if gaps is not None:
        share = sum(gaps.missing) / (sum(gaps.rows) * len(gaps.names))
        found.append(
            f"{percent(share)} of the cells are missing, in {len(gaps.rows)} patterns; "
            "Little's test that they are missing completely at random: "
            f"{p_text(gaps.p_value, 3)}."
        )
    if fit.full_information:
        found.append(
            "The fit and the bounds of effects are those of all observed cells. The search, and "
            "averages over its graphs, go by the covariance matrix estimated from them."
        )
    rows, entries = fit.moments.n_rows, len(fit.B) * (len(fit.B) + 1) / 2
    if (
        checks is not None
        and checks.rejects_normality
        and fit.se == "standard"
        and fit.moments.sample is not None
        and rows * entries**2 < ROBUST_WORK
    ):
        robust = replace(fit, se="robust-huber-white", test="yuan-bentler")
        ratios = [
            a.se / b.se for a, b in zip(robust.estimates(), fit.estimates(), strict=True) if b.se
        ]
        test = (
            f"; chi-square {robust.chi2_scaled:.2f} in place of {fit.chi2:.2f} "
            f"({p_text(robust.p_value_scaled, 3)})"
            if math.isfinite(robust.chi2_scaled)
            else ""
        )
        found.append(
            "Without the assumption of normality (se='robust-huber-white', test='yuan-bentler') "
            f"standard errors are {min(ratios):.2f} to {max(ratios):.2f} times those shown{test}."
        )
    return found


def _search_cautions(search: SearchResult) -> list[str]:
    found = []
    if not search.complete:
        found.append("The search was ended early: a longer one may find a better graph.")
    sureness = search.sureness
    if not sureness.sure:
        only = "" if sureness.agree else "Only "
        often = ""
        if not math.isnan(sureness.missed):
            share = percent(sureness.missed)
            often = f"; in simulations {share} of such searches missed a better graph"
        found.append(
            f"{only}{sureness._headline()}{often}. Search longer, with more restarts or another seed."
        )
    if search.holdout is None:
        found.append(
            "The graph was chosen on the same data: standard errors, intervals and the chi-square "
            "test take it as given, and look more certain than they are. Rows put aside (holdout), "
            "or averaged effects, take the choice into account."
        )
    return found
