"""Run time by number of variables: the table of docs/evidence/scaling.md.

    python benchmarks/bench_run_time.py

Data as in section 4.1 of the paper (random BAPs with in-degree at most 2, n = 1000), three sets for
each d, one thread, CPU seconds (median). The table reports the number of searches whose score is
below that of the true graph, if any.
"""

import statistics
import time
import warnings

import bowfree as bf

SIZES = (5, 10, 15, 20, 30, 50)
SETS = 3


def timed(call):
    began = time.process_time()
    return call(), time.process_time() - began


def measure(d: int, seed: int) -> dict[str, float]:
    truth = bf.random_sem(bf.random_bap(d, max_in_degree=2, rng=seed), rng=seed + 1)
    X = truth.sample(1000, rng=seed + 2)
    result, search = timed(lambda: bf.greedy_search(X, rng=0))
    fitted, fit = timed(result.fit)
    members, equivalence = timed(lambda: bf.equivalence_class(result, time_limit=30))
    _, effects = timed(lambda: bf.effect_bounds(result, limit=10_000))
    _, average = timed(lambda: bf.averaged_effects(result, limit=500, time_limit=30, rng=0))
    assert fitted.score == result.score or abs(fitted.score - result.score) < 1e-9
    return {
        "search": search,
        "fit": fit,
        "class": equivalence,
        "effects": effects,
        "averaged": average,
        "members": float(min(members.size, 10**15)),
        "below": float(result.score < bf.score(truth.graph, X) - 1e-9),
    }


def main() -> None:
    warnings.simplefilter("ignore", bf.errors.FitWarning)
    print("| d | search | fit | class | members | effect bounds | averaged effects | below truth |")
    print("|---|---|---|---|---|---|---|---|")
    for d in SIZES:
        rows = [measure(d, 100 * d + 10 * k) for k in range(SETS)]
        m = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
        print(
            f"| {d} | {m['search']:.2f} s | {1000 * m['fit']:.1f} ms | {m['class']:.3f} s | "
            f"{m['members']:,.0f} | {m['effects']:.2f} s | {m['averaged']:.1f} s | "
            f"{sum(row['below'] for row in rows):.0f} of {SETS} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
