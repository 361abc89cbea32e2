"""Bar charts of edge frequencies and experiments, score curves, contours of sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bowfree.effects.experiment_design import Design
from bowfree.effects.sensitivity import Sensitivity, _adjusted
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.class_summary import ClassSummary
from bowfree.equivalence.targets import target_names
from bowfree.errors import BowfreeError
from bowfree.parameters import public
from bowfree.results.display import count
from bowfree.text_reading import short_repr
from bowfree.validation import as_float, as_list, check_choice, check_count, is_number
from bowfree.visualization.score_charts import best_path, score_range
from bowfree.visualization.svg import BIDIRECTED_COLOR, printable

_DARK, _LIGHT = "#2b2b2b", "#9a9a9a"


def new_axes(width: float, height: float) -> Axes:
    """Return the Axes of a new figure of pyplot; sizes in inches."""
    # Imported here: pyplot chooses a window system, which programs with their own Axes do not need.
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def check_type(name: str, value: object, kind: type | tuple[type, ...], remedy: str) -> None:
    """Raise an error if an argument is of another type."""
    if not isinstance(value, kind):
        raise BowfreeError(f"{name} is {short_repr(value)}: pass {remedy}")


def _label_bars(ax: Axes, names: Sequence[str], label: str, legend_columns: int) -> None:
    """Label horizontal bars at 0, 1, ..., with the legend above and the axis label below."""
    # Dollar signs in names are not mathematics.
    ax.set_yticks(range(len(names)), [printable(name) for name in names], parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    # From the right: long names of variables leave little space on the left.
    ax.set_xlabel(label, loc="right")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=legend_columns,
        frameon=False,
        borderaxespad=0.2,
        handlelength=1.2,
    )


def _share_bars(
    rows: Sequence[tuple[str, float, float, float]], label: str, ax: Axes | None
) -> Axes:
    """Draw stacked horizontal bars of the shares of a -> b, a <- b and a <-> b."""
    ax = ax or new_axes(6.0, 0.9 + 0.24 * len(rows))
    left = np.zeros(len(rows))
    kinds = (("a → b", _DARK), ("a ← b", _LIGHT), ("a ↔ b", BIDIRECTED_COLOR))
    for k, (kind, color) in enumerate(kinds, start=1):
        share = np.array([row[k] for row in rows], dtype=np.float64)
        ax.barh(np.arange(len(rows)), share, left=left, height=0.72, color=color, label=kind)
        left += share
    ax.set_xlim(0, 1)
    _label_bars(ax, [row[0] for row in rows], label, 3)
    return ax


@public
def class_summary(
    summary: EquivalenceClass | ClassSummary | Any, *, ax: Axes | None = None
) -> Axes:
    """Draw the frequencies of the marks of each edge among the members of an equivalence class.

    Parameters
    ----------
    summary : EquivalenceClass or ClassSummary
        The class.

    Returns
    -------
    Axes
        One bar for each edge whose marks differ between members, from the share of ``a -> b`` on
        the left to that of ``a <-> b`` on the right. The label below counts the edges that are the
        same in all members.

    Examples
    --------
    >>> import bowfree as bf
    >>> ax = bf.plot.class_summary(bf.equivalence_class(bf.parse("x -> y -> z")))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x – y', 'y – z']

    References
    ----------
    Section 2.4 of the paper.
    """
    counts = summary.summary() if isinstance(summary, EquivalenceClass) else summary
    check_type("summary", counts, ClassSummary, "an equivalence class or its summary")
    if not counts.edges:
        raise BowfreeError("the class has no edges: there is nothing to draw")
    n = counts.n_members
    rows = [
        (f"{e.a} – {e.b}", e.n_forward / n, e.n_backward / n, e.n_bidirected / n)
        for e in counts.edges
        if not e.invariant
    ]
    same = len(counts.edges) - len(rows)
    if not rows:
        ax = ax or new_axes(6.0, 0.9)
        ax.text(0.5, 0.5, f"all {same} edges are the same in all members", ha="center", va="center")
        ax.set_axis_off()
        return ax
    found = "" if counts.complete else " found"
    others = f"; {count(same, 'other edge')} the same in all" if same else ""
    return _share_bars(rows, f"share of the {n:,} members{found}{others}", ax)


@public
def bootstrap_edges(frequencies: Any, *, at_least: float = 0.05, ax: Axes | None = None) -> Axes:
    """Draw the frequencies of edges in resampled data, the most frequent pair at the top.

    Parameters
    ----------
    frequencies : BootstrapResult, AveragedEffects or any object with these fields
        ``names``, and matrices ``directed``, with the share of samples that have j -> i at
        ``[i, j]``, and ``bidirected``.
    at_least : float
        Omit pairs that are adjacent in a smaller share of the samples.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import bowfree as bf
    >>> found = bf.bootstrap(bf.datasets.load_demo(), n_resamples=40, rng=1)
    >>> ax = bf.plot.bootstrap_edges(found)
    >>> ax.get_yticklabels()[0].get_text()
    'sun – leaves'
    """
    if not is_number(at_least):
        raise BowfreeError(f"at_least = {short_repr(at_least)}: must be a number, such as 0.05")
    at_least = as_float(at_least)
    if not all(hasattr(frequencies, field) for field in ("names", "directed", "bidirected")):
        raise BowfreeError(
            f"frequencies is {short_repr(frequencies)}: pass the result of bowfree.bootstrap or "
            "bowfree.averaged_effects"
        )
    names, D, Bi = frequencies.names, frequencies.directed, frequencies.bidirected
    rows = [
        (f"{names[i]} – {names[j]}", float(D[j, i]), float(D[i, j]), float(Bi[i, j]))
        for i, j in combinations(range(len(names)), 2)
    ]
    kept = [row for row in rows if sum(row[1:]) >= at_least]
    if not kept:
        raise BowfreeError(
            f"no pair is adjacent in at least {at_least:g} of the samples: lower `at_least`"
        )
    return _share_bars(sorted(kept, key=lambda r: -sum(r[1:])), "share of the samples", ax)


@public
def design(result: Design, *, max_rows: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the expected number of edge ends that each experiment resolves, the best at the top.

    Parameters
    ----------
    result : Design
        Result of :func:`bowfree.design`.
    max_rows : int
        Number of experiments to draw.

    Returns
    -------
    Axes
        One bar for each experiment: the ends that are the same in all equivalent graphs now, and in
        dark those that the experiment adds, with the expected number of remaining members.

    Examples
    --------
    >>> import bowfree as bf
    >>> ax = bf.plot.design(bf.design(bf.parse("x -> y -> z")))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['y', 'x', 'z']
    """
    check_type("result", result, Design, "the result of bowfree.design")
    experiments = result.experiments[: check_count("max_rows", max_rows, 1)]
    ax = ax or new_axes(6.0, 1.1 + 0.26 * len(experiments))
    rows, now = np.arange(len(experiments)), result.resolved_ends
    gains = [e.resolved_ends - now for e in experiments]
    ax.barh(rows, now, height=0.72, color=_LIGHT, label="resolved now")
    ax.barh(rows, gains, left=now, height=0.72, color=_DARK, label="added by the experiment")
    for row, experiment in zip(rows, experiments, strict=True):
        ax.annotate(
            f"{experiment.members_left:,.4g} left",
            (experiment.resolved_ends, row),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
        )
    ax.set_xlim(0, max(result.n_ends, 1) * 1.15)
    members = f"{result.n_members:,.4g} members now"
    label = f"expected number of resolved edge ends, of {result.n_ends:g}; {members}"
    _label_bars(ax, [target_names(e.targets) for e in experiments], label, 2)
    return ax


