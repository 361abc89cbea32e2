"""Averages over probable graphs that nobody asked for: within a time limit, or left out.

The report and ``bowfree learn`` show them beside the best graph, where they take seconds. On a
small table whose districts are hard to fit they would take minutes; then what is there in time is
shown as such, and where there is nothing the reader is told why.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bowfree.errors import BowfreeError, TimeIsUp
from bowfree.search.result import SearchResult
from bowfree.uncertainty.average_result import AveragedEffects
from bowfree.uncertainty.averaging import averaged_effects

AVERAGE_SECONDS = 40.0  # for probabilities, over all graphs that the data leave probable


class Unasked(NamedTuple):
    """Averages, or why there are none; nothing of both where there is nothing to average."""

    average: AveragedEffects | None = None
    why_not: str = ""


def unasked_average(search: SearchResult, *, most_nodes: int, **budget: Any) -> Unasked:
    """Average over all graphs that the data leave probable, if that can be done in time.

    Parameters
    ----------
    search : SearchResult
        The search.
    most_nodes : int
        With more variables they are left out: chains would need longer.
    **budget
        Options of :class:`bowfree.validation.BudgetOptions`.
    """
    d = len(search.graph.nodes)
    if d < 2:
        return Unasked()
    if not search.complete:
        return Unasked(why_not="the search was ended early")
    if d > most_nodes:
        return Unasked(why_not=f"with more than {most_nodes} variables they take minutes")
    try:
        return Unasked(averaged_effects(search, **budget))
    except TimeIsUp:
        return Unasked(why_not=f"they take longer than {budget['time_limit']:g} s")
    except BowfreeError as error:
        return Unasked(why_not=str(error))
