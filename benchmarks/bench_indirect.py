"""Coverage of 95 % intervals of indirect effects.

    python benchmarks/bench_indirect.py --sets 400 --averaged 40

Given graph: ``x -> m -> y <- x, z -> m, z -> y`` with standardized errors, normal or exponential; the
effect of x on y through m, by the delta method (normal and robust standard errors) and by percentile
bootstrap intervals. Learned graph: random graphs with five variables and at most
five edges, 500 rows; indirect effects of the pairs that have one,
and of as many others, averaged over graphs after a search.
"""

from __future__ import annotations

import argparse
from itertools import permutations

import numpy as np

import bowfree as bf

GRAPH = bf.parse("x -> m -> y <- x, z -> m, z -> y")


def draw(
    rng: np.random.Generator, n: int, a: float, b: float, skewed: bool
) -> dict[str, np.ndarray]:
    """Draw rows in which the indirect effect is a * b."""
    errors = rng.exponential(size=(n, 4)) - 1 if skewed else rng.standard_normal((n, 4))
    x, z = errors[:, 0], errors[:, 1]
    m = a * x + 0.3 * z + errors[:, 2]
    return {"x": x, "m": m, "y": b * m + 0.2 * x + 0.3 * z + errors[:, 3], "z": z}


def given_graph(n_sets: int, n_resampled: int, n_bootstrap: int) -> None:
    """Print the coverage for the true graph; the first sets are resampled as well."""
    kinds = {
        "delta method": {},
        "delta method, robust": {"se": "robust"},
        "percentile bootstrap": {"se": "bootstrap", "n_bootstrap": n_bootstrap},
    }
    print(f"| errors | n | a, b | {' | '.join(kinds)} |")
    print(f"|---|---|---|{'---|' * len(kinds)}")
    for skewed in (False, True):
        for n in (50, 300):
            for a, b in ((0.14, 0.14), (0.39, 0.39)):
                covered = dict.fromkeys(kinds, 0)
                for seed in range(n_sets):
                    data = draw(np.random.default_rng([seed, n, skewed]), n, a, b, skewed)
                    for kind, options in kinds.items():
                        if "n_bootstrap" in options and seed >= n_resampled:
                            continue
                        fit = bf.fit(GRAPH, data, rng=seed, **options)
                        paths = bf.effects.path_effects(fit, of="x", on="y", through="m")
                        row = paths.effect("through m")
                        covered[kind] += row.lower <= a * b <= row.upper
                sizes = [n_resampled if "n_bootstrap" in kinds[kind] else n_sets for kind in kinds]
                shares = " | ".join(
                    f"{share / size:.3f}"
                    for share, size in zip(covered.values(), sizes, strict=True)
                )
                law = "exponential" if skewed else "normal"
                print(f"| {law} | {n} | {a}, {b} | {shares} |", flush=True)


def learned_graph(n_sets: int) -> None:
    """Print the coverage of averages over graphs, for as many pairs with as without the effect."""
    hits: dict[str, list[bool]] = {"existing": [], "absent": [], "excluding zero": []}
    for seed in range(n_sets):
        rng = np.random.default_rng([seed, 77])
        graph = bf.random_bap(5, max_edges=5, rng=rng)
        sem = bf.random_sem(graph, rng=rng)
        data = sem.sample(500, rng=rng, as_frame="pandas")
        average = bf.averaged_effects(bf.greedy_search(data, rng=seed), rng=seed)
        true = {
            pair: bf.effects.path_effects(sem, of=pair[0], on=pair[1]).effect("indirect").estimate
            for pair in permutations(graph.nodes, 2)
        }
        existing = [pair for pair, value in true.items() if value != 0]
        absent = [pair for pair, value in true.items() if value == 0]
        rng.shuffle(absent)
        for of, on in (*existing, *absent[: len(existing)]):
            row = average.path_effects(of=str(of), on=str(on), max_paths=0).effect("indirect")
            value = true[str(of), str(on)]
            hit = row.lower <= value <= row.upper
            hits["existing" if value else "absent"].append(hit)
            if row.lower > 0 or row.upper < 0:
                hits["excluding zero"].append(hit)
    for name, found in hits.items():
        print(f"averaged indirect effects, {name}: {sum(found)} of {len(found)} intervals cover")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--resampled", type=int, default=100, help="sets with bootstrap intervals")
    parser.add_argument("--bootstrap", type=int, default=400)
    parser.add_argument("--averaged", type=int, default=40)
    options = parser.parse_args()
    if options.sets:
        given_graph(options.sets, options.resampled, options.bootstrap)
    if options.averaged:
        learned_graph(options.averaged)


if __name__ == "__main__":
    main()
