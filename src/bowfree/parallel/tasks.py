"""Independent pieces of work: one after the other, on threads, or wherever an executor does them.

A piece is a pure function of what it is given, and results are put in the order of the pieces, so
that it does not matter who did which one, and when. Any :class:`concurrent.futures.Executor` will
do: the standard ones, loky, dask (``client.get_executor()``), ``mpi4py.futures``. What goes out is
kilobytes, moments and options, never the rows.

A worker can get lost with the piece it was at. The piece is then handed out again. When nobody is
left to take it, :class:`~bowfree.errors.WorkersLost` ends the work, with what was finished in it. An
exception *in* a piece is another matter: it would come again, and is raised at once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass
from pickle import PicklingError
from typing import TYPE_CHECKING, Any

from bowfree import __version__
from bowfree.errors import BowfreeError, WorkersLost
from bowfree.text_reading import truncate

if TYPE_CHECKING:
    from bowfree.parallel.budget import Budget


IN_FLIGHT = 1024  # pieces handed out and not yet back: no more workers than this have work
TRIES = 4  # of a piece whose workers get lost: perhaps it is the piece that kills them
GRACE = 0.2  # seconds after the time limit for results that are on their way

# dask's words for a lost worker or scheduler; it is not imported for their sake.
_LOST = {"KilledWorker", "FutureCancelledError", "FuturesCancelledError", "CommClosedError"}


def finished(
    task: Callable[[Any], Any], pieces: Sequence[Any], budget: Budget
) -> Iterator[tuple[int, Any]]:
    """Do the task for every piece, and yield (number, result) as they are done.

    When the budget is over, pieces that have not begun are left out.

    Raises
    ------
    WorkersLost
        Nobody is left to do the work.
    """
    if budget.executor is not None:
        yield from _handed_out(budget.executor, task, pieces, budget)
    elif budget.n_threads == 1:
        for k in range(len(pieces)):
            if budget.over:
                return
            yield k, task(pieces[k])
    else:
        # The core releases the interpreter while it works, so threads of this process do.
        with ThreadPoolExecutor(budget.n_threads, initializer=budget.enclose) as threads:
            yield from _handed_out(threads, task, pieces, budget)


@dataclass(frozen=True)
class DonePiece:
    """The result of a piece, in a box that cannot be unpacked.

    When a worker dies the moment after it has sent a result, dask's executor takes that for an
    error, a tuple of three, and fails to unpack it; from what it says then we know what happened.
    """

    result: Any


def do_piece(version: str, task: Callable[[Any], Any], piece: Any) -> DonePiece:
    """Do one piece, on whichever machine; `version` is that of who sent it."""
    if version != __version__:
        raise BowfreeError(
            f"a worker has bowfree {__version__}, and the process that sends it work {version}: "
            "install the same version on all machines"
        )
    return DonePiece(task(piece))


def _handed_out(
    executor: Executor, task: Callable[[Any], Any], pieces: Sequence[Any], budget: Budget
) -> Iterator[tuple[int, Any]]:
    waiting: dict[Future[Any], int] = {}
    lost: Counter[int] = Counter()
    again: list[int] = []  # pieces whose workers got lost
    begun = done = 0

    def hand_out(k: int) -> None:
        try:
            waiting[executor.submit(do_piece, __version__, task, pieces[k])] = k
        except Exception as error:  # shut down, broken, disconnected: every kind has its own
            raise _nobody_left(error, done, len(pieces)) from error

    def connected() -> bool:
        """Say whether work can be handed out; what was, and will never come back, is recalled."""
        state = _connection(executor)
        if state == "closed":
            error = ConnectionError("the connection to the scheduler is closed")
            raise _nobody_left(error, done, len(pieces))
        if state == "connecting":
            for future in waiting:
                future.cancel()
            again.extend(waiting.values())
            waiting.clear()
        return state not in ("connecting", "closing")

    try:
        while waiting or again or (begun < len(pieces) and not budget.over):
            # Bit by bit: a piece is made when its turn comes, and not before.
            while (
                connected()
                and len(waiting) < IN_FLIGHT
                and (again or begun < len(pieces))
                and not budget.over
            ):
                if again:
                    hand_out(again.pop())
                else:
                    hand_out(begun)
                    begun += 1
            over = budget.over
            if not waiting:
                time.sleep(0.1)
            ready, _ = wait(waiting, timeout=GRACE if over else 0.1, return_when=FIRST_COMPLETED)
            for future in ready:
                k = waiting.pop(future)
                if future.cancelled() and over:
                    continue
                error = CancelledError() if future.cancelled() else future.exception()
                if error is None:
                    done += 1
                    yield k, future.result().result
                elif _is_loss(error):
                    lost[k] += 1
                    if lost[k] == TRIES:
                        raise _nobody_left(error, done, len(pieces)) from error
                    again.append(k)
                else:
                    raise _explained(error)
            if over:
                again.clear()
                for future in waiting:
                    future.cancel()
                if budget.executor is not None and not ready:
                    return  # what still runs elsewhere is not waited for
    finally:
        # An error or Ctrl-C: what runs in this process sees the event, the rest is cancelled.
        if waiting:
            budget.cancelled.set()
        for future in waiting:
            future.cancel()


def _connection(executor: Executor) -> str:
    """Return "running", "connecting", "closing" or "closed".

    What dask's executor has been handed when its scheduler goes away never comes back, and the
    executor does not always say so; its client does.
    """
    return str(getattr(getattr(executor, "_client", None), "status", "running"))


def _is_loss(error: BaseException) -> bool:
    return (
        isinstance(error, BrokenExecutor | CancelledError)
        or type(error).__name__ in _LOST
        or (isinstance(error, TypeError) and f"non-iterable {DonePiece.__name__}" in str(error))
    )


def _nobody_left(error: BaseException, done: int, planned: int) -> WorkersLost:
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return WorkersLost(
        f"the executor has no worker left for the work ({truncate(reason)}); {done} of {planned} "
        "pieces were done. Start workers and try again; `result` of this error has what is done"
    )


def _explained(error: BaseException) -> BaseException:
    """Say in our words what a foreign exception on the way to a worker or back means."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ModuleNotFoundError) and (cause.name or "").startswith("bowfree"):
            return BowfreeError(
                f"a worker cannot import {cause.name}: install bowfree {__version__} on all "
                "machines that workers run on"
            )
        if isinstance(cause, PicklingError):
            return BowfreeError(f"the executor cannot send a piece of work: {truncate(str(cause))}")
        cause = cause.__cause__ or cause.__context__
    return error
