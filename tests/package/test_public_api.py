"""Every public function answers to wrong arguments with a result or with an error of its own.

The functions, methods and constructors are found in the table of contents,
``src/bowfree/__init__.pyi``, and their arguments in their signatures. Each argument in turn is
replaced by every object of `tests/hostile.py` while the others are valid (`VALID`), and hypothesis
replaces two at a time. Permitted outcomes besides a result:

- a `BowfreeError` with a message of limited length;
- `FitWarning` and `DataWarning`, which are errors in these tests;
- `OSError` if a path is passed;
- from `BAPLearner`, for a wrong `X`, the exceptions of scikit-learn's conventions.

Not tested: constructors of results, inherited methods (tuple, Mapping, scikit-learn), flags, `ax`,
exceptions of callbacks, and wrong numbers or names of arguments.

``BOWFREE_API_EXAMPLES=300 pytest tests/package/test_public_api.py`` takes longer, and
``tests/fuzz/wrong_arguments.py`` includes slow functions; ``nox -s fuzz`` runs both.
"""

from __future__ import annotations

import ast
import copy
import inspect
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import bowfree as bf
from bowfree.text_reading import truncate
from hostile import MAKERS, OBJECTS
from one_of_each import one_of_each

EXAMPLES = int(os.environ.get("BOWFREE_API_EXAMPLES", "6"))
EVERY = 1 if EXAMPLES >= 100 else 8  # of the wrong objects; `nox -s fuzz` tries all
LONGEST_MESSAGE = 1_500

# a -> b <-> c
GRAPH = bf.parse("a -> b <-> c")
SEM = bf.LinearSEM(
    GRAPH, [[0, 0, 0], [0.8, 0, 0], [0, 0, 0]], [[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]]
)
DATA = SEM.sample(60, rng=1, as_frame="pandas")
COV = DATA.cov().to_numpy()
QUICK = bf.search.Strategy(restarts=1, rounds=0)
TEXT = "a -> b <-> c"
CONDITIONS = [bf.Condition(DATA), bf.Condition(DATA), bf.Condition(DATA, targets=["b"])]


@cache
def results() -> dict[type, Any]:
    """Return one of each public class that functions return."""
    search = bf.greedy_search(DATA, rng=1, strategy=QUICK)
    made = [
        *one_of_each(GRAPH, DATA), *CONDITIONS, GRAPH, bf.Moments(GRAPH.nodes, COV, 60),
        bf.Progress("runs", 1, 2, 0.5, 0.5), bf.search.SearchInterrupted(search),
        bf.errors.WorkInterrupted(search), next(GRAPH.paths("a", "b")),
        next(GRAPH.treks("b", "c")), bf.BAPLearner(random_state=1, strategy=QUICK).fit(DATA),
    ]  # fmt: skip
    found: dict[type, Any] = {}
    while made:
        thing = made.pop()
        if isinstance(thing, list | tuple):
            made.extend(thing)
        if type(thing) in found or not type(thing).__module__.startswith("bowfree"):
            continue
        found[type(thing)] = thing
        if is_dataclass(thing):
            made.extend(
                vars(thing)[field.name] for field in fields(thing) if field.name in vars(thing)
            )
            made.extend(getattr(thing, "conditions", ()))
    return found


def result(name: str) -> Any:
    return next(made for cls, made in results().items() if cls.__name__ == name)


