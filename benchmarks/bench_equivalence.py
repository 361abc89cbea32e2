"""Time of equivalence decisions and enumerations of classes; every result is checked.

    python benchmarks/bench_equivalence.py [--galois]

Decisions are compared with the same algorithm in NumPy (arrays of Python integers, modulo the same
prime) and, with ``--galois``, with the `galois` package (modulo 2^31 - 1, compiled by numba), in
the same run and on the same pairs. Times are CPU seconds, except those of the atlas, which uses all
processors.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import time

import numpy as np

import bowfree as bf
from bowfree import _core

PRIME = 2**61 - 1
SMALL_PRIME = 2**31 - 1


def random_bap(rng: np.random.Generator, d: int, n_edges: float) -> bf.MixedGraph:
    """Return a BAP with about `n_edges` edges, a third of them bidirected."""
    names = [f"v{i}" for i in range(d)]
    order = rng.permutation(d)
    directed, bidirected = [], []
    for i, j in itertools.combinations(range(d), 2):
        if rng.random() < 2 * n_edges / (d * (d - 1)):
            pair = (names[order[i]], names[order[j]])
            (bidirected if rng.random() < 1 / 3 else directed).append(pair)
    return bf.MixedGraph(names, directed, bidirected)


def pairs(rng: np.random.Generator, d: int, n_edges: float, count: int) -> list[tuple]:
    """Return pairs with one skeleton, half of them equivalent."""
    found = []
    while len(found) < count:
        g = random_bap(rng, d, n_edges)
        h = g
        if len(found) % 2 == 0:
            members = bf.equivalence_class(g, method="colliders")
            h = members[int(rng.integers(min(members.size, 2**62)))]
        else:
            a, mark, b = g.edges[rng.integers(g.n_edges)]
            h = g.replace(f"{a} {mark} {b}", f"{a} <-> {b}" if mark == "->" else f"{a} -> {b}")
        if h.is_bap():
            found.append((g, h))
    return found


# -- the same algorithm in NumPy --


class Integers:
    """Arrays of Python integers modulo 2^61 - 1."""

    prime = PRIME

    def zeros(self, *shape):
        return np.zeros(shape, dtype=object)

    def reduce(self, x):
        return x % self.prime

    def inverse(self, x):
        return pow(int(x), -1, self.prime)


class Galois:
    """Arrays of the `galois` package modulo 2^31 - 1, which knows how to reduce."""

    prime = SMALL_PRIME

    def __init__(self):
        import galois

        self.field = galois.GF(SMALL_PRIME, primitive_element=7, verify=False)

    def zeros(self, *shape):
        return self.field.Zeros(shape)

    def reduce(self, x):
        return x

    def inverse(self, x):
        return self.field(1) / x


def equivalent_numpy(g: bf.MixedGraph, h: bf.MixedGraph, rng: np.random.Generator, field) -> bool:
    """Decide equivalence of two BAPs of one skeleton, with two draws as the core does."""
    return all(_one_draw(g, h, rng, field) for _ in range(2))


def _one_draw(g, h, rng, field) -> bool:
    d = len(g)
    index = {v: i for i, v in enumerate(g.nodes)}
    Sigma, B = field.zeros(d, d), field.zeros(d, d)
    for i in range(d):
        Sigma[i, i] = int(rng.integers(1, field.prime))
    for a, b in g.bidirected:
        i, j = index[a], index[b]
        Sigma[i, j] = Sigma[j, i] = int(rng.integers(1, field.prime))
    order = [index[v] for v in g.topological_order()]
    for a, b in g.directed:
        B[index[b], index[a]] = int(rng.integers(1, field.prime))
    for v in order:
        P = [index[p] for p in g.parents(g.nodes[v])]
        if P:
            Sigma[v] = field.reduce(Sigma[v] + B[v, P] @ Sigma[P])
    for v in order:
        P = [index[p] for p in g.parents(g.nodes[v])]
        if P:
            Sigma[:, v] = field.reduce(Sigma[:, v] + Sigma[:, P] @ B[v, P])
    A, R = field.zeros(d, d), field.zeros(d, d)
    for name in h.topological_order():
        v = index[name]
        P = [index[p] for p in h.parents(name)]
        A[v, v] = 1
        if P:
            x = _solve(R[np.ix_(P, P)], R[P, v], field)
            A[v, P] = field.reduce(-x)
        R[v] = field.reduce(A[v] @ Sigma)
    Omega = field.reduce(R @ A.T)
    return not any(
        Omega[i, j] != 0
        for i, j in itertools.combinations(range(d), 2)
        if not h.adjacent(h.nodes[i], h.nodes[j])
    )


def _solve(M, y, field):
    if isinstance(field, Galois):
        return np.linalg.solve(M, y)
    k = len(M)
    rows = np.concatenate([M, y[:, None]], axis=1)
    for c in range(k):
        pivot = next(i for i in range(c, k) if rows[i, c])
        rows[[c, pivot]] = rows[[pivot, c]]
        rows[c] = rows[c] * field.inverse(rows[c, c]) % field.prime
        for i in range(k):
            if i != c:
                rows[i] = (rows[i] - rows[i, c] * rows[c]) % field.prime
    return rows[:, k]


# -- measurements --


def bench_decisions(with_galois: bool) -> None:
    peers = {"NumPy": Integers()}
    if with_galois:
        peers["galois"] = Galois()
        g = bf.parse("x -> y -> z <- x")
        equivalent_numpy(g, g, np.random.default_rng(0), peers["galois"])  # compiles
    print("\ndecisions: bf.equivalent, a call from Python; pairs of one skeleton, half equivalent")
    print("  d  edges   us/decision   decisions/s" + "".join(f"  {p:>7} ms   ratio" for p in peers))
    for d, n_edges in [(5, 6), (10, 15), (25, 40), (25, 150), (50, 80), (50, 600)]:
        rng = np.random.default_rng(d + n_edges)
        some = pairs(rng, d, n_edges, 20)
        answers = [bf.equivalent(g, h) for g, h in some]
        repeats = max(1, 20_000 // (d * d))
        start = time.process_time()
        for _ in range(repeats):
            for g, h in some:
                bf.equivalent(g, h)
        seconds = (time.process_time() - start) / (repeats * len(some))
        line = f"{d:3d} {n_edges:6d} {1e6 * seconds:13.1f} {1 / seconds:13,.0f}"
        for field in peers.values():
            few = some if d < 25 else some[:6]
            start = time.process_time()
            theirs = [equivalent_numpy(g, h, rng, field) for g, h in few]
            each = (time.process_time() - start) / len(few)
            assert theirs == answers[: len(few)]
            line += f"  {1e3 * each:10.2f} {each / seconds:7,.0f}"
        print(line)


def bench_classes() -> None:
    print("\nclasses of 50 random BAPs with 1.2 d edges each")
    print("  d  method         members listed   members/s   largest class   worst s")
    for d in (10, 15, 20):
        rng = np.random.default_rng(d)
        graphs = [random_bap(rng, d, 1.2 * d) for _ in range(50)]
        for method in ("exact", "edge-changes") if d < 20 else ("exact",):
            listed, largest, worst, total = 0, 0, 0.0, 0.0
            for g in graphs:
                start = time.process_time()
                members = bf.equivalence_class(g, method=method)
                seconds = time.process_time() - start
                assert members.complete
                assert g in members
                total += seconds
                worst = max(worst, seconds)
                listed += sum(members._sizes)  # a class is kept as the product of these
                largest = max(largest, members.size)
            rate = listed / total
            print(f"{d:3d}  {method:12}  {listed:15,} {rate:11,.0f} {largest:15,} {worst:9.3f}")
    rng = np.random.default_rng(1)
    graphs = [random_bap(rng, 20, 24) for _ in range(1000)]
    bits = [g._bits() for g in graphs]
    start = time.process_time()
    for b in bits:
        _core.collider_sizes(*b)
    core = (time.process_time() - start) / len(graphs)
    start = time.process_time()
    for g in graphs:
        assert bf.equivalence_class(g, method="colliders").size >= 1
    call = (time.process_time() - start) / len(graphs)
    print(
        f"counting the collider-invariant graphs at d = 20: {1e6 * core:.1f} us in the core, "
        f"{1e6 * call:.0f} us for equivalence_class(method='colliders')"
    )


def bench_memory() -> None:
    names = [f"v{i}" for i in range(8)]
    g = bf.MixedGraph(names, bidirected=itertools.combinations(names, 2))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    members = bf.equivalence_class(g)  # 783,702,329,343 members; a million are kept
    seconds = time.process_time() - start
    assert not members.complete
    assert members.size == 1_000_000
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"complete graph on 8 nodes: {members.size:,} of its members in {seconds:.1f} s, "
        f"{(after - before) / 1024:.0f} MB more at the peak, complete={members.complete}"
    )


def bench_atlas() -> None:
    print("\natlas")
    for d in (2, 3, 4, 5):
        start = time.perf_counter()
        atlas = bf.equivalence.atlas(d)
        print(f"  {atlas}: {time.perf_counter() - start:.3f} s")
        assert atlas.n_classes == {2: 2, 3: 11, 4: 368, 5: 87_219}[d]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--galois", action="store_true", help="also time the galois package")
    options = parser.parse_args()
    bench_memory()  # first, as only a new peak of memory can be seen
    bench_decisions(options.galois)
    bench_classes()
    bench_atlas()
