"""Size and power of the independence tests of errors, and the time for large classes.

Random BAPs with six variables, half as many directed and as many bidirected edges as variables
("sparse") or twice that ("medium"); coefficients U(.6, 1), error correlations from U(.3, .5), random
signs. A bidirected edge is a hidden variable, and all errors and hidden variables have one
distribution. *Size* is the share of samples in which :func:`bowfree.independence_tests` rejects the
true graph, or the true arrow between two variables. *Power* is the share of samples of two variables
with correlation .57 in which the reversed arrow is rejected, or an arrow where a hidden cause is
true. Elliptical data are a Gaussian model times a common scale.

Run ``python benchmarks/bench_independence.py size|power|classes [LAW ...]``; seeds start at 10,000
(the tests were developed on smaller ones).
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from scipy import stats

import bowfree as bf

LAWS = {
    "exponential": stats.expon(-1),
    "lognormal": stats.lognorm(1),
    "uniform": stats.uniform(-0.5),
    "laplace": stats.laplace(),
    "t5": stats.t(5),
    "t8": stats.t(8),
    "skew-normal": stats.skewnorm(4),
    "normal": stats.norm(),
    "elliptical t5": stats.norm(),
}
SIZES = (200, 500, 1000, 2500, 10_000)
FIRST_SEED = 10_000


def draw(law, shape, rng):
    """Return independent values of mean zero and variance one."""
    values = LAWS[law].rvs(size=shape, random_state=rng)
    return (values - LAWS[law].mean()) / LAWS[law].std()


def common_scale(law, n, rng):
    return np.sqrt(5 / rng.chisquare(5, n)) if law == "elliptical t5" else np.ones(n)


def random_model(law, n, directed, bidirected, seed, d=6):
    """Return a random BAP and n rows of a model of it."""
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(d) for j in range(i)]
    order = rng.permutation(len(pairs))
    B = np.zeros((d, d))
    for k in order[:directed]:
        B[pairs[k]] = rng.uniform(0.6, 1) * rng.choice([-1, 1])
    errors, variance = draw(law, (n, d), rng), np.ones(d)
    spouses = [pairs[k] for k in order[directed : directed + bidirected]]
    for i, j in spouses:
        hidden, ratio = draw(law, n, rng), rng.uniform(0.8, 1.25)
        product = rng.uniform(0.3, 0.5) * rng.choice([-1, 1])
        for v, weight in (
            (i, np.sqrt(abs(product)) * ratio),
            (j, product / np.sqrt(abs(product)) / ratio),
        ):
            errors[:, v] += weight * hidden
            variance[v] += weight**2
    X = (errors / np.sqrt(variance)) @ np.linalg.inv(np.eye(d) - B).T
    names = [f"x{k}" for k in range(d)]
    edges = [(names[j], names[i]) for i, j in zip(*np.nonzero(B), strict=True)]
    graph = bf.MixedGraph(
        names, directed=edges, bidirected=[(names[i], names[j]) for i, j in spouses]
    )
    return graph, X * common_scale(law, n, rng)[:, None]


def two_variables(law, n, seed, r=0.57):
    """Return rows of x -> y, and rows of a hidden cause of x and y with the same correlation."""
    rng = np.random.default_rng(seed)
    a, e, h = draw(law, (3, n), rng)
    scale = common_scale(law, n, rng)
    arrow = {"x": a * scale, "y": (r * a + np.sqrt(1 - r * r) * e) * scale}
    hidden = [(np.sqrt(r) * h + np.sqrt(1 - r) * x) * scale for x in (a, e)]
    return arrow, dict(zip("xy", hidden, strict=True))


def shares(p_values):
    p = np.array(p_values)
    return f"{np.mean(p < 0.05):.3f} / {np.mean(p < 0.01):.3f}"


def size(laws, repetitions=500):
    """Print the size at levels .05 and .01."""
    print("| errors | n | x -> y | sparse | medium |\n|---|---|---|---|---|")
    for law in laws:
        for n in SIZES:
            found = [[], [], []]
            for seed in range(FIRST_SEED, FIRST_SEED + repetitions):
                arrow, _ = two_variables(law, n, seed)
                samples = [(bf.parse("x -> y"), arrow)]
                samples += [random_model(law, n, k, k, seed) for k in (3, 6)]
                for p_values, (graph, data) in zip(found, samples, strict=True):
                    p_values.append(bf.independence_tests(graph, data).p_value)
            print(f"| {law} | {n:,} |", " | ".join(map(shares, found)), "|", flush=True)


def power(laws, repetitions=400):
    """Print the power at level .01."""
    print("| errors | n | wrong direction | arrow in place of hidden cause |\n|---|---|---|---|")
    for law in laws:
        for n in (200, 500, 1000, 5000):
            wrong = hidden = 0
            for seed in range(FIRST_SEED, FIRST_SEED + repetitions):
                arrow, cause = two_variables(law, n, seed)
                wrong += bf.independence_tests(bf.parse("x <- y"), arrow).p_value < 0.01
                hidden += bf.independence_tests(bf.parse("x -> y"), cause).p_value < 0.01
            print(
                f"| {law} | {n:,} | {wrong / repetitions:.2f} | {hidden / repetitions:.2f} |",
                flush=True,
            )


def classes(laws, repetitions=60):
    """Print what remains of the classes of six variables, and the time of large classes."""
    print(
        "| errors | n | members | remaining | ends resolved before | after | true graph excluded |\n|---|---|---|---|---|---|---|"
    )
    for law in laws:
        for n in (500, 2500):
            before, after, ends, lost = [], [], [], 0
            for seed in range(FIRST_SEED, FIRST_SEED + repetitions):
                graph, X = random_model(law, n, 3, 3, seed)
                found = bf.exclude_members(graph, X)
                before.append(found.before.size)
                after.append(found.members.size)
                lost += graph not in found.members
                ends.append(
                    [
                        sum(
                            (e.end_at_a != "circle") + (e.end_at_b != "circle")
                            for e in c.summary().edges
                        )
                        / 12
                        for c in (found.before, found.members)
                    ]
                )
            share = np.mean(ends, axis=0)
            print(
                f"| {law} | {n:,} | {np.mean(before):.1f} | {np.mean(after):.1f} | {share[0]:.2f} | "
                f"{share[1]:.2f} | {lost / repetitions:.3f} |",
                flush=True,
            )
    for seed in range(60):
        graph = bf.random_bap(10, rng=seed)
        members = bf.equivalence_class(graph, limit=10_000)
        if members.size < 2000 or not members.complete:
            continue
        E = np.random.default_rng(seed).exponential(size=(1000, 10)) - 1
        X = E @ np.linalg.inv(np.eye(10) - bf.random_sem(graph, rng=seed).B).T
        start = time.process_time()
        left = bf.exclude_members(members, X).members.size
        seconds = time.process_time() - start
        print(f"d = 10, n = 1000, {members.size:,} members: {seconds:.1f} s, {left:,} remain")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"size": size, "power": power, "classes": classes}[sys.argv[1]](sys.argv[2:] or LAWS)