def written(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


# --- a valid value for each parameter ---

# Classes that users construct; all others are results.
MADE_BY_HAND = {
    "MixedGraph", "Knowledge", "SearchSpace", "ScoringRule", "Moments", "LinearSEM",
    "BAPLearner", "Condition", "JointMoments",
}  # fmt: skip

CONSTANTS = {
    "kind": "noise", "max_targets": 2, "n": 60, "ddof": 0, "shrinkage": 0.1,
    "missing": "fiml", "correlation": "spearman", "column": "batch", "se": "robust",
    "test": "satorra-bentler", "n_bootstrap": 3, "node": "a", "name": "a", "a": "a", "b": "b",
    "of": "a", "on": "b", "mark": "->", "edge": "a -> b", "edges": "a -> c",
    "old": "a -> b", "new": "a <- b", "hidden": "a", "through": "c", "max_paths": 3,
    "marks": ("->", "<->"), "path": "written",
    "checkpoint": "checkpoint", "graph_class": "dag", "max_in_degree": 2, "max_district": 2,
    "max_edges": 2, "penalty": 0.5, "max_iter": 10, "tol": 1e-3, "n_starts": 2, "rng": 1,
    "random_state": 1, "n_jobs": 1, "time_limit": 0.1, "strategy": "restart", "restarts": 1,
    "rounds": 0, "direction": "both", "neighbors": 2, "max_steps": 3, "plateau": 0, "keep": 5,
    "window": 1.0, "cache_mb": 1.0, "steps": 40, "burn_in": 4, "thin": 2, "chains": 2,
    "temperature": 1.0, "prior": "flat", "n_halves": 2, "max_false": 1.0, "holdout": 0.5,
    "count": "graphs", "max_classes": 3, "level": 0.9, "limit": 5, "zero": 1e-8,
    "effects": "corrected", "epsilon": 1e-9, "size": 2, "d": 3, "confidence": 0.1,
    "n_resamples": 3, "cv": 2, "backend": "polars", "as_frame": "pyarrow",
    "information": "observed", "layout": "circle", "indent": 2, "n_samples": 4,
    "format": "text",
}  # fmt: skip

VALID: dict[str, Callable[[], Any]] = {
    **{word: (lambda value=value: value) for word, value in CONSTANTS.items()},
    "graph": lambda: GRAPH,
    "other": lambda: bf.parse("a <- b <-> c"),
    "graphs": lambda: result("EquivalenceClass"),
    "targets": lambda: [(), ("a",)],
    "candidates": lambda: ["a", "b"],
    "data": lambda: DATA,
    "cov": lambda: COV,
    "ordinal": lambda: ["a"],
    "weights": lambda: np.linspace(1, 2, 60),
    "frame": lambda: {**DATA, "batch": ["u", "v"] * 30},
    "X": lambda: DATA,
    "S": lambda: COV,
    "B": lambda: SEM.B,
    "Omega": lambda: SEM.Omega,
    "mean": lambda: [0.0, 1.0, 2.0],
    "names": lambda: GRAPH.nodes,
    "nodes": lambda: ["a", "b", "c"],
    "avoiding": lambda: ["c"],
    "adjust_for": list,
    "given": lambda: bf.SearchSpace(),
    "directed": lambda: [("a", "b")],
    "bidirected": lambda: [("b", "c")],
    "text": lambda: TEXT,
    "source": lambda: GRAPH.to_json(),
    "content": dict,
    "space": lambda: bf.SearchSpace(),
    "knowledge": lambda: bf.Knowledge(required=["a -> b"]),
    "required": lambda: ["a -> b"],
    "forbidden": lambda: ["a <-> c"],
    "tiers": lambda: [["a"], ["b", "c"]],
    "unconfounded": lambda: ["a"],
    "penalties": lambda: [0.5, 1.0],
    "progress": lambda: lambda progress: None,
    "starts": lambda: [GRAPH],
    "do": lambda: {"a": 1.0},
    "model": lambda: SEM,
    "result": lambda: result("Fit"),
    "equivalence_class": lambda: result("EquivalenceClass"),
    "bounds": lambda: result("EffectBounds"),
    "bootstrap": lambda: result("BootstrapResult"),
    "matrix": lambda: np.zeros((3, 3), dtype=int),
    "frequencies": lambda: result("BootstrapResult"),
    "summary": lambda: result("ClassSummary"),
    "runs": lambda: result("SearchResult"),
    "estimate": lambda: np.array([[0, 0, 0], [0.5, 0, 0], [0, 0, 0]]),
    "truth": lambda: SEM.total_effects().estimate,
}

# The same word with another meaning.
ELSEWHERE: dict[tuple[str, str], Callable[[], Any]] = {
    **{
        (name, "data"): lambda: SEM.sample(120, rng=1, as_frame="pandas")
        for name in ("independence_tests", "exclude_members", "nongaussianity")
    },
    ("MixedGraph.from_dict", "data"): lambda: GRAPH.to_dict(),
    ("MixedGraph.relabel", "names"): lambda: {"a": "u"},
    ("formats.from_networkx", "graph"): lambda: bf.formats.to_networkx(GRAPH),
    ("MixedGraph.m_separated", "given"): lambda: ["c"],
    ("LinearSEM.edge_product", "path"): lambda: next(GRAPH.paths("a", "b")),
    ("LinearSEM.sample", "n"): lambda: 4,
    ("SearchResult.fit", "holdout"): lambda: DATA,
    ("Knowledge.from_toml", "path"): lambda: written("knowledge.toml", 'forbidden = ["a -> b"]'),
    ("Knowledge.from_waves", "names"): lambda: ["a_1", "a_2", "b"],
    ("Knowledge.from_waves", "max_lag"): lambda: 1,
    ("random_bap", "method"): lambda: "mcmc",
    ("equivalence_class", "method"): lambda: "exact",
    ("plot.design", "result"): lambda: result("Design"),
    ("plot.effects", "effects"): lambda: result("EffectBounds"),
    ("plot.graph", "marks"): lambda: None,
    ("formats.from_dagitty", "text"): lambda: bf.formats.write(GRAPH, format="dagitty"),
    **{
        (name, word): lambda: GRAPH
        for name in ("effects.adjustment_distance", "graph.accuracy", "graph.shd")
        for word in ("estimate", "truth")
    },
    ("effects.sensitivity", "fit"): lambda: result("Fit"),
    ("effects.lagged_effects", "fit"): lambda: result("Fit"),
    ("effects.path_effect_bounds", "graphs"): lambda: result("EquivalenceClass"),
    ("plot.sensitivity", "result"): lambda: bf.effects.sensitivity(result("Fit"), of="a", on="b"),
    ("formats.to_matrix", "format"): lambda: "ggm",
    ("formats.from_matrix", "format"): lambda: "ggm",
    ("formats.read_pag", "format"): lambda: "tetrad",
    ("formats.read_pag", "source"): lambda: bf.formats.write(GRAPH, format="tetrad"),
    ("formats.read_lavaan", "text"): lambda: bf.formats.to_lavaan(GRAPH),
    ("LinearSEM.from_covariance", "Sigma"): lambda: SEM.covariance(),
    ("PAG.mark_at", "end"): lambda: "a",
    ("PAG.mark_at", "other"): lambda: "b",
    ("formats.from_lavaan", "text"): lambda: bf.formats.to_lavaan(GRAPH),
    ("compare", "graphs"): lambda: [GRAPH, bf.parse("a, b, c")],
    ("Fit.predict", "data"): lambda: DATA[["a", "b"]],
    ("Fit.predict", "of"): lambda: "c",
    ("datasets.read_table", "path"): lambda: written("table.csv", "a,b\n1,2\n"),
    ("datasets.read_table", "columns"): lambda: ["a"],
    ("datasets.read_covariance", "path"): lambda: written("cov.csv", ",a,b\na,1,0.5\nb,0.5,2\n"),
    ("datasets.read_covariance", "columns"): lambda: ["a"],
    ("datasets.write_table", "table"): lambda: bf.datasets.Table(("a", "b"), np.eye(2)),
    ("conditions", "targets"): lambda: {"u": ["b"]},
    ("conditions", "kind"): lambda: "perfect",
    ("Condition", "targets"): lambda: ["b"],
    ("Condition", "kind"): lambda: "perfect",
}

# Passed unless the call is about them, because the defaults take long.
CHEAP: dict[str, tuple[str, ...]] = {
    "greedy_search": ("data", "restarts", "rounds", "rng"),
    "exact_search": ("data", "rng"),
    "exhaustive_search": ("data",),
    "random_bap": ("burn_in",),
    "structure_mcmc": ("data", "steps", "burn_in", "thin", "chains", "rng"),
    "averaged_effects": ("data", "steps", "rng"),
    "bootstrap_fit": ("data", "n_bootstrap", "confidence", "rng"),
    "bootstrap": ("data", "n_resamples", "confidence", "strategy", "rng"),
    "stability_selection": ("n_halves", "strategy", "rng"),
    "choose_penalty": ("penalties", "cv", "strategy", "rng"),
    "empirical_class": ("data",),
    **dict.fromkeys(("independence_tests", "exclude_members", "nongaussianity"), ("data",)),
    "effects.path_effect_bounds": ("data",),
    **dict.fromkeys(
        ("fit", "score", "model.district_scores", "constraint_tests", "moments", "effect_bounds",
         "edge_changes", "compare", "Condition", "workbench"),
        ("data",),
    ),
    **dict.fromkeys(
        ("Fit.edge", "AveragedEffects.edge", "StructureSamples.edge", "BootstrapResult.edge"),
        ("a", "mark", "b"),
    ),
}  # fmt: skip

# Studies run for minutes, and one function downloads; they call functions that are tested here.
LEFT_OUT = {
    "datasets.load_sachs", "studies.causal_effect_study", "studies.sachs_study",
    "studies.uniformity_study",
}  # fmt: skip

NOT_OURS = {"ax", "simple", "colorbar"}
PATHS = {"path", "checkpoint"}


@dataclass(frozen=True)
class Entrance:
    """A public function, method or constructor, and the words that it takes."""

    label: str
    call: Callable[..., Any]
    required: tuple[str, ...]
    words: tuple[str, ...]
    in_place: tuple[str, ...]  # those that can be given by position
    variadic: str | None

    def valid(self, word: str) -> Any:
        made = ELSEWHERE.get((self.label, word)) or VALID.get(word)
        return made() if made else None

    def base(self) -> dict[str, Any]:
        """Return arguments with which the call succeeds, quickly."""
        words = dict.fromkeys((*self.required, *CHEAP.get(self.label, ())))
        return {word: self.valid(word) for word in words}

    def quick(self) -> dict[str, Any]:
        """Return the same with a time limit, if there is one: what is wrong may last."""
        limit = {"time_limit": self.valid("time_limit")} if "time_limit" in self.words else {}
        return self.base() | limit

    def __call__(self, arguments: dict[str, Any], n_in_place: int) -> Any:
        named = dict(arguments)
        placed = []
        for word in self.in_place[:n_in_place]:
            if word not in named:
                break
            placed.append(named.pop(word))
        more = [named.pop(self.variadic)] if self.variadic in named else []
        if more:  # *edges come after everything that is given by position
            placed += [named.pop(word) for word in self.in_place[len(placed) :] if word in named]
        return self._own_call()(*placed, *more, **named)

    def _own_call(self) -> Callable[..., Any]:
        """Return the method of a copy where calls would change the object."""
        owner = getattr(self.call, "__self__", None)
        if isinstance(owner, bf.BAPLearner):
            return getattr(copy.deepcopy(owner), self.call.__name__)
        return self.call


def entrance(label: str, call: Callable[..., Any]) -> Entrance:
    required, words, in_place, variadic = [], [], [], None
    for parameter in inspect.signature(call).parameters.values():
        if parameter.name in NOT_OURS or parameter.kind is parameter.VAR_KEYWORD:
            continue
        words.append(parameter.name)
        if parameter.kind is parameter.VAR_POSITIONAL:
            variadic = parameter.name
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            in_place.append(parameter.name)
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL:
            required.append(parameter.name)
    return Entrance(label, call, tuple(required), tuple(words), tuple(in_place), variadic)


def is_ours(function: Any) -> bool:
    return inspect.isroutine(function) and str(getattr(function, "__module__", "")).startswith(
        "bowfree"
    )


def contents() -> list[str]:
    """Return the names in the table of contents, in its order."""
    table = Path(inspect.getfile(bf)).with_suffix(".pyi")
    tree = ast.parse(table.read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return [alias.name for node in imports for alias in node.names]


def entrances() -> Iterator[Entrance]:
    for name in contents():
        thing = getattr(bf, name)
        if inspect.ismodule(thing):
            for inner in thing.__all__:
                if is_ours(getattr(thing, inner)):
                    yield entrance(f"{name}.{inner}", getattr(thing, inner))
        elif inspect.isclass(thing):
            if issubclass(thing, Exception):
                continue
            if name in MADE_BY_HAND:
                yield entrance(name, thing)
            example = results().get(thing)
            for method, _ in inspect.getmembers(thing, is_ours):
                if not method.startswith("_"):
                    owner = thing if example is None else example
                    yield entrance(f"{name}.{method}", getattr(owner, method))
        else:
            yield entrance(name, thing)


ENTRANCES = {found.label: found for found in entrances() if found.label not in LEFT_OUT}


def attempt(label: str, arguments: dict[str, Any], n_in_place: int = 99) -> None:
    """Call a function; raise its exception unless it is a permitted one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # Polars warns if the columns of a lazy frame are read.
            warnings.simplefilter("ignore", pl.exceptions.PerformanceWarning)
            found = ENTRANCES[label](arguments, n_in_place)
            if isinstance(found, Iterator):
                list(islice(found, 3))
            str(found), repr(found)
    except bf.BowfreeError as error:
        if len(str(error)) > LONGEST_MESSAGE:
            raise
    except (bf.errors.FitWarning, bf.errors.DataWarning):
        pass
    except OSError:
        if not PATHS & set(arguments):
            raise
    except (TypeError, ValueError, OverflowError, UserWarning):
        if not (label.startswith("BAPLearner.") and "X" in arguments):
            raise
    finally:
        plt.close("all")


def test_every_public_class_is_made_by_hand_or_returned():
    public = {getattr(bf, name) for name in contents() if inspect.isclass(getattr(bf, name))}
    results_of_calls = {cls for cls in public if not issubclass(cls, Exception)}
    missing = results_of_calls - set(results())
    assert not missing, f"add a call that returns one to results(): {missing}"


@pytest.mark.parametrize("label", sorted(ENTRANCES))
def test_right_arguments_give_a_result(label, tmp_path, monkeypatch):
    """Otherwise the wrong ones would not get past the first check."""
    monkeypatch.chdir(tmp_path)
    found = ENTRANCES[label]
    assert all(word in VALID or (label, word) in ELSEWHERE for word in found.required)
    found(found.base(), 99)


INCOMPLETE = DATA.mask(np.random.default_rng(1).random(DATA.shape) < 0.1)
SOURCES = {
    "incomplete rows": lambda: bf.moments(INCOMPLETE, missing="fiml"),
    "two stages": lambda: bf.moments(INCOMPLETE, missing="two-stage"),
    "ranks": lambda: bf.moments(np.exp(DATA), correlation="kendall"),
    "categories": lambda: bf.moments((DATA > 0).astype(float), ordinal=list("ab")),
    "weights": lambda: bf.moments(DATA, weights=VALID["weights"]()),
    "shrunk": lambda: bf.moments(DATA, shrinkage=0.1),
    "a matrix": lambda: bf.moments(cov=DATA.cov(), n=60),
    "conditions": lambda: bf.moments([bf.Condition(DATA[:30]), bf.Condition(DATA[30:])]),
}
# They draw rows anew, or look at the distribution of complete rows.
NEED_ROWS = {
    "bootstrap", "choose_penalty", "exclude_members", "independence_tests",
    "nongaussianity", "stability_selection",
}  # fmt: skip
OF_DATA = [
    label
    for label, found in ENTRANCES.items()
    if "data" in found.words and "." not in label and label not in ("Condition", "workbench")
]


@pytest.mark.parametrize("source", ["rows", *SOURCES])
@pytest.mark.parametrize("label", OF_DATA)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_moments_in_place_of_data(label, source):
    found = ENTRANCES[label]
    # Several conditions are searched exactly for DAGs only.
    base = found.base() | ({"graph_class": "dag"} if label == "exact_search" else {})
    if source == "rows":
        data = found.valid("data")
        results = [found(base | {"data": each}, 99) for each in (data, bf.moments(data))]
        # The text of a search states how long it took.
        first, second = (getattr(each, "score", str(each)) for each in results)
        assert first == second
    elif label not in NEED_ROWS and (label, source) != ("bootstrap_fit", "a matrix"):
        found(base | {"data": SOURCES[source]()}, 99)
    elif source in ("a matrix", "weights", "ranks"):
        with pytest.raises(bf.errors.DataError):
            found(base | {"data": SOURCES[source]()}, 99)


def went_wrong(label: str, *, every: int = 1) -> tuple[int, list[str]]:
    """Pass each wrong object, or one in `every`, for each argument of a function.

    Return the number of calls, and a description of the failures.
    """
    found, n_calls, wrong = ENTRANCES[label], 0, []
    for place, word in enumerate(found.words):
        for number, make in enumerate(MAKERS):
            if (number + place) % every:
                continue
            value = make()
            if word == "progress" and callable(value):
                continue
            n_calls += 1
            try:
                attempt(label, found.quick() | {word: value})
            except Exception as error:
                said = truncate(str(error).partition("\n")[0])
                wrong.append(f"{label}({word}=MAKERS[{number}]): {type(error).__name__}: {said}")
    return n_calls, wrong


# They take half of the time; `tests/fuzz/wrong_arguments.py` includes them.
LONG = ("report.render", "Fit.report", "SearchResult.report")


@pytest.mark.parametrize("label", sorted(set(ENTRANCES) - set(LONG)))
def test_each_wrong_object_gives_a_result_or_our_error(label, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, wrong = went_wrong(label, every=EVERY)
    assert not wrong


@st.composite
def calls(draw: st.DrawFn, found: Entrance) -> dict[str, Any]:
    arguments = found.quick()
    for word in draw(st.lists(st.sampled_from(found.words), max_size=2, unique=True)):
        arguments[word] = found.valid(word)
    for word in draw(st.lists(st.sampled_from(found.words), min_size=1, max_size=2, unique=True)):
        arguments[word] = draw(OBJECTS)
    assume(not callable(arguments.get("progress")))
    return arguments


@pytest.mark.parametrize("label", sorted(label for label, e in ENTRANCES.items() if e.words))
def test_wrong_arguments_give_a_result_or_our_error(label, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = ENTRANCES[label]

    @settings(max_examples=EXAMPLES, database=None, suppress_health_check=list(HealthCheck))
    @given(calls(found), st.integers(0, 3))
    def hold(arguments, n_in_place):
        attempt(label, arguments, n_in_place)

    hold()
