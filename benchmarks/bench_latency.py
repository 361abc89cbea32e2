"""Response time to Ctrl-C and time limits of every long-running function.

    python benchmarks/bench_latency.py                        # about five minutes of CPU
    python benchmarks/bench_latency.py --sizes 10 70 fit "equivalence_class"

Each function is called with up to 400 variables, on data that follow no graph. Ctrl-C is pressed at
several moments, and several time limits are set: a short one expires while the data are read, a
long one when there is much to return. The response time is measured in CPU seconds of the process,
which does not depend on the load of the machine; NumPy uses one thread, because waiting threads
would count. A call that ends by itself is not counted. Asserted: each ends within ``GOAL``.
"""

from __future__ import annotations

import _thread
import argparse
import gc
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded

import numpy as np

import bowfree as bf

GOAL = 0.3  # seconds
MOMENTS = (0.1, 0.7)  # CPU seconds after the call has begun
LIMITS = (0.02, 0.3, 2.0)  # seconds
SIZES = (10, 70, 120, 400)
N = 500
TABLE = 140 * 10**6  # bytes
FOLDER = TemporaryDirectory()


def names(d):
    return [f"x{i + 1}" for i in range(d)]


@cache
def covariance(d):
    """Return a covariance matrix on which no graph is simple."""
    rng = np.random.default_rng(d)
    A = rng.normal(size=(d, d)) / np.sqrt(d)
    return A @ A.T + np.eye(d)


@cache
def sample(d):
    return np.random.default_rng(d).multivariate_normal(np.zeros(d), covariance(d), size=2 * d + N)


@cache
def path(d):
    return bf.MixedGraph(names(d), directed=list(pairwise(names(d))))


@cache
def clique(d, kind="bidirected"):
    nodes = names(d)
    pairs = [(a, b) for i, a in enumerate(nodes) for b in nodes[i + 1 :]]
    return bf.MixedGraph(nodes, **{kind: pairs})


@cache
def dense(d):
    """Return a graph with one district of all nodes, of which nothing can be fitted apart."""
    nodes = names(d)
    pairs = [(i, j) for i in range(d) for j in range(i + 1, d)]
    return bf.MixedGraph(
        nodes,
        directed=[(nodes[i], nodes[j]) for i, j in pairs if (j - i) % 3 == 2],
        bidirected=[(nodes[i], nodes[j]) for i, j in pairs if (j - i) % 3 == 1],
    )


@cache
def sparse(d):
    """Return a graph with two edges a node, every third of them bidirected."""
    rng = np.random.default_rng(d)
    kinds: dict[str, list[tuple[str, str]]] = {"directed": [], "bidirected": []}
    nodes = names(d)
    for j in range(1, d):
        for i in rng.choice(j, size=min(j, 2), replace=False):
            kinds["bidirected" if rng.random() < 1 / 3 else "directed"].append((nodes[i], nodes[j]))
    return bf.MixedGraph(nodes, **kinds)


@cache
def fitted(d):
    return bf.fit(sparse(d), cov=covariance(d), n=N)


@cache
def learned(d):
    return bf.greedy_search(sample(d), restarts=1, rounds=0, time_limit=2.0, rng=0)


@cache
def batches(d):
    """Return the same data in three conditions, in two of which a variable was set."""
    X = sample(d)
    thirds = np.array_split(X, 3)
    targets = [(), (names(d)[0],), (names(d)[1],)]
    return [
        bf.Condition(dict(zip(names(d), part.T, strict=True)), targets=t)
        for part, t in zip(thirds, targets, strict=True)
    ]


@cache
def gappy(d):
    X = sample(d).copy()
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    return X


Call = Callable[..., Any]


