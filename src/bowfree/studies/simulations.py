"""Independent simulations of a study: on threads or other machines, as many as the time allows.

A simulation is done whole or not at all. One that the clock cut short would be a simulation of
another method, and its numbers would pull the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from bowfree.errors import BowfreeError
from bowfree.parallel.budget import Budget


def simulate(
    task: Callable[[Any, Budget], Any],
    pieces: Sequence[Any],
    budget: Budget,
    *,
    what: str,
    gather: Callable[[list[Any]], Any],
) -> Any:
    """Do the task for every piece; gather the results of those that came to their end.

    Parameters
    ----------
    task : callable
        Called with a piece, and with the budget, for the time that is left.
    pieces : sequence
        Each with random numbers of its own.
    budget : Budget
        What may be spent.
    what : str
        What is counted, for the progress: "simulations", "conditions".
    gather : callable
        Makes the study of the results, in the order of the pieces. After Ctrl-C, or when all
        workers are lost, it is called with those there are, and the error has what it returned.
    """

    def gathered(done: list[Any]) -> Any:
        whole = [one for one in done if one is not None]
        if not whole:
            raise BowfreeError(
                f"time_limit = {budget.time_limit:g}: the time was up before the first of the "
                f"{what} was done; give more"
            )
        return gather(whole)

    return budget.run(partial(_whole, task, budget), pieces, what=what, gather=gathered)


def _whole(task: Callable[[Any, Budget], Any], budget: Budget, piece: Any) -> Any:
    found = task(piece, budget)
    return None if budget.expired else found
