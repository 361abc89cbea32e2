"""Declaration of options, options that several commands share, and functions that read their values.

:func:`options` declares options by a string, one entry for each. An option of the command line itself
is ``--name/parameter KIND = default | help``, and the name alone is an option that sets a shared
parameter of the library, with the type and help text of :mod:`bowfree.parameters`. The functions
``read_*`` remove the values of a group of options from the keyword arguments of a command and return
what the library needs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from bowfree.cli.terminal import OPTIONS, in_options, naming, say
from bowfree.equivalence.targets import target_set
from bowfree.errors import BowfreeError, GraphError, ParseError
from bowfree.formats.lavaan import read_lavaan
from bowfree.formats.lavaan_model import LavaanModel
from bowfree.formats.text_formats import FORMATS, read
from bowfree.graph.mixed_graph import MixedGraph, graph_of
from bowfree.graph.text import parse
from bowfree.parameters import DESCRIPTIONS, summary
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


_TYPES = {
    "FILE": click.Path(exists=True, dir_okay=False, path_type=Path),
    "FOLDER": click.Path(file_okay=False, path_type=Path),
    "NEW": NewPath(),
    "FORMAT": click.Choice(FORMATS),
    "int": click.INT,
    "number": click.FLOAT,
    "number>0": click.FloatRange(min=0, min_open=True),
    "number>=0": click.FloatRange(min=0),
    "fraction": click.FloatRange(min=0, max=1, min_open=True, max_open=True),
}


# --- declaration ----------------------------------------------------------------------------------

_SETTINGS: dict[str, dict[str, Any]] = {
    "n": {"type": click.FloatRange(min=2)},
    "max_in_degree": {"type": click.IntRange(min=0)},
    "max_edges": {"type": click.IntRange(min=0)},
    "graph_class": {"default": "bap"},
    "kind": {"default": "perfect"},
    "means": {"default": "free"},
    "baseline": {"default": "exogenous"},
    "penalty": {"default": 1.0},
    "shrinkage": {"type": NumberOrWord("auto", min=0, max=1)},
    "smallest_effect": {"type": click.FloatRange(min=0, max=1, max_open=True), "default": 0.0},
    "confidence": {"type": _TYPES["fraction"], "default": 0.95},
}
"""Limits and defaults that the descriptions of shared parameters do not have."""


def group(*added: Option[Any]) -> Option[Any]:
    """Return a decorator that adds a group of options to a command, in this order."""

    def add(command: Command) -> Command:
        for option in reversed(added):
            command = option(command)
        return command

    return add


def options(text: str) -> Option[Any]:
    """Return a decorator that adds the options that a string declares.

    KIND is ``flag``, ``{a,b}`` for a choice, one of `_TYPES`, ``int>=0<=9`` with any limits, or a
    word that stands for text in the help. ``*`` after it permits repetition; ``!`` requires the
    option.
    """
    return group(*map(_option, re.split(r"\n(?=[-\w])", text.strip())))


def _option(entry: str) -> Option[Any]:
    if not entry.startswith("--"):
        return _shared_option(entry)
    declared, _, text = entry.partition(" | ")
    declared, _, default = declared.partition(" = ")
    names, kind = declared.split()
    option, _, parameter = names.partition("/")
    settings: dict[str, Any] = {"multiple": kind.endswith("*"), "required": kind.endswith("!")}
    kind = kind.rstrip("*!")
    if kind == "flag":
        settings = {"is_flag": True}
    elif kind.startswith("{"):
        settings["type"] = click.Choice(kind[1:-1].split(","))
    elif limits := re.fullmatch(r"int>=(\d+)(?:<=(\d+))?", kind):
        least, most = (None if limit is None else int(limit) for limit in limits.groups())
        settings["type"] = click.IntRange(least, most)
    elif kind in _TYPES:
        settings["type"] = _TYPES[kind]
    else:
        settings["metavar"] = kind
    if default:
        settings["default"] = default
    settings["help"] = " ".join(text.split())
    return click.option(*filter(None, (option, parameter)), **settings)


def _shared_option(name: str) -> Option[Any]:
    text = summary(name).replace("; overrides that of `space`", "").replace("``", "")
    text = in_options(text.replace("the function", "the command"))
    kind = DESCRIPTIONS[name].partition("\n")[0].partition(" : ")[2]  # {"a", "b"}, int, bool, ...
    number, _, word = kind.partition(' or "')
    settings: dict[str, Any]
    if kind.startswith("{"):
        settings = {"type": click.Choice(re.findall(r"[\w-]+", kind.partition("}")[0]))}
    elif word:
        word = word.partition('"')[0]
        settings = {"type": NumberOrWord(word, min=0), "metavar": f"NUMBER|{word}"}
    elif kind == "bool":
        settings = {"is_flag": True}
    else:
        least = click.IntRange(min=1) if number.startswith("int") else _TYPES["number>0"]
        settings = {"type": least}
    option = OPTIONS[name]
    declared = (option,) if option == "--" + name.replace("_", "-") else (option, name)
    return click.option(*declared, help=text, **settings | _SETTINGS.get(name, {}))


json_option = options("--json/as_json flag | Print JSON.")
jobs_option = options("--jobs/n_jobs int = 1 | Number of threads; -1 for one per core.")
seed_option = options(
    "--seed/rng int>=0 = 0 | Seed; the same seed gives the same result for any number of --jobs."
)
experiment_option = options("""
--experiment/experiments NAMES* | Targets of an experiment that was done, as "akt" or "pkc, mek";
    may be repeated.
