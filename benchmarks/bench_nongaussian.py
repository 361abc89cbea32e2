"""Graphs found with ``errors="nongaussian"``, beside covariances alone, BANG and RCD.

Reads the generator of random BAPs with non-Gaussian errors and BANG in ``../shared``; RCD is that of
the package ``lingam``, if it is installed. For each method the table has the share of sets in which
the graph is exact and in which its class is right, the structural Hamming distance, precision and
recall of directed and bidirected edges, the root mean squared error of total effects, and CPU seconds
in one thread.

Run ``python benchmarks/bench_nongaussian.py [SETS [OTHERS [SETTING ...]]]``, such as ``20 5 "gamma
latent sparse 1000 6"``: BANG and RCD, which are slower, are run on the first OTHERS of the sets.
Ctrl-C ends it with the table of the sets that are done.
``calibration`` in place of SETS compares stated probabilities of marks with frequencies, and
``estimates [SETS [LAW ...]]`` the intervals of ``fit(errors="nongaussian")`` with those by
covariances, ``averages [SETS [LAW ...]]`` those of averaged effects. Seeds start at 80,000 (the score
was developed on smaller ones).
"""

from __future__ import annotations

import sys
import time
import warnings
from contextlib import suppress
from itertools import product
from pathlib import Path

import numpy as np
from scipy.special import softmax

import bowfree as bf
from bowfree.graph.encodings import BACKWARD, BIDIRECTED, FORWARD, index_pairs
from bowfree.uncertainty import posterior

FIRST_SEED = 80_000
SETTINGS = (
    "gamma latent sparse 1000 6",
    "gamma copula medium 1000 6",
    "lognormal latent medium 1000 6",
    "gamma latent medium 1000 6",
    "unif copula medium 1000 6",
    "skewnormal latent sparse 1000 6",
    "unif latent sparse 1000 6",
    "gauss latent sparse 1000 6",
    "gamma copula medium 1000 10",
)
LAWS = ("gamma", "lognormal", "skewnormal", "unif", "laplace", "t8", "gauss")
LEVEL = 0.01  # of the tests of BANG and RCD


def graph_of(D, Bi) -> bf.MixedGraph:
    """Return the graph with j -> i where D[i, j] and i <-> j where Bi[i, j]."""
    names = [f"v{i}" for i in range(len(D))]
    arrows = [(names[j], names[i]) for i, j in np.argwhere(D)]
    spouses = [(names[i], names[j]) for i, j in np.argwhere(np.tril(Bi))]
    return bf.MixedGraph(names, directed=arrows, bidirected=spouses)


def by_search(errors: str):
    def learn(X, law):
        data = {f"v{i}": column for i, column in enumerate(X.T)}
        found = bf.greedy_search(data, errors=errors, penalty=1.0, rng=1, n_jobs=1)
        return found.graph, bf.fit(found.graph, data, errors=errors).B

    return learn


def by_bang(X, law):
    import bang

    D, Bi, B = bang.bang(X, bang.K_of(law), LEVEL)
    return graph_of(D, Bi), B


