"""Invariance of scores under permutations and changes of units of the columns.

    python benchmarks/bench_invariance.py             # 2,000 cases of each size, about a minute
    python benchmarks/bench_invariance.py --cases 100

Dense random graphs on data of another model are the hardest cases, because their likelihood has
many maxima. Each is fitted as it is, with permuted columns, and with each column multiplied by
``10 ** U(-6, 6)``. Asserted: no score differs by more than a relative 1e-9, whether the fit is
certified or not.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests")]

import bowfree as bf  # noqa: E402
from bowfree import _core  # noqa: E402
from random_models import foreign_data  # noqa: E402

TOLERANCE = 1e-9


def objective(graph, S):
    """Return F of all districts together, and whether all are certified."""
    fit = _core.fit_graph(np.ascontiguousarray(S), *graph._bits())
    return sum(fit.objective), all(fit.converged)


def differences(rng, d, n_cases):
    """Return relative differences after a permutation and after a change of units.

    Rows are cases; the third column says whether all three fits are certified.
    """
    rows = []
    for _ in range(n_cases):
        graph, S = foreign_data(rng, d)
        F, certified = objective(graph, S)
        order = rng.permutation(d)
        permuted = bf.MixedGraph([graph.nodes[i] for i in order], graph.directed, graph.bidirected)
        F_permuted, certified_permuted = objective(permuted, S[np.ix_(order, order)])
        unit = 10 ** rng.uniform(-6, 6, size=d)
        F_scaled, certified_scaled = objective(graph, S * np.outer(unit, unit))
        F_scaled -= 2 * np.log(unit).sum()
        scale = max(1.0, abs(F))
        rows.append(
            (
                abs(F_permuted - F) / scale,
                abs(F_scaled - F) / scale,
                certified and certified_permuted and certified_scaled,
            )
        )
    return np.array(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000, help="of each size")
    n_cases = parser.parse_args().cases
    print("| d | cases | certified | permuted: differ, largest | rescaled: differ, largest |")
    print("|---|---|---|---|---|")
    worst = 0.0
    for d in (5, 8, 12):
        rows = differences(np.random.default_rng(d), d, n_cases)
        by_order, by_units = rows[:, 0], rows[:, 1]
        print(
            f"| {d} | {n_cases} | {rows[:, 2].sum():.0f} | "
            f"{(by_order > TOLERANCE).sum()}, {by_order.max():.1g} | "
            f"{(by_units > TOLERANCE).sum()}, {by_units.max():.1g} |",
            flush=True,
        )
        worst = max(worst, by_order.max(), by_units.max())
    assert worst <= TOLERANCE, f"a score differs by {worst:.2g}"


if __name__ == "__main__":
    main()