@public
def scores(
    runs: Any,
    *,
    against: Literal["steps", "time"] = "steps",
    reference: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the scores along the runs of a search.

    Against steps, the axis shows only the upper part of the scores, where the runs differ.

    Parameters
    ----------
    runs : SearchResult or sequence of runs
        Each run has a ``path``, the score at the start and after every step, and ``seconds``.
    against : {"steps", "time"}
        One line for each run against its steps, the best one in color; or the best score so far
        against the computing time of all runs, one after the other. With several jobs the elapsed
        time is shorter.
    reference : float, optional
        A score to compare with, such as that of a known graph, as a dashed line.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from types import SimpleNamespace as Run
    >>> import bowfree as bf
    >>> runs = [Run(path=[-9.0, -7.0], seconds=0.1), Run(path=[-8.0, -7.5, -6.5], seconds=0.2)]
    >>> ax = bf.plot.scores(runs)
    >>> len(ax.lines), ax.get_ylabel()
    (3, 'score')

    References
    ----------
    Section 3.2 of the paper.
    """
    all_runs = as_list("runs", getattr(runs, "runs", runs), "runs, or the result of a search")
    for run in all_runs:
        if not (hasattr(run, "path") and hasattr(run, "seconds")):
            raise BowfreeError(f"runs contains {short_repr(run)}: pass the runs of a search")
    if reference is not None and not is_number(reference):
        raise BowfreeError(f"reference = {short_repr(reference)}: must be a score")
    paths = [np.asarray(run.path, dtype=np.float64) for run in all_runs]
    if not paths or any(len(path) == 0 for path in paths):
        raise BowfreeError("there are no scores to draw: the search has no runs")
    check_choice("value of against", against, ("steps", "time"))
    ax = ax or new_axes(6.0, 3.6)
    if against == "steps":
        best = best_path([path.tolist() for path in paths])
        for k, path in enumerate(paths):
            if k != best:
                ax.plot(np.arange(len(path)), path, color="0.65", lw=0.8, alpha=0.7, zorder=2)
        ends = np.array([[len(path) - 1, path[-1]] for path in paths])
        ax.plot(ends[:, 0], ends[:, 1], "o", color="0.45", ms=2.5, lw=0, zorder=3)
        label = f"best of {len(paths)} runs" if len(paths) > 1 else "the run"
        ax.plot(paths[best], color=BIDIRECTED_COLOR, lw=1.8, label=label, zorder=4)
        low, high = score_range([path.tolist() for path in paths])
        ax.set_ylim(low, high)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        lowest = min(float(path.min()) for path in paths)
        ax.set_xlabel("step" if lowest >= low else f"step (lowest start, not shown: {lowest:.4g})")
    else:
        clock = np.cumsum([float(run.seconds) for run in all_runs])
        ends = np.array([path.max() for path in paths])
        ax.plot(clock, ends, "o", color="0.55", ms=3, lw=0, label="end of a run", zorder=2)
        style: dict[str, Any] = {"color": BIDIRECTED_COLOR, "lw": 1.8, "label": "best so far"}
        ax.step(clock, np.maximum.accumulate(ends), where="post", zorder=3, **style)
        ax.set_xlim(left=0)
        ax.set_xlabel("seconds of computing")
    if reference is not None:
        ax.axhline(as_float(reference), color="0.45", lw=1, ls="--", label="reference", zorder=1)
    ax.set_ylabel("score")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="best", frameon=False)
    return ax


@public
def sensitivity(result: Sensitivity, *, ax: Axes | None = None) -> Axes:
    """Draw contours of the effect that remains under a hidden cause of exposure and outcome.

    Parameters
    ----------
    result : Sensitivity
        Result of :func:`bowfree.effects.sensitivity`.

    Returns
    -------
    Axes
        The partial R^2 of the hidden cause with the exposure and with the outcome. The effect is
        zero on the red line, whose diagonal point is the robustness value. Points are hidden causes
        as strong as an observed variable.

    Examples
    --------
    >>> import bowfree as bf
    >>> cov = [[1.0, 0.3, 0.4], [0.3, 1.0, 0.5], [0.4, 0.5, 1.0]]
    >>> fit = bf.fit(bf.parse("w -> x -> y <- w"), cov=cov, n=500)
    >>> ax = bf.plot.sensitivity(bf.effects.sensitivity(fit, of="x", on="y"))
    >>> ax.get_xlabel()
    'partial R² of the hidden cause with x'
    """
    check_type("result", result, Sensitivity, "the result of bowfree.effects.sensitivity")
    ax = ax or new_axes(5.0, 4.4)
    points = [row for row in result.rows if row.r2_exposure < 1]
    largest = [max(row.r2_exposure, row.r2_outcome) for row in points]
    top = min(max([1.5 * result.robustness_value, *(1.2 * r2 for r2 in largest), 0.05]), 0.98)
    grid = np.linspace(0, top, 80)
    scale = result.se * np.sqrt(result.df)
    left = np.array([[_adjusted(result.estimate, scale, x, y) for x in grid] for y in grid])
    if result.estimate:
        lines = ax.contour(grid, grid, left, levels=9, colors="0.55", linewidths=0.8)
        ax.clabel(lines, fontsize="small", fmt="%.3g")
        ax.contour(grid, grid, left, levels=[0.0], colors="#d00000", linewidths=1.8)
    for row in points:
        ax.plot(row.r2_exposure, row.r2_outcome, "o", color="black", ms=4)
        label = f"{printable(row.variable)} ({row.estimate:.3g})"
        ax.annotate(
            label,
            (row.r2_exposure, row.r2_outcome),
            xytext=(4, 4),
            textcoords="offset points",
            fontsize="small",
            parse_math=False,
        )
    for axis, name in (("x", result.of), ("y", result.on)):
        text = f"partial R² of the hidden cause with {printable(name)}"
        getattr(ax, f"set_{axis}label")(text, parse_math=False)
    ax.set_title(
        f"effect {result.estimate:.3g}, robustness value {result.robustness_value:.3f}",
        fontsize="medium",
    )
    return ax