""")
lavaan_auto_option = options("""
--auto {sem,none} = sem | Complete a lavaan model as sem() does, or read only what is written.
""")
graph_options = group(
    options("""
--graph TEXT | The graph, as in "x -> y, y <-> z", or a file that contains it.
--graph-file FILE | A file that contains the graph.
--format/graph_format FORMAT | Format of the file. [default: text]
"""),
    lavaan_auto_option,
)
ends_options = options("""
--of NAME! | The cause (exposure).
--on NAME! | The outcome.
""")
chain_options = options("""
--steps int>=1 | Steps of each Markov chain.
--max-steps int>=1 | Most steps, if the chains disagree.
""")
search_options = options("""
--knowledge FILE | TOML file with required and forbidden edges, tiers, unconfounded variables.
--waves flag | Waves are the numbers at the end of names (x_1, x_2): no effects back in time.
--max-lag int>=0 | With --waves: no direct effects over more waves than this.
graph_class
max_in_degree
max_district
--strategy {ils,restart} = ils | Iterated local search, or the paper's restarts from random graphs.
--restarts int>=0 | Number of random starting graphs. [default: 24 for ils, fewer for many variables,
    3 on resampled data; 100 for restart]
penalty
smallest_effect
""")
SEARCH_NAMES = (
    *("graph_class", "max_in_degree", "max_district"),
    *("strategy", "restarts", "penalty", "smallest_effect"),
)
budget_options = group(
    options("time_limit"),
    jobs_option,
    options("""
--scheduler ADDRESS | Use the workers of this dask scheduler, such as tcp://10.0.0.5:8786.
"""),
    seed_option,
)


# --- reading their values -------------------------------------------------------------------------


def refuse(reasons: dict[str, object]) -> None:
    """Raise a usage error with the first reason that holds."""
    for reason, holds in reasons.items():
        if holds:
            raise click.UsageError(reason)


def read_format(text: str, format: str, auto: str) -> MixedGraph | LavaanModel:
    """Return the graph, or lavaan model, that a string in this format describes."""
    if format != "lavaan":
        return read(text, format=format)
    model = read_lavaan(text, auto=auto)  # type: ignore[arg-type]  # click checks the choices
    if model.note:
        say(f"note: {model.note} (--auto)")
    return model


def chosen_options(context: click.Context) -> dict[str, str]:
    """Return the parameters that the command line sets, and their options."""
    return {
        str(parameter.name): parameter.opts[0]
        for parameter in context.command.params
        if context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
    }


def averages_graphs(context: click.Context, of_graph: Sequence[str]) -> bool:
    """Return whether no graph was given, so that graphs are learned and averaged over.

    Options of the other case, of which `of_graph` need a graph, are refused.
    """
    chosen = chosen_options(context)
    averages = not {"graph", "graph_file"} & {*chosen}
    search = [*SEARCH_NAMES, "knowledge", "waves", "max_lag", "steps", "max_steps"]
    place = "belongs to" if averages else "does not go together with"
    refuse(
        {
            f"{chosen[name]} {place} --graph or --graph-file": True
            for name in (of_graph if averages else search)
            if name in chosen
        }
    )
    return averages


def graph_or_file(text: str) -> str | Path:
    """Return the value of --graph, as a path if it is the name of a file."""
    return Path(text) if os.path.isfile(text) else text


def read_model(given: dict[str, Any]) -> MixedGraph | LavaanModel:
    """Return the graph, or lavaan model, of `graph_options`."""
    graph, path, format, auto = (
        given.pop(name) for name in ("graph", "graph_file", "graph_format", "auto")
    )
    if graph is not None and path is None and isinstance(file := graph_or_file(graph), Path):
        graph, path = None, file
    refuse(
        {
            "give the graph by one of --graph or --graph-file": (graph is None) == (path is None),
            "--format belongs to --graph-file": path is None and format is not None,
        }
    )
    if path is None:
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
    waves, lag = given.pop("waves"), given.pop("max_lag")
    refuse(
        {
            "--max-lag needs --waves": lag is not None and not waves,
            "--waves and the tiers of --knowledge exclude each other": waves
            and knowledge is not None
            and bool(knowledge.tiers),
        }
    )
    found = {name: given.pop(name) for name in SEARCH_NAMES} | {"knowledge": knowledge}
    return found | ({"waves": (lag,)} if waves else {})


def add_waves(search: dict[str, Any], data: Any) -> None:
    """Replace ``--waves`` in the values of `search_options` by knowledge about the columns."""
    if "waves" not in search:
        return
    (lag,) = search.pop("waves")
    names = [*(data[0].data if isinstance(data, list) else getattr(data, "names", data))]
    known = search["knowledge"] or Knowledge()
    edges = {name: getattr(known, name) for name in ("required", "forbidden", "unconfounded")}
    with naming("--waves"):
        search["knowledge"] = Knowledge.from_waves(names, max_lag=lag, **edges)


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
