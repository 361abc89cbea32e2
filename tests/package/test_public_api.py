"""Whatever is given to a public function: a result, or an error of our own that says what is wrong.

The functions, methods and constructors are found by walking the table of contents,
``src/bowfree/__init__.pyi``, and their arguments by reading their signatures and option groups, so
that a new public name is in here without a line being written. Each argument is then wrong in every
way we know (`tests/hostile.py`) while the others are right, and hypothesis makes two of them wrong
at a time: `VALID` has a right value for each word of the vocabulary, so that a call gets past the
first check.

What may come out, besides a result:

- a `BowfreeError` with a message of bearable length;
- `FitWarning` and `DataWarning`, which are errors in these tests;
- `OSError` where a path was given: what the file system answers is its own affair;
- from `BAPLearner`, for a strange `X`, what scikit-learn's conventions ask for.

Left out on purpose: the constructors of results, which bowfree makes and users read; methods that
come from elsewhere (tuple, Mapping, scikit-learn); switches, for which any object will do that has
a truth value; `ax`, which belongs to matplotlib; what a callback does when it is called; the wrong
number or the wrong name of arguments, to which Python itself answers with a TypeError.

``BOWFREE_API_EXAMPLES=300 pytest tests/package/test_public_api.py`` looks longer, and
``tests/fuzz/wrong_arguments.py`` leaves out nothing that takes long; ``nox -s fuzz`` does both.
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
QUICK = {"restarts": 1, "rounds": 0}
TEXT = "a -> b <-> c"
CONDITIONS = [bf.Condition(DATA), bf.Condition(DATA), bf.Condition(DATA, targets=["b"])]


@cache
def results() -> dict[type, Any]:
    """Return one of each public class that functions return."""
    search = bf.greedy_search(DATA, rng=1, **QUICK)
    fit = bf.fit(GRAPH, DATA)
    members = bf.equivalence_class(GRAPH)
    bounds = bf.effect_bounds(members, DATA)
    samples = bf.structure_mcmc(DATA, steps=60, burn_in=6, thin=3, chains=2, rng=1)
    average = bf.averaged_effects(search, steps=400, rng=1)
    again = bf.bootstrap(
        DATA, n_resamples=3, confidence=0.1, strategy=bf.search.Strategy(**QUICK), rng=1
    )
    exact = bf.exhaustive_search(DATA)
    done = bf.intervene(fit, {"a": 1.0})
    pair = {"of": "a", "on": "b"}
    robust = bf.fit(GRAPH, DATA.mask(DATA > 2), missing="fiml", test="yuan-bentler")
    joint = bf.fit(GRAPH, CONDITIONS)
    made = [
        joint, joint.conditions, CONDITIONS[0], joint.sharing_test(),
        search, search.confidence, fit, fit.summary(), fit.indices, *fit.estimates(),
        fit.standard_errors(),
        fit.total_effects(), fit.total_effects().effect(**pair), fit.sem(), members,
        members.summary(), bf.empirical_class(GRAPH, DATA), bf.explain_equivalence(GRAPH, GRAPH),
        bf.constraint_tests(GRAPH, DATA), bounds, bounds.effect(**pair),
        bf.model.district_scores(GRAPH, DATA), done, done.variable("b"), samples, average,
        average.effect(**pair), average.edge("a -> b"), again, again.effect(**pair), exact,
        exact.classes(), bf.choose_penalty(DATA, penalties=[0.5, 1.0], cv=2, strategy=bf.search.Strategy(**QUICK), rng=1),
        bf.stability_selection(DATA, n_halves=2, strategy=bf.search.Strategy(**QUICK), rng=1),
        GRAPH.pag(), GRAPH.identified(), bf.equivalence.atlas(2), bf.Progress("runs", 1, 2, 0.5, 0.5),
        bf.search.SearchInterrupted(search), bf.errors.WorkInterrupted(search), bf.design(GRAPH),
        next(GRAPH.paths("a", "b")), next(GRAPH.treks("b", "c")),
        robust.scaled, robust.moments.missing_values,
        bf.BAPLearner(random_state=1, **QUICK).fit(DATA), GRAPH, bf.Moments(GRAPH.nodes, COV, 60),
        fit.modification_indices(), fit.predict(DATA, of="a"), fit.residuals(DATA),
        bf.edge_changes(GRAPH, DATA), bf.compare({"a": GRAPH, "b": bf.parse("a, b, c")}, DATA),
        bf.bootstrap_fit(GRAPH, DATA, n_bootstrap=3, confidence=0.1, rng=1),
        bf.bootstrap_fit(GRAPH, DATA, n_bootstrap=3, confidence=0.1, rng=1).effect(**pair),
        bf.effects.adjustment_sets(GRAPH, **pair), bf.effects.instruments(GRAPH, **pair),
        bf.effects.path_effects(fit, **pair), bf.effects.sensitivity(fit, **pair),
        bf.effects.path_effect_bounds(members, DATA, **pair),
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


# -- a right value for each word of the vocabulary --

# What classes does a user make by hand? All others are results.
MADE_BY_HAND = {
    "MixedGraph", "Knowledge", "SearchSpace", "ScoringRule", "Moments", "LinearSEM",
    "BAPLearner", "Condition", "JointMoments",
}  # fmt: skip

VALID: dict[str, Callable[[], Any]] = {
    "graph": lambda: GRAPH,
    "other": lambda: bf.parse("a <- b <-> c"),
    "graphs": lambda: result("EquivalenceClass"),
    "targets": lambda: [(), ("a",)],
    "kind": lambda: "noise",
    "candidates": lambda: ["a", "b"],
    "max_targets": lambda: 2,
    "most": lambda: 3,
    "data": lambda: DATA,
    "cov": lambda: COV,
    "n": lambda: 60,
    "ddof": lambda: 0,
    "shrinkage": lambda: 0.1,
    "missing": lambda: "fiml",
    "correlation": lambda: "spearman",
    "ordinal": lambda: ["a"],
    "weights": lambda: np.linspace(1, 2, 60),
    "frame": lambda: {**DATA, "batch": ["u", "v"] * 30},
    "column": lambda: "batch",
    "conditions": lambda: result("JointMoments").conditions,
    "se": lambda: "robust",
    "test": lambda: "satorra-bentler",
    "n_bootstrap": lambda: 3,
    "X": lambda: DATA,
    "S": lambda: COV,
    "B": lambda: SEM.B,
    "Omega": lambda: SEM.Omega,
    "mean": lambda: [0.0, 1.0, 2.0],
    "names": lambda: GRAPH.nodes,
    "nodes": lambda: ["a", "b", "c"],
    "node": lambda: "a",
    "name": lambda: "a",
    "a": lambda: "a",
    "b": lambda: "b",
    "i": lambda: "a",
    "j": lambda: "b",
    "of": lambda: "a",
    "on": lambda: "b",
    "mark": lambda: "->",
    "edge": lambda: "a -> b",
    "edges": lambda: "a -> c",
    "old": lambda: "a -> b",
    "new": lambda: "a <- b",
    "hidden": lambda: "a",
    "through": lambda: "c",
    "avoiding": lambda: ["c"],
    "adjust_for": list,
    "max_paths": lambda: 3,
    "given": lambda: bf.SearchSpace(),
    "directed": lambda: [("a", "b")],
    "bidirected": lambda: [("b", "c")],
    "left": lambda: ("b", "a"),
    "right": lambda: ("b",),
    "marks": lambda: ("->", "<->"),
    "text": lambda: TEXT,
    "source": lambda: GRAPH.to_json(),
    "content": dict,
    "path": lambda: "written",
    "checkpoint": lambda: "checkpoint",
    "space": lambda: bf.SearchSpace(),
    "knowledge": lambda: bf.Knowledge(required=["a -> b"]),
    "required": lambda: ["a -> b"],
    "forbidden": lambda: ["a <-> c"],
    "tiers": lambda: [["a"], ["b", "c"]],
    "unconfounded": lambda: ["a"],
    "graph_class": lambda: "dag",
    "max_in_degree": lambda: 2,
    "max_district": lambda: 2,
    "max_edges": lambda: 2,
    "penalty": lambda: 0.5,
    "penalties": lambda: [0.5, 1.0],
    "max_iter": lambda: 10,
    "tol": lambda: 1e-3,
    "n_starts": lambda: 2,
    "rng": lambda: 1,
    "random_state": lambda: 1,
    "n_jobs": lambda: 1,
    "time_limit": lambda: 0.1,
    "progress": lambda: lambda progress: None,
    "strategy": lambda: "restart",
    "restarts": lambda: 1,
    "rounds": lambda: 0,
    "direction": lambda: "both",
    "neighbors": lambda: 2,
    "max_steps": lambda: 3,
    "plateau": lambda: 0,
    "keep": lambda: 5,
    "window": lambda: 1.0,
    "cache_mb": lambda: 1.0,
    "starts": lambda: [GRAPH],
    "steps": lambda: 40,
    "burn_in": lambda: 4,
    "thin": lambda: 2,
    "chains": lambda: 2,
    "temperature": lambda: 1.0,
    "prior": lambda: "flat",
    "n_halves": lambda: 2,
    "max_false": lambda: 1.0,
    "holdout": lambda: 0.5,
    "count": lambda: "graphs",
    "max_classes": lambda: 3,
    "level": lambda: 0.9,
    "limit": lambda: 5,
    "zero": lambda: 1e-8,
    "effects": lambda: "corrected",
    "epsilon": lambda: 1e-9,
    "size": lambda: 2,
    "d": lambda: 3,
    "do": lambda: {"a": 1.0},
    "model": lambda: SEM,
    "rank": lambda: 0,
    "confidence": lambda: 0.1,
    "n_resamples": lambda: 3,
    "cv": lambda: 2,
    "backend": lambda: "polars",
    "as_frame": lambda: "pyarrow",
    "information": lambda: "observed",
    "layout": lambda: "circle",
    "indent": lambda: 2,
    "simple": lambda: True,
    "n_samples": lambda: 4,
    "result": lambda: result("Fit"),
    "equivalence_class": lambda: result("EquivalenceClass"),
    "bounds": lambda: result("EffectBounds"),
    "bootstrap": lambda: result("BootstrapResult"),
    "matrix": lambda: np.zeros((3, 3), dtype=int),
    "vertices": lambda: ["a", "b", "c"],
    "di_edges": lambda: [("a", "b")],
    "bi_edges": lambda: [("b", "c")],
    "format": lambda: "text",
    "frequencies": lambda: result("BootstrapResult"),
    "summary": lambda: result("ClassSummary"),
    "runs": lambda: result("SearchResult"),
    "curves": lambda: {"one": ([0.0, 0.5, 1.0], [0.0, 0.7, 1.0])},
    "estimate": lambda: np.array([[0, 0, 0], [0.5, 0, 0], [0, 0, 0]]),
    "truth": lambda: SEM.total_effects().estimate,
}

# The same word with another meaning.
ELSEWHERE: dict[tuple[str, str], Callable[[], Any]] = {
    ("MixedGraph.from_dict", "data"): lambda: GRAPH.to_dict(),
    ("MixedGraph.relabel", "names"): lambda: {"a": "u"},
    ("formats.from_networkx", "graph"): lambda: bf.formats.to_networkx(GRAPH),
    ("MixedGraph.m_separated", "given"): lambda: ["c"],
    ("LinearSEM.edge_product", "path"): lambda: next(GRAPH.paths("a", "b")),
    ("LinearSEM.sample", "n"): lambda: 4,
    ("SearchResult.fit", "holdout"): lambda: DATA,
    ("ExhaustiveResult.fit", "holdout"): lambda: DATA,
    ("Knowledge.from_toml", "path"): lambda: written("knowledge.toml", 'forbidden = ["a -> b"]'),
    ("random_bap", "method"): lambda: "mcmc",
    ("equivalence_class", "method"): lambda: "exact",
    ("plot.design", "result"): lambda: result("Design"),
    ("Design.experiment", "targets"): lambda: "a",
    ("plot.effects", "effects"): lambda: result("EffectBounds"),
    ("plot.graph", "marks"): lambda: None,
    ("formats.dagitty_positions", "text"): lambda: "dag { a -> b }",
    ("formats.from_dagitty", "text"): lambda: bf.formats.to_dagitty(GRAPH),
    **{
        (name, word): lambda: GRAPH
        for name in ("effects.adjustment_distance", "graph.accuracy", "graph.shd")
        for word in ("estimate", "truth")
    },
    ("effects.sensitivity", "fit"): lambda: result("Fit"),
    ("effects.path_effect_bounds", "graphs"): lambda: result("EquivalenceClass"),
    ("plot.sensitivity", "result"): lambda: bf.effects.sensitivity(result("Fit"), of="a", on="b"),
    ("Sensitivity.adjusted", "r2_exposure"): lambda: 0.1,
    ("Sensitivity.adjusted", "r2_outcome"): lambda: 0.1,
    ("PathEffects.effect", "name"): lambda: "total",
    ("PathEffectBounds.effect", "name"): lambda: "total",
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
    ("ModificationIndices.edge", "b"): lambda: "c",
    ("EdgeChanges.to", "b"): lambda: "c",
    ("Fit.predict", "data"): lambda: DATA[["a", "b"]],
    ("Fit.predict", "of"): lambda: "c",
    ("Comparison.fit", "name"): lambda: "a",
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

# Given unless the call is about them: a search of all graphs takes long, and so does a wide chain.
CHEAP: dict[str, tuple[str, ...]] = {
    "Design.experiment": ("targets",),
    "greedy_search": ("data", "restarts", "rounds", "rng"),
    "exhaustive_search": ("data",),
    "random_bap": ("burn_in",),
    "structure_mcmc": ("data", "steps", "burn_in", "thin", "chains", "rng"),
    "averaged_effects": ("data", "steps", "rng"),
    "bootstrap_fit": ("data", "n_bootstrap", "confidence", "rng"),
    "bootstrap": ("data", "n_resamples", "confidence", "strategy", "rng"),
    "stability_selection": ("n_halves", "strategy", "rng"),
    "choose_penalty": ("penalties", "cv", "strategy", "rng"),
    "empirical_class": ("data",),
    "effects.path_effect_bounds": ("data",),
    **dict.fromkeys(
        ("fit", "score", "model.district_scores", "constraint_tests", "moments", "effect_bounds",
         "edge_changes", "compare", "Condition", "workbench"),
        ("data",),
    ),
    **dict.fromkeys(
        ("Fit.edge", "JointFit.edge", "Identification.edge", "AveragedEffects.edge",
         "StructureSamples.edge", "BootstrapResult.edge",
         "BootstrapFit.edge", "ModificationIndices.edge", "EdgeChanges.to"),
        ("a", "mark", "b"),
    ),
}  # fmt: skip

# Studies run for minutes or read files that are not ours, and one function downloads. What they are
# given goes on to the searches and gates that are tested here.
LEFT_OUT = {
    "datasets.load_sachs", "studies.causal_effect_study", "studies.sachs_study",
    "studies.uniformity_study",
}  # fmt: skip

NOT_OURS = {"ax", "simple", "fixed_zeros", "colorbar"}
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
        if parameter.kind is parameter.VAR_KEYWORD:
            words += option_words(call, parameter)
            continue
        if parameter.name in NOT_OURS:
            continue
        words.append(parameter.name)
        if parameter.kind is parameter.VAR_POSITIONAL:
            variadic = parameter.name
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            in_place.append(parameter.name)
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL:
            required.append(parameter.name)
    return Entrance(label, call, tuple(required), tuple(words), tuple(in_place), variadic)


def option_words(call: Callable[..., Any], parameter: inspect.Parameter) -> list[str]:
    """Return the words of ``**options: Unpack[Group]``; an unknown one where there is no group."""
    name = str(parameter.annotation).removeprefix("Unpack[").removesuffix("]")
    function = inspect.unwrap(getattr(call, "__func__", call))
    group = getattr(function, "__globals__", {}).get(name)
    return list(group.__annotations__) if group is not None else ["strange_option"]


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
    """Call, and look at what comes out; whatever is neither a result nor ours is raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # Polars' own advice, to whoever asks a lazy frame for its columns.
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


# A fit of several conditions is a fit, but has no single covariance matrix and no single mean.
REFUSED = {
    f"JointFit.{name}"
    for name in (
        "modification_indices", "predict", "residual_correlations", "residuals",
    )
}  # fmt: skip


@pytest.mark.parametrize("label", sorted(ENTRANCES))
def test_right_arguments_give_a_result(label, tmp_path, monkeypatch):
    """Otherwise the wrong ones would not get past the first check."""
    monkeypatch.chdir(tmp_path)
    found = ENTRANCES[label]
    assert all(word in VALID or (label, word) in ELSEWHERE for word in found.required)
    if label in REFUSED:
        with pytest.raises(bf.errors.DataError, match="condition"):
            found(found.base(), 99)
    else:
        found(found.base(), 99)


def went_wrong(label: str, *, every: int = 1) -> tuple[int, list[str]]:
    """Give each argument of a function each wrong object, or every so-many-th, in turn.

    Return the number of calls, and a description of those that went wrong.
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


# Half of the time all would take; `tests/fuzz/wrong_arguments.py` has them, too.
LONG = ("report.render", "report.write", "Fit.report", "SearchResult.report")


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
