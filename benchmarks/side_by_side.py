"""Comparison of two installed versions of bowfree, case by case.

    python benchmarks/side_by_side.py OLD_PYTHON NEW_PYTHON [--rounds 9] [CASE ...]

Each interpreter has one version installed. Both run the same case in alternation, so that the load
of the machine affects both alike; the CPU seconds of the quickest round count. Prints a table of
ratios, new to old, and notes different results. The cases use only functions that both versions
have, and each takes at least a twentieth of a second.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from typing import Any

CASES = """
import inspect, itertools, json, sys, time, warnings
import numpy as np
import bowfree as bf

warnings.simplefilter("ignore")

def model(d, density, seed):
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(d)]
    pairs = [p for p in itertools.combinations(names, 2) if rng.random() < density]
    kinds = rng.random(len(pairs)) < 0.35
    return bf.MixedGraph(names, [p for p, k in zip(pairs, kinds) if not k],
                         [p for p, k in zip(pairs, kinds) if k])

def covariance(graph, n, seed):
    return np.cov(bf.random_sem(graph, rng=seed).sample(n, rng=seed), rowvar=False)

SPARSE, DENSE, WIDE = model(10, 0.25, 1), model(12, 0.6, 2), model(30, 0.08, 3)
S10, S12, S30 = (covariance(g, 1000, 4) for g in (SPARSE, DENSE, WIDE))
S5 = S10[:5, :5]
X = bf.random_sem(SPARSE, rng=5).sample(1000, rng=5)
FRAME = dict(zip(SPARSE.nodes, X.T))
FOREIGN = [model(10, 0.4, seed) for seed in range(40)]
PAIRS = [(model(15, 0.15, seed), model(15, 0.15, seed)) for seed in range(40)]
COMPLETE = bf.MixedGraph(list("abcde"), list(itertools.combinations("abcde", 2)))

# Options that only one of the versions has.
PLAIN = {"proof": False} if "proof" in inspect.signature(bf.greedy_search).parameters else {}
EMPTY = bf.MixedGraph([f"x{k}" for k in range(1, 11)])

def fit():
    return sum(bf.fit(SPARSE, cov=S10, n=1000).score for _ in range(200))

def fit_dense():
    return sum(bf.fit(DENSE, cov=S12, n=1000).score for _ in range(20))

def score_foreign():
    return sum(bf.score(g, cov=S10, n=1000) for g in FOREIGN for _ in range(3))

def standard_errors():
    fitted = bf.fit(SPARSE, cov=S10, n=1000)
    return sum(float(np.nansum(fitted.standard_errors().B)) for _ in range(40))

def search():
    return bf.greedy_search(cov=S10, n=1000, restarts=6, rounds=2, rng=0, **PLAIN).score

def search_restart():
    return bf.greedy_search(cov=S10, n=1000, strategy="restart", restarts=15, rng=0,
                            **PLAIN).score

def search_wide():
    return bf.greedy_search(cov=S30, n=1000, restarts=1, rounds=0, rng=0, **PLAIN).score

def exhaustive():
    return bf.exhaustive_search(cov=S5[:4, :4], n=1000).score

def chains():
    return float(bf.structure_mcmc(cov=S10, n=1000, steps=20_000, starts=[EMPTY] * 4, rng=0).scores.sum())

def classes():
    return sum(bf.equivalence_class(g).size for pair in PAIRS for g in pair)

def decisions():
    return sum(bf.equivalent(g, h) for g, h in PAIRS for _ in range(100))

def bounds():
    return float(bf.effect_bounds(bf.equivalence_class(COMPLETE, limit=5_000), cov=S5, n=1000,
                                  ).upper.sum())

def averaged():
    return float(bf.averaged_effects([WIDE], cov=S30, n=1000, limit=300).probability.sum())

def random_graphs():
    return sum(g.n_edges for g in bf.random_bap(10, size=12, rng=0))

def graphs():
    found = 0
    for _ in range(60):
        g = bf.parse(str(WIDE))
        found += sum(g.m_separated(a, b) for a, b in itertools.islice(
            itertools.combinations(g.nodes, 2), 40))
    return found

def data():
    return sum(bf.fit(SPARSE, FRAME).score for _ in range(100))

def bootstrap():
    short = {"restarts": 1, "rounds": 0}
    try:
        options = {"strategy": bf.search.Strategy(**short)}
    except (AttributeError, TypeError):  # a tree before Strategy was public
        options = {"search": short}
    return float(bf.bootstrap(X[:, :6], n_resamples=40, rng=0, **options).directed.sum())
"""

WORKER = (
    CASES
    + """
for line in sys.stdin:
    case = globals()[line.strip()]
    began = time.process_time()
    answer = case()
    print(json.dumps([time.process_time() - began, answer]), flush=True)
"""
)


class Version:
    """An interpreter with one version, waiting for the names of cases."""

    def __init__(self, python: str) -> None:
        self.process = subprocess.Popen(
            [python, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, case: str) -> tuple[float, Any]:
        """Return CPU seconds and the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(case, file=self.process.stdin, flush=True)
        seconds, answer = json.loads(self.process.stdout.readline())
        return seconds, answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_intermixed_args()
    names = given.cases or [line[4:-3] for line in CASES.splitlines() if line[-3:] == "():"]
    versions = Version(given.old), Version(given.new)
    print("| case | old | new | new / old | answers |\n|---|---|---|---|---|")
    for name in names:
        best: list[float] = [float("inf")] * 2
        answers: list[Any] = [None, None]
        for turn in range(given.rounds + 1):  # the first warms up
            for k in (0, 1) if turn % 2 else (1, 0):
                seconds, answers[k] = versions[k].run(name)
                if turn:
                    best[k] = min(best[k], seconds)
        a, b = answers
        same = a == b or abs(a - b) <= 1e-6 * abs(a)  # where a fit ends is right to 1e-8 or so
        print(
            f"| {name} | {1e3 * best[0]:.0f} ms | {1e3 * best[1]:.0f} ms | "
            f"{best[1] / best[0]:.3f} | {'same' if same else f'{a!r}, {b!r}'} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
