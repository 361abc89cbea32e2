"""The options of a search on the command line, for the commands that search.

``search_options`` says which graphs are searched and how, ``budget_options`` what may be spent. A
new option is one line here and one in what it becomes.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from bowfree.cli.numbers import Price, Real, Whole
from bowfree.cli.terminal import naming
from bowfree.errors import BowfreeError
from bowfree.parameters import GraphClass
from bowfree.space.knowledge import Knowledge
from bowfree.text_reading import truncate

CONNECT_SECONDS = 10.0

Command = TypeVar("Command", bound=Callable[..., Any])


def class_option(what: str) -> Callable[[Command], Command]:
    """Return the option that says which class of graphs is meant."""
    return click.option(
        "--class",
        "graph_class",
        type=click.Choice(get_args(GraphClass)),
        default="bap",
        show_default=True,
        help=what,
    )


def penalty_option(where: str) -> Callable[[Command], Command]:
    """Return the option that says what a node or an edge costs."""
    return click.option(
        "--penalty",
        type=Price(),
        metavar="NUMBER|ebic",
        default=1.0,
        show_default=True,
        help=f"Weight of log n per node and edge{where}; 0.5 is the usual BIC, 'ebic' the extended "
        "one.",
    )


_SEARCH = (
    click.option(
        "--knowledge",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="TOML file with required, forbidden, tiers, unconfounded.",
    ),
    class_option("Which graphs to search."),
    click.option("--max-in-degree", type=Whole(min=0), help="Most arrowheads at a node."),
    click.option("--max-district", type=Whole(min=1), help="Most nodes in a district."),
    click.option(
        "--strategy",
        type=click.Choice(["ils", "restart"]),
        default="ils",
        show_default=True,
        help="'restart' is the paper's search.",
    ),
    click.option(
        "--restarts",
        type=Whole(min=0),
        help="Random starts. [default: 24, fewer for many variables, 3 on resampled data; of "
        "'restart', 100]",
    ),
    penalty_option(""),
    click.option(
        "--smallest-effect",
        type=Real(min=0, max=1, max_open=True),
        help="Smallest partial correlation worth an edge, such as 0.05, for very many rows.",
    ),
)

_BUDGET = (
    click.option(
        "--time-limit",
        type=Real(min=0, min_open=True),
        help="Seconds; what has been found by then is the result.",
    ),
    click.option(
        "--jobs",
        type=Whole(),
        default=1,
        show_default=True,
        help="Threads; -1 for one on each core.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Use the workers of this dask scheduler, such as tcp://10.0.0.5:8786.",
    ),
    click.option(
        "--seed",
        type=Whole(min=0),
        default=0,
        show_default=True,
        help="Same seed, same result, for every number of --jobs.",
    ),
)


def search_options(command: Command) -> Command:
    """Add the options that say which graphs are searched, and how."""
    return _add(_SEARCH, command)


def budget_options(command: Command) -> Command:
    """Add the options that say what may be spent."""
    return _add(_BUDGET, command)


def _add(options: tuple[Callable[[Command], Command], ...], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def read_search(given: dict[str, Any]) -> dict[str, Any]:
    """Take the search's options out of those of a command; they are ``greedy_search``'s."""
    if given["restarts"] == 0 and given["strategy"] == "ils":
        raise click.UsageError("--restarts 0: give 1 or more, or --strategy restart")
    path = given.pop("knowledge")
    with naming("--knowledge"):
        known = None if path is None else Knowledge.from_toml(path)
    names = ("graph_class", "max_in_degree", "max_district", "strategy", "restarts", "penalty")
    smallest = given.pop("smallest_effect")
    floor = {} if smallest is None else {"smallest_effect": smallest}
    return {"knowledge": known, **{name: given.pop(name) for name in names}, **floor}


def read_budget(given: dict[str, Any]) -> dict[str, Any]:
    """Take what may be spent out of the options of a command; they are ``BudgetOptions``."""
    if given["jobs"] < -1 or given["jobs"] == 0:
        raise click.UsageError(f"--jobs {given['jobs']}: give a number of threads, or -1")
    words = {"time_limit": "time_limit", "n_jobs": "jobs", "rng": "seed"}
    budget = {name: given.pop(word) for name, word in words.items()}
    address = given.pop("scheduler")
    return budget | ({} if address is None else {"executor": _executor(address)})


def _executor(address: str) -> Executor:
    """Return an executor on the workers of a dask scheduler; it is closed with the command."""
    try:
        from distributed import Client
    except ImportError:
        raise click.UsageError('--scheduler needs dask: pip install "bowfree[cluster]"') from None
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = truncate(f"{type(error).__name__}: {error}")
        raise BowfreeError(
            f"--scheduler {truncate(address)}: there is no dask scheduler ({reason}); start one with "
            "`dask scheduler`, which prints its address"
        ) from error
    click.get_current_context().call_on_close(client.close)
    executor: Executor = client.get_executor()
    return executor
