"""The picture of what is missing: one row for each pattern of gaps, one column for each variable.

The patterns that most rows have come first, and beside each stands how many these are. The numbers
are those of :class:`bowfree.Moments.gaps`.
"""

from __future__ import annotations

from dataclasses import dataclass

from bowfree.data.missing_values import Gaps
from bowfree.results.display import p_text, percent
from bowfree.visualization.svg import printable

SHOWN = 25  # patterns; the rest are counted


@dataclass(frozen=True)
class GapMap:
    """What the page draws.

    Attributes
    ----------
    names : list of str
        The variables.
    missing : list of str
        The share of the cells of each that is missing.
    patterns : list of tuple
        Number of rows, their share of all in percent, and for each variable whether it is missing.
    left_out : str
        How many patterns there are besides, and of how many rows.
    test : str
        Little's test.
    """

    names: list[str]
    missing: list[str]
    patterns: list[tuple[str, float, list[bool]]]
    left_out: str
    test: str


def gap_map(gaps: Gaps) -> GapMap:
    """Lay out the patterns of missing cells, the most frequent ones first.

    Examples
    --------
    >>> import bowfree as bf
    >>> from bowfree.visualization.report.missing_map import gap_map
    >>> nan = float("nan")
    >>> rows = {"x": [1.0, 3.0, 2.0, 5.0], "y": [2.0, 5.0, 1.0, nan]}
    >>> gap_map(bf.moments(rows, missing="fiml").gaps).patterns
    [('3', 75.0, [False, False]), ('1', 25.0, [False, True])]
    """
    total = sum(gaps.rows)
    order = sorted(range(len(gaps.rows)), key=lambda k: (-gaps.rows[k], k))
    patterns = [
        (f"{gaps.rows[k]:g}", round(100 * gaps.rows[k] / total, 2), gaps.patterns[k].tolist())
        for k in order[:SHOWN]
    ]
    rest = order[SHOWN:]
    left_out = ""
    if rest:
        left_out = f"{len(rest)} more patterns, of {sum(gaps.rows[k] for k in rest):g} rows"
    return GapMap(
        [printable(name) for name in gaps.names],
        [percent(count / total) for count in gaps.missing],
        patterns,
        left_out,
        f"chi-square {gaps.statistic:.2f} on {gaps.df} df, {p_text(gaps.p_value, 3)}",
    )
