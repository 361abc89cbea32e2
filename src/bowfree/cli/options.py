"""Options that several commands share, and functions that read their values.

:func:`shared_option` makes the option of a parameter that functions of the library share; its help
text is the description of the parameter. The functions ``read_*`` remove the values of a group of
options from the keyword arguments of a command and return what the library needs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from bowfree.cli.terminal import OPTIONS, in_options, naming, say
from bowfree.equivalence.targets import target_set
from bowfree.errors import BowfreeError, GraphError, ParseError
from bowfree.formats.lavaan import read_lavaan
from bowfree.formats.lavaan_model import LavaanModel
from bowfree.formats.text_formats import FORMATS, read
from bowfree.graph.mixed_graph import MixedGraph, graph_of
from bowfree.graph.text import parse
from bowfree.parameters import GraphClass, Kind, summary
from bowfree.space.knowledge import Knowledge
from bowfree.text_reading import join_names, read_text, short_repr, truncate

CONNECT_SECONDS = 10.0

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Command], Command]


# --- types ----------------------------------------------------------------------------------------


class NumberOrWord(click.FloatRange):
    """A number within limits, or one word."""

    def __init__(self, word: str, **limits: Any) -> None:
        super().__init__(**limits)
        self.word = word

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word or the number."""
        return value if value == self.word else super().convert(value, param, ctx)


class NewPath(click.Path):
    """A file or folder that does not exist yet: results are never overwritten.

    Its parent folders are created.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or fail before any work is done."""
        path = Path(value)
        try:
            if path.exists():
                self.fail(f"{value} exists already; choose another name or remove it", param, ctx)
            above = next(folder for folder in path.absolute().parents if folder.exists())
            if not (above.is_dir() and os.access(above, os.W_OK)):
                self.fail(f"files cannot be created in {above}", param, ctx)
        except OSError as error:  # a name that is too long, for instance
            self.fail(f"{truncate(str(value))}: {error.strerror}", param, ctx)
        return path


WHOLE, COUNT = click.IntRange(min=0), click.IntRange(min=1)
EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
POSITIVE = click.FloatRange(min=0, min_open=True)
FRACTION = click.FloatRange(min=0, max=1, min_open=True, max_open=True)


# --- groups of options ----------------------------------------------------------------------------


def shared_option(name: str, **settings: Any) -> Option[Any]:
    """Return the option that sets a shared parameter, described in :mod:`bowfree.parameters`."""
    text = summary(name).replace("; overrides that of `space`", "").replace("``", "")
    text = in_options(text.replace("the function", "the command"))
    option = OPTIONS[name]
    declared = (option,) if option == "--" + name.replace("_", "-") else (option, name)
    return click.option(*declared, help=text, **settings)


def group(*added: Option[Any]) -> Option[Any]:
    """Return a decorator that adds a group of options to a command, in this order."""

    def add(command: Command) -> Command:
        for option in reversed(added):
            command = option(command)
        return command

    return add


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
class_option = shared_option("graph_class", type=click.Choice(get_args(GraphClass)), default="bap")
max_in_degree_option = shared_option("max_in_degree", type=WHOLE)
penalty_option = shared_option(
    "penalty", type=NumberOrWord("ebic", min=0), metavar="NUMBER|ebic", default=1.0
)
kind_option = shared_option("kind", type=click.Choice(get_args(Kind)), default="perfect")
limit_option = shared_option("limit", type=COUNT)
time_limit_option = shared_option("time_limit", type=POSITIVE)
jobs_option = click.option(
    "--jobs", "n_jobs", type=int, default=1, help="Number of threads; -1 for one per core."
)
seed_option = click.option(
    "--seed",
    "rng",
    type=WHOLE,
    default=0,
    help="Seed; the same seed gives the same result for any number of --jobs.",
)
experiment_option = click.option(
    "--experiment",
    "experiments",
    metavar="NAMES",
    multiple=True,
    help='Targets of an experiment that was done, as "akt" or "pkc, mek"; may be repeated.',
)
lavaan_auto_option = click.option(
    "--auto",
    type=click.Choice(["sem", "none"]),
    default="sem",
    help="Complete a lavaan model as sem() does, or read only what is written.",
)
graph_options = group(
    click.option("--graph", metavar="TEXT", help='The graph, as in "x -> y, y <-> z".'),
    click.option("--graph-file", type=EXISTING_FILE, help="A file that contains the graph."),
    click.option(
        "--format",
        "graph_format",
        type=click.Choice(FORMATS),
        help="Format of the file. [default: text]",
    ),
    lavaan_auto_option,
)
search_options = group(
    click.option(
        "--knowledge",
        type=EXISTING_FILE,
        help="TOML file with required and forbidden edges, tiers, unconfounded variables.",
    ),
    class_option,
    max_in_degree_option,
    shared_option("max_district", type=COUNT),
    click.option(
        "--strategy",
        type=click.Choice(["ils", "restart"]),
        default="ils",
        help="Iterated local search, or the paper's restarts from random graphs.",
    ),
    click.option(
        "--restarts",
        type=WHOLE,
        help="Number of random starting graphs. [default: 24 for ils, fewer for many variables, "
        "3 on resampled data; 100 for restart]",
    ),
    penalty_option,
    shared_option(
        "smallest_effect", type=click.FloatRange(min=0, max=1, max_open=True), default=0.0
    ),
)
SEARCH_NAMES = (
    "graph_class",
    "max_in_degree",
    "max_district",
    "strategy",
    "restarts",
    "penalty",
    "smallest_effect",
)
budget_options = group(
    time_limit_option,
    jobs_option,
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Use the workers of this dask scheduler, such as tcp://10.0.0.5:8786.",
    ),
    seed_option,
)