def by_rcd(X, law):
    from lingam import RCD

    model = RCD(cor_alpha=LEVEL, ind_alpha=LEVEL, shapiro_alpha=LEVEL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        A = model.fit(X).adjacency_matrix_
    hidden = np.isnan(A)
    B = np.where(hidden, 0.0, A)
    return graph_of(B != 0, hidden | hidden.T), B


METHODS = {
    "covariances": by_search("gaussian"),
    "non-Gaussian": by_search("nongaussian"),
    "BANG": by_bang,
    "RCD": by_rcd,
}


def shares(found: set, true: set) -> tuple[int, int, int]:
    return len(found & true), len(found), len(true)


def measure(setting: str, seed: int, names, generator) -> dict[str, tuple]:
    """Return the measures of one set by method, in the order of the table."""
    law, kind, regime, n, p = setting.split()
    drawn = generator.setting(int(n), int(p), regime, law, kind, seed)
    true = graph_of(drawn["D"], drawn["Bi"])
    rows = {}
    for name in names:
        begin = time.process_time()
        graph, B = METHODS[name](drawn["X"], law)
        seconds = time.process_time() - begin
        error = np.linalg.inv(np.eye(len(B)) - B) - drawn["total"]
        spouses, true_spouses = ({*map(frozenset, g.bidirected)} for g in (graph, true))
        rows[name] = (
            graph == true,
            graph.is_bap() and bf.equivalent(graph, true),
            bf.graph.shd(graph, true),
            np.mean(error[~np.eye(len(B), dtype=bool)] ** 2),
            seconds,
            *shares({*graph.directed}, {*true.directed}),
            *shares(spouses, true_spouses),
        )
    return rows


def table_lines(setting: str, rows: dict[str, list]) -> list[str]:
    law, kind, regime, n, p = setting.split()
    lines = []
    for name, found in rows.items():
        exact, same, shd, mse, seconds, *edges = np.mean(np.array(found, dtype=float), axis=0)
        parts = [
            f"{both / max(number, 1e-9):.2f}"
            for both, *numbers in (edges[:3], edges[3:])
            for number in numbers
        ]
        cells = [name, len(found), f"{exact:.2f}", f"{same:.2f}", f"{shd:.2f}"]
        cells += [*parts, f"{mse**0.5:.3f}", f"{seconds:.2f}"]
        label = f"{law} {kind} {regime}, n = {n}, p = {p}"
        lines.append(f"| {label} | {' | '.join(map(str, cells))} |")
    return lines


def mark_probabilities(data) -> dict[str, np.ndarray]:
    """Return the posterior probabilities of ->, <- and <-> for each pair, by kind of errors."""
    found, moments = {}, {}
    for errors in ("gaussian", "nongaussian"):
        every = bf.exhaustive_search(bf.moments(data, errors=errors), penalty=0.5)
        order = np.argsort(every.codes)
        found[errors], moments[errors] = every.scores[order], every.moments
    power = posterior.EVIDENCE_POWER
    found["nongaussian"] = (1 - power) * found["gaussian"] + power * found["nongaussian"]
    states, n_edges = every._states()[order], every.edge_counts()[order]
    probabilities = {}
    for errors, scores in found.items():
        rule = posterior.GraphPosterior()
        weights = softmax(rule.log_weights(scores, n_edges, moments[errors], every.space))
        marks = (FORWARD, BACKWARD, BIDIRECTED)
        probabilities[errors] = np.array([weights @ (states == mark) for mark in marks])
    return probabilities


def calibrate(n_sets: int, generator) -> None:
    """Print stated probabilities of the marks of four variables, and how often they are right."""
    stated: list[float] = []
    right: list[float] = []
    brier: dict[tuple, list] = {}
    cells = [
        cell
        for cell in product((500, 1000, 2500), LAWS, ("latent", "copula"))
        if cell[1:] != ("gauss", "copula")
    ]
    for number, (n, law, kind) in enumerate(cells * n_sets):
        drawn = generator.setting(n, 4, "sparse", law, kind, FIRST_SEED + number)
        D, Bi, pairs = drawn["D"], drawn["Bi"], index_pairs(4)
        true = np.array([(D[j, i], D[i, j], Bi[i, j]) for i, j in pairs]).T
        found = mark_probabilities({f"v{i}": x for i, x in enumerate(drawn["X"].T)})
        for errors, p in found.items():
            scores = brier.setdefault((errors, law, kind), [])
            scores += np.sum((p - true) ** 2, axis=0).tolist()
        stated += found["nongaussian"].ravel().tolist()
        right += true.ravel().tolist()
    p, hit = np.array(stated), np.array(right)
    bins = np.minimum((p * 10).astype(int), 9)
    print("| probability | entries | mean stated | share right |\n|---|---|---|---|")
    for b in np.unique(bins):
        own = bins == b
        print(
            f"| {b / 10:.1f}-{(b + 1) / 10:.1f} | {own.sum()} | {p[own].mean():.3f} "
            f"| {hit[own].mean():.3f} |"
        )
    for _, law, kind in [key for key in brier if key[0] == "gaussian"]:
        both = [np.mean(brier[errors, law, kind]) for errors in ("gaussian", "nongaussian")]
        print(f"| {law} {kind} | {both[0]:.3f} | {both[1]:.3f} |")


def compare_estimates(n_sets: int, laws, generator) -> None:
    """Print coverage, width and error of coefficients, given the true graph of four variables."""
    print("| errors | <-> | n | entries | coverage: normal theory | robust | non-Gaussian ", end="")
    print("| of Omega | width | RMSE |")
    print("|" + "---|" * 10)
    designs = {"none": (4, 0, "latent"), "latent": (3, 2, "latent"), "copula": (3, 2, "copula")}
    for law, (kind, design), n in product(laws, designs.items(), (500, 1000)):
        if (law, kind) == ("gauss", "copula"):
            continue
        rows: list[tuple] = []
        of_Omega: list[bool] = []
        for seed in range(FIRST_SEED, FIRST_SEED + n_sets):
            drawn = generator.draw(n, 4, *design[:2], law, design[2], seed)
            graph = graph_of(drawn["D"], drawn["Bi"])
            data = {f"v{i}": x for i, x in enumerate(drawn["X"].T)}
            fits = [bf.fit(graph, data, se=se) for se in ("standard", "robust")]
            fits.append(bf.fit(graph, data, errors="nongaussian"))
            edges = drawn["D"] != 0
            found = [(f.B - drawn["B"])[edges] for f in fits]
            found += [f.standard_errors().B[edges] for f in fits]
            rows += zip(*found, strict=True)
            if design[2] == "latent":  # the errors have variance one
                Omega, se = fits[2].Omega, fits[2].standard_errors().Omega
                inside = np.abs(np.diag(Omega) - 1) < 1.96 * np.diag(se)
                of_Omega += inside.tolist()
        both = np.array(rows).T
        error, se = both[:3], both[3:]
        coverage = np.mean(np.abs(error) < 1.96 * se, axis=1)
        width = np.median(se[2] / se[1])
        rmse = np.sqrt(np.mean(error[2] ** 2) / np.mean(error[1] ** 2))
        cells = [*coverage, np.mean(of_Omega) if of_Omega else np.nan, width, rmse]
        numbers = " | ".join(
            f"{cell:.2f}" if k > 3 else f"{cell:.3f}" for k, cell in enumerate(cells)
        )
        print(f"| {law} | {kind} | {n:,} | {len(rows)} | {numbers} |", flush=True)


def compare_averages(n_sets: int, laws, generator) -> None:
    """Print coverage and width of averaged effects after a search, five variables."""
    print("| errors | n | average | covered: all | with an effect | claims | true claims | width |")
    print("|" + "---|" * 8)
    for law, n in product(laws, (500, 1000)):
        found: dict[str, list[np.ndarray]] = {}
        for seed in range(FIRST_SEED, FIRST_SEED + n_sets):
            drawn = generator.draw(n, 5, 3, 2, law, "latent", seed)
            data = {f"v{i}": x for i, x in enumerate(drawn["X"].T)}
            results = {
                e: bf.greedy_search(data, errors=e, rng=1) for e in ("gaussian", "nongaussian")
            }
            kinds = {
                "covariances": (results["gaussian"], None),
                "non-Gaussian graphs, estimates by covariances": (
                    results["nongaussian"],
                    "standard",
                ),
                "non-Gaussian": (results["nongaussian"], None),
            }
            apart = ~np.eye(5, dtype=bool)
            true = drawn["total"][apart]
            for kind, (result, se) in kinds.items():
                average = bf.averaged_effects(result, se=se, rng=1)
                lower, upper = average.lower[apart], average.upper[apart]
                claim = (lower > 0) | (upper < 0)
                inside = (lower <= true) & (true <= upper)
                right = claim & (np.sign(average.mean[apart]) == np.sign(true))
                rows = np.array([inside, true != 0, claim, right, upper - lower])
                found.setdefault(kind, []).append(rows)
        for kind, sets in found.items():
            inside, effect, claim, right, width = np.hstack(sets)
            exists = effect > 0
            cells = (inside.mean(), inside[exists].mean())
            print(
                f"| {law} | {n:,} | {kind} | {cells[0]:.3f} | {cells[1]:.3f} | {int(claim.sum())} "
                f"| {int(right.sum())} | {np.median(width[exists]):.3f} |",
                flush=True,
            )


def main() -> None:
    shared = Path(__file__).resolve().parents[2] / "shared"
    sys.path[:0] = map(str, (shared / "bench/nongaussian", shared / "prototypes/nongaussian"))
    import generator

    if sys.argv[1:2] == ["calibration"]:
        calibrate(int(sys.argv[2]) if len(sys.argv) > 2 else 20, generator)
        return
    for word, compare in (("estimates", compare_estimates), ("averages", compare_averages)):
        if sys.argv[1:2] == [word]:
            n_sets = int(sys.argv[2]) if len(sys.argv) > 2 else 200
            compare(n_sets, sys.argv[3:] or LAWS, generator)
            return
    n_sets, n_others = (int(given) for given in [*sys.argv[1:3], "100", "100"][:2])
    settings = sys.argv[3:] or SETTINGS
    rows: dict[str, dict[str, list]] = {setting: {} for setting in settings}
    with suppress(KeyboardInterrupt):  # then the table has the sets that are done
        for k, setting in product(range(n_sets), settings):
            names = [name for name in METHODS if k < n_others or name not in ("BANG", "RCD")]
            for name, row in measure(setting, FIRST_SEED + k, names, generator).items():
                rows[setting].setdefault(name, []).append(row)
    print(
        "| setting | method | sets | exact | class | distance | precision -> | recall -> ", end=""
    )
    print("| precision <-> | recall <-> | RMSE of effects | CPU s |")
    print("|" + "---|" * 12)
    for setting in settings:
        print("\n".join(table_lines(setting, rows[setting])), flush=True)


if __name__ == "__main__":
    main()
