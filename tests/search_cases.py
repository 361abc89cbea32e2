"""Data simulated as in section 4.1, the neighborhood of section 3, and comparisons of results."""

from itertools import combinations

import numpy as np

import bowfree as bf
from bowfree.graph.encodings import MARKS
from bowfree.graph.text import quote


def simulate_data(seed, d, n=1000, **limits):
    """Return (data, true graph): uniform BAP, section 4.1 parameters."""
    rng = np.random.default_rng(seed)
    graph = bf.random_bap(d, rng=rng, **limits)
    return np.asarray(bf.random_sem(graph, rng=rng).sample(n, rng=rng)), graph


def simulate(seed, d, n=1000, **limits):
    """Return (covariance with divisor n - 1, true graph) of such data."""
    X, graph = simulate_data(seed, d, n, **limits)
    return np.cov(X.T), graph


def neighbors(graph):
    """Return every BAP that differs in one pair, by the pair and its new mark."""
    found = {}
    for a, b in combinations(graph.nodes, 2):
        own = graph.subgraph([a, b])
        without = graph.remove(directed=own.directed, bidirected=own.bidirected)
        for mark in MARKS.values():
            other = without.add(f"{quote(a)} {mark} {quote(b)}") if mark else without
            if other != graph and other.is_bap():
                found[a, mark, b] = other
    return found


def essence(result):
    """All of a search result but times and counts."""
    words = ("strategy", "start", "end", "score", "path", "hit_work_limit", "work")
    runs = [tuple(getattr(run, word) for word in words) for run in result.runs]
    return (result.graph, result.score, result.best_graphs, result.pool, runs)


def read_bench(folder, k):
    """Return (data, true graph) of a set of the external benchmark, None when it is not there."""
    if not folder.exists():
        return None
    text = (folder / f"graph-{k}.txt").read_text().splitlines()
    names = [f"x{i + 1}" for i in range(int(text[1].split()[0]))]
    split = text.index("bidirected")

    def edges(lines):
        pairs = (line.split() for line in lines if line.strip())
        return [(names[int(a)], names[int(b)]) for a, b in pairs]

    graph = bf.MixedGraph(names, edges(text[3:split]), edges(text[split + 1 :]))
    return np.loadtxt(folder / f"sample-{k}.txt"), graph


def same_search(one, other):
    """Tell whether two searches did the same, bit for bit, pool included."""
    return essence(one) == essence(other)


def same_samples(one, other):
    """Tell whether the chains of two calls did the same, bit for bit, pool included."""
    return (
        np.array_equal(one.states, other.states)
        and np.array_equal(one.scores, other.scores)
        and np.array_equal(one.acceptance, other.acceptance)
        and one.pool == other.pool
        and one.complete == other.complete
    )
