"""Sentences about a result that the report, the command line and the app show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from bowfree.data.diagnostics import Diagnostics
from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.data.nominal import BlockMoments
from bowfree.data.sample import NonGaussianRows
from bowfree.effects.bounds import EffectBounds
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.class_summary import ClassSummary
from bowfree.equivalence.decision import equivalent
from bowfree.model.effect_tables import effect_pairs
from bowfree.model.fit_result import Fit
from bowfree.model.fit_summary import Estimate
from bowfree.model.joint_fit import JointFit
from bowfree.results.display import count, p_text, percent
from bowfree.search.result import SearchResult
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace
from bowfree.text_reading import join_names
from bowfree.uncertainty.average_result import AveragedEffects

ROBUST_WORK = 2e10  # operations for robust standard errors that were not requested: seconds
CHOSEN_ON_DATA = (
    "The graph was chosen on the same data: standard errors, intervals and the chi-square test "
    "ignore this choice and look more certain than they are. A holdout sample, or averaged effects, "
    "account for it."
)
MAX_CHECKED = 200  # equivalent graphs with nominal variables that are checked
NEGLIGIBLE = 0.01  # RMSEA below which a rejected graph still fits well enough


def result_warnings(
    fit: Fit,
    estimates: Sequence[Estimate],
    summary: ClassSummary,
    *,
    search: SearchResult | None = None,
    bounds: EffectBounds | None = None,
    checks: Diagnostics | None = None,
) -> list[str]:
    """Return one sentence for each reason why the numbers are less certain than they look."""
    found = fit_warnings(fit, estimates)
    if search is not None:
        found += search_warnings(search)
    if not summary.complete:
        found.append(
            "The equivalence class is larger than the part that was enumerated; shares and bounds "
            "are over this part, which is not a random sample."
        )
    if bounds is not None and summary.complete and not bounds.complete:
        found.append(
            "The bounds of effects are over a part of the class; the bounds over all of it may be "
            "wider."
        )
    if bounds is not None and bounds.n_uncertified:
        found.append(
            f"{bounds.n_uncertified} of {bounds.n_fits} fits behind the bounds of effects are not "
            "certified to be a maximum of the likelihood."
        )
    return found + data_warnings(fit, checks) + ([] if checks is None else checks.warnings())


def fit_warnings(fit: Fit, estimates: Sequence[Estimate]) -> list[str]:
    """Return warnings about the maximum of the likelihood, standard errors and the fit."""
    found = []
    for district in fit.certificate:
        where = f"District {{{join_names(district.nodes)}}}"
        if district.diverging:
            found.append(f"{where}: a coefficient tends to infinity; there is no finite maximum.")
        elif district.rounded:
            found.append(f"{where}: the maximum is certified for rounded correlations only.")
        elif not district.converged:
            found.append(f"{where}: the fit is not certified to be a maximum of the likelihood.")
        if district.n_optima > 1:
            found.append(f"{where}: the likelihood has {district.n_optima} local maxima.")
        if district.more_starts == "too large":
            found.append(
                f"{where}: the graph fits badly, and other maxima of the likelihood were not looked "
                "for, because there are too many parameters (n_starts=20 looks for them)."
            )
    if math.isfinite(fit.n) and any(math.isnan(row.se) for row in estimates):
        found.append(
            "There are no standard errors: the information matrix is singular at the estimate, so "
            "some parameters are not determined by the data."
        )
    if math.isfinite(fit.n) and fit.n < 5 * fit.n_parameters:
        found.append(
            f"{fit.n:.0f} observations for {fit.n_parameters} parameters: with fewer than five "
            "observations per parameter, standard errors and tests are rough."
        )
    test = fit.valid_test
    if math.isfinite(test.p_value) and test.p_value < 0.01:
        rejected = f"The {test.name} test rejects the graph ({p_text(test.p_value, 3)})"
        joint = isinstance(fit.moments, JointMoments) and fit.moments.targets
        where = "worst pairs of the conditions" if joint else "residual correlations"
        found.append(
            f"{rejected}, but with {fit.n:,.0f} observations it detects the smallest misfit, and "
            f"this one is negligible (RMSEA {test.rmsea:.4f})."
            if test.rmsea < NEGLIGIBLE
            else f"{rejected}: the {where} show where it does not fit."
        )
        sharing = fit.sharing_test() if isinstance(fit, JointFit) else None
        if sharing is not None and sharing.p_value < 0.01:
            found.append(
                "The conditions do not share the parameters of the graph, which is a part of this "
                f"misfit ({sharing}): consider each condition separately, or other targets."
            )
    return found


def describe_class(members: EquivalenceClass, space: SearchSpace, moments: Moments) -> str:
    """Return the number of equivalent graphs, and in which sense they are equivalent."""
    kind = {"dag": "DAG", "bidirected": "bidirected graph"}.get(space.graph_class, "graph")
    permitted = "" if space.knowledge == Knowledge() else " that the knowledge permits"
    unproved, note = "", ", which fit every data set equally well"
    if isinstance(moments.sample, NonGaussianRows):
        note = ", which have the same covariances"
    if isinstance(moments, BlockMoments) and not _equivalent_columns(moments, members):
        note = unproved = (
            " if all variables were numbers; this was not checked for nominal variables of three or "
            "more categories"
        )
    if members.size == 1:
        return f"no other {kind}{permitted} is equivalent to this one{unproved}"
    more = "" if members.complete else " or more"
    return f"{members.size:,}{more} equivalent {kind}s{permitted}{note}"


def _equivalent_columns(moments: BlockMoments, members: EquivalenceClass) -> bool:
    """Return whether the graphs of the columns are equivalent, too, by the exact decision.

    Equivalent DAGs are: a covered edge can be reversed between blocks as between numbers.
    """
    if not any(edge.n_bidirected for edge in members.summary().edges):
        return True
    if members.size > MAX_CHECKED:
        return False
    first, *others = (moments.expand(graph) for graph in members)
    return all(equivalent(first, other, rng=0) for other in others)


def average_warnings(average: AveragedEffects) -> list[str]:
    """Return warnings about averaged effects."""
    found = []
    if not average.mixed:
        found.append(
            "The Markov chains behind the averaged effects have not mixed: the probabilities and "
            "intervals are rough; raise `steps` of averaged_effects."
        )
    if not average.complete:
        found.append(
            "The averaged effects are incomplete: a limit on time or on the number of graphs left "
            "out some probable graphs."
        )
    if average.nonnormal_edges:
        found.append(as_sentence(average._nonnormal_note()))
    return found + zero_notes(average)


def zero_notes(
    average: AveragedEffects, of: Sequence[str] = (), on: Sequence[str] = ()
) -> list[str]:
    """Explain intervals of probable effects that contain zero, if there are any."""
    names = average.names
    across = (average.lower <= 0) & (average.upper >= 0) & (average.probability >= 0.5)
    pairs = [
        (i, j)
        for i, j in effect_pairs(across)
        if (not of or names[j] in of) and (not on or names[i] in on)
    ]
    if not pairs:
        return []
    i, j = max(pairs, key=lambda pair: average.probability[pair])
    return [
        f"{count(len(pairs), 'probable effect')} with an interval that contains zero, such as "
        f"{names[j]} on {names[i]} (P = {average.probability[i, j]:.2f}): an "
        f"interval excludes zero only if more than {100 * average.confidence:g} % of the probability is "
        "on effects of one sign."
    ]


def as_sentence(note: str) -> str:
    """Return a note with a capital letter and a period."""
    return f"{note[0].upper()}{note[1:]}."


def data_warnings(fit: Fit, checks: Diagnostics | None) -> list[str]:
    """Return notes on preprocessing and missing values, and how robust inference would differ."""
    found = [as_sentence(note) for note in fit.moments.notes]
    gaps = fit.moments.missing_values
    if gaps is not None:
        share = sum(gaps.missing) / (sum(gaps.rows) * len(gaps.names))
        found.append(
            f"{percent(share)} of the values are missing, in {len(gaps.rows)} patterns; Little's "
            f"test of missing completely at random: {p_text(gaps.p_value, 3)}."
        )
    if fit.full_information:
        found.append(
            "The fit and the bounds of effects use all observed values. The search, and averages "
            "over its graphs, use the covariance matrix estimated from them."
        )
    entries = len(fit.B) * (len(fit.B) + 1) / 2
    if (
        checks is not None
        and checks.rejects_normality
        and fit.se == "standard"
        and fit.moments.sample is not None
        and fit.moments.n_rows * entries**2 < ROBUST_WORK
    ):
        robust = replace(fit, se="robust-huber-white", test="yuan-bentler")
        ratios = [
            a.se / b.se for a, b in zip(robust.estimates(), fit.estimates(), strict=True) if b.se
        ]
        test = (
            f", and chi-square is {robust.valid_test.chi2:.2f} in place of {fit.chi2:.2f} "
            f"({p_text(robust.valid_test.p_value, 3)})"
            if math.isfinite(robust.valid_test.chi2)
            else ""
        )
        found.append(
            "Without the assumption of normality (se='robust-huber-white', test='yuan-bentler') "
            f"standard errors are {min(ratios):.2f} to {max(ratios):.2f} times those shown{test}."
        )
    return found


def search_warnings(search: SearchResult) -> list[str]:
    """Return warnings about a search, and about a graph that was chosen by it."""
    found = [as_sentence(note) for note in search.notes]
    if not search.complete:
        found.append("The search was ended early: a longer one may find a better graph.")
    confidence = search.confidence
    if not confidence.reliable:
        found.append(f"{'; '.join(confidence._sections())}.")
    if search.holdout is None:
        found.append(CHOSEN_ON_DATA)
    return found