# --- reading their values -------------------------------------------------------------------------


def read_format(text: str, format: str, auto: str) -> MixedGraph | LavaanModel:
    """Return the graph, or lavaan model, that a text in this format describes."""
    if format != "lavaan":
        return read(text, format=format)
    model = read_lavaan(text, auto=auto)  # type: ignore[arg-type]  # click checks the choices
    if model.note:
        say(f"note: {model.note} (--auto)")
    return model


def read_model(given: dict[str, Any]) -> MixedGraph | LavaanModel:
    """Return the graph, or lavaan model, of `graph_options`."""
    graph, path, format, auto = (
        given.pop(name) for name in ("graph", "graph_file", "graph_format", "auto")
    )
    if (graph is None) == (path is None):
        raise click.UsageError("give the graph by one of --graph or --graph-file")
    if path is None:
        if format is not None:
            raise click.UsageError("--format belongs to --graph-file")
        with naming("--graph"):
            found = read(graph, format="text")
        alone = [name for name in found.nodes if not found.neighbors(name)]
        if found.n_edges and alone and "isolated" not in graph:
            say(f"note: --graph has no edge at {join_names(alone)}")
        return found
    with naming("--graph-file"):
        try:
            return read_format(read_text(path), format or "text", auto)
        except ParseError as error:
            if format is None:
                error.args = (f"{error}; if the file has another format, name it by --format",)
            raise


def read_graph(given: dict[str, Any]) -> MixedGraph:
    """Return the graph of `graph_options`."""
    return graph_of(read_model(given))


def read_targets(option: str, texts: Sequence[str], graph: MixedGraph) -> list[tuple[str, ...]]:
    """Return the sets of variables that the values of an option name."""
    found = []
    with naming(option):
        for text in texts:
            named = parse(text)
            if named.n_edges or not len(named):
                raise GraphError(f"{short_repr(text)} should be names of variables, such as 'x, y'")
            found.append(target_set(named.nodes, graph.nodes))
    return found


def read_search(given: dict[str, Any]) -> dict[str, Any]:
    """Return the values of `search_options`, as keyword arguments of ``greedy_search``."""
    path = given.pop("knowledge")
    with naming("--knowledge"):
        knowledge = None if path is None else Knowledge.from_toml(path)
    return {name: given.pop(name) for name in SEARCH_NAMES} | {"knowledge": knowledge}


def read_budget(given: dict[str, Any]) -> dict[str, Any]:
    """Return the values of `budget_options`, as keyword arguments of the library."""
    address = given.pop("scheduler")
    budget = {name: given.pop(name) for name in ("time_limit", "n_jobs", "rng")}
    return budget if address is None else budget | {"executor": _executor(address)}


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
            f"--scheduler {truncate(address)}: no dask scheduler answers ({reason}); start one "
            "with `dask scheduler`, which prints its address"
        ) from error
    click.get_current_context().call_on_close(client.close)
    executor: Executor = client.get_executor()
    return executor