def calls(d: int) -> dict[str, tuple[Callable[[], Call], bool]]:
    """Return, by name, what makes a call, and whether that takes a time limit."""
    cov = {"cov": covariance(d), "n": N}
    few = min(d, 12)
    return {
        "greedy_search": (lambda: partial(bf.greedy_search, **cov, restarts=10**4, rng=0), True),
        "greedy_search, restarts": (
            lambda: partial(bf.greedy_search, **cov, strategy="restart", restarts=10**4, rng=0),
            True,
        ),
        "greedy_search, from a dense graph": (
            lambda: partial(bf.greedy_search, **cov, starts=[dense(d)], rng=0),
            True,
        ),
        "greedy_search, conditions": (
            lambda: partial(bf.greedy_search, batches(d), restarts=10**4, rng=0),
            True,
        ),
        "exhaustive_search (d = 5)": (
            lambda: partial(bf.exhaustive_search, cov=covariance(5), n=N),
            False,
        ),
        "structure_mcmc": (lambda: partial(bf.structure_mcmc, **cov, steps=10**7, rng=0), True),
        "averaged_effects, of a search": (
            lambda: partial(bf.averaged_effects, learned(d), rng=0),
            True,
        ),
        "averaged_effects, of graphs": (
            lambda: partial(bf.averaged_effects, [sparse(d), path(d)], **cov, window=1e9),
            True,
        ),
        "equivalence_class, clique": (
            lambda: partial(bf.equivalence_class, clique(few)),
            True,
        ),
        "equivalence_class, dense": (lambda: partial(bf.equivalence_class, dense(d)), True),
        "equivalence_class, sparse": (
            lambda: partial(bf.equivalence_class, sparse(d)),
            True,
        ),
        "equivalence_class, edge-changes": (
            lambda: partial(bf.equivalence_class, sparse(d), method="edge-changes"),
            True,
        ),
        "equivalence_class, targets": (
            lambda: partial(bf.equivalence_class, sparse(d), targets=[(), ("x1",)]),
            True,
        ),
        "empirical_class": (
            lambda: partial(bf.empirical_class, sparse(d), **cov, epsilon=9.0),
            True,
        ),
        "effect_bounds": (
            lambda: partial(
                bf.effect_bounds,
                bf.equivalence_class(clique(7), limit=10**5),
                cov=covariance(7),
                n=N,
            ),
            True,
        ),
        "equivalent": (
            lambda: partial(bf.equivalent, clique(d, "directed"), clique(d, "directed")),
            False,
        ),
        "explain_equivalence": (
            lambda: partial(bf.explain_equivalence, sparse(d), path(d)),
            False,
        ),
        "markov_equivalent": (
            lambda: partial(
                bf.equivalence.markov_equivalent, sparse(d), sparse(d).reorder(names(d)[::-1])
            ),
            False,
        ),
        "compare": (lambda: partial(bf.compare, [sparse(d), path(d)], **cov), False),
        "constraints": (lambda: partial(bf.constraints, sparse(d)), False),
        "constraint_tests": (lambda: partial(bf.constraint_tests, sparse(d), sample(d)), False),
        "atlas (d = 5)": (lambda: partial(bf.equivalence.atlas, 5), False),
        "design": (
            lambda: partial(bf.design, bf.equivalence_class(clique(7), limit=10**5), max_targets=3),
            True,
        ),
        "bootstrap": (lambda: partial(bf.bootstrap, sample(d), rng=0), True),
        "bootstrap, of a graph": (
            lambda: partial(bf.bootstrap_fit, sparse(d), sample(d), rng=0),
            True,
        ),
        "stability_selection": (lambda: partial(bf.stability_selection, sample(d), rng=0), True),
        "choose_penalty": (lambda: partial(bf.choose_penalty, sample(d), rng=0), True),
        "fit, dense": (lambda: partial(bf.fit, dense(d), **cov), False),
        "fit, dense, 20 starts": (
            lambda: partial(bf.fit, dense(d), **cov, n_starts=20, rng=0),
            False,
        ),
        "fit, ricf": (
            lambda: partial(bf.fit, dense(d), **cov, method="ricf", max_iter=10**6, tol=1e-15),
            False,
        ),
        "fit, conditions": (lambda: partial(bf.fit, dense(d), batches(d)), False),
        "fit, robust": (
            lambda: partial(bf.fit, sparse(d), sample(d), se="robust", test="yuan-bentler"),
            False,
        ),
        "score": (lambda: partial(bf.score, dense(d), **cov), False),
        "standard errors": (lambda: lambda: fitted(d).standard_errors(), False),
        "total_effects, standard errors": (lambda: lambda: fitted(d).total_effects(), False),
        "modification_indices": (lambda: lambda: fitted(d).modification_indices(), False),
        "fit.summary": (lambda: lambda: str(fitted(d).summary()), False),
        "edge_changes": (lambda: partial(bf.edge_changes, sparse(d), **cov), False),
        "random_bap": (lambda: partial(bf.random_bap, d, size=10**4, rng=0), False),
        "moments": (
            lambda: partial(bf.moments, np.resize(sample(d), (TABLE // (8 * d), d))),
            False,
        ),
        "moments, gaps": (lambda: partial(bf.moments, gappy(d), missing="fiml"), False),
        "moments, ranks": (
            lambda: partial(bf.moments, np.tile(sample(d), (20, 1)), correlation="kendall"),
            False,
        ),
        "identified": (lambda: lambda: sparse(d).identified(), False),
        "pag": (lambda: lambda: sparse(d).pag(), False),
        "treks": (
            lambda: lambda: list(clique(few, "directed").treks("x1", f"x{few}")),
            False,
        ),
        "report": (lambda: lambda: fitted(d).report(Path(FOLDER.name) / "report.html"), False),
    }


def pressed_at(moment: float, call: Call) -> float | None:
    """Return CPU seconds from Ctrl-C, pressed so long after the beginning, to the end."""
    gc.collect()
    over = threading.Event()
    began = time.process_time()
    pressed: list[float] = []

    def press() -> None:
        while time.process_time() - began < moment:
            if over.wait(0.005):
                return
        pressed.append(time.process_time())
        _thread.interrupt_main()

    hand = threading.Thread(target=press)
    hand.start()
    interrupted = False
    try:
        call()
    except KeyboardInterrupt:
        interrupted = True
    finally:
        at_end = time.process_time()
        over.set()
        # Pressed when the call was over, the interrupt comes now.
        with suppress(KeyboardInterrupt):
            hand.join()
            time.sleep(0.05)
        hand.join()
    return at_end - pressed[0] if interrupted else None


def limited(limit: float, call: Call) -> float | None:
    """Return CPU seconds from the time limit to the end."""
    gc.collect()
    reached: list[float] = []
    clock = threading.Timer(limit, lambda: reached.append(time.process_time()))
    clock.start()
    try:
        call(time_limit=limit)
    except bf.BowfreeError as error:  # nothing was complete by then
        if "time limit" not in str(error).replace("_", " "):
            raise
    finally:
        at_end = time.process_time()
        clock.cancel()
        clock.join()
    return at_end - reached[0] if reached else None


def measured(make: Callable[[], Call], takes_limit: bool) -> tuple[list[float], list[float]]:
    """Return the latencies of Ctrl-C and of the time limit."""
    call = make()
    after_press = []
    for moment in MOMENTS:
        seconds = pressed_at(moment, call)
        if seconds is None:
            break
        after_press.append(seconds)
    limits = LIMITS if takes_limit and after_press else ()
    over = [limited(limit, call) for limit in limits]
    return after_press, [seconds for seconds in over if seconds is not None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="*", help="those whose name begins so; default: all")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    given = parser.parse_intermixed_args()
    warnings.simplefilter("ignore")
    # A shell that starts this in the background has it ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chosen = [
        name for name in calls(given.sizes[0]) if name.startswith(tuple(given.functions) or "")
    ]
    print("| function | " + " | ".join(f"d = {d}" for d in given.sizes) + " | time limit |")
    print("|---|" + "---|" * (len(given.sizes) + 1))
    worst, refused = {}, []
    for name in chosen:
        cells, limits = [], {}
        for d in given.sizes if "(d = " not in name else given.sizes[:1]:
            try:
                pressed, over = measured(*calls(d)[name])
            except bf.BowfreeError as error:
                refused.append(f"{name}, d = {d}: {error}")
                cells.append("refused")
                continue
            limits[d] = max(over, default=0.0)
            cells.append(f"{max(pressed):.2f}" if pressed else "ends")
            worst[name, d] = max([*pressed, *over], default=0.0)
        cells += [""] * (len(given.sizes) - len(cells))
        limit = (
            ", ".join(f"{seconds:.2f}" for seconds in limits.values())
            if any(limits.values())
            else ""
        )
        print(f"| {name} | " + " | ".join(cells) + f" | {limit} |", flush=True)
    print("\n".join(["", *refused]))
    slow = {key: round(seconds, 2) for key, seconds in worst.items() if seconds > GOAL}
    assert not slow, f"longer than {GOAL} s: {slow}"


if __name__ == "__main__":
    main()
