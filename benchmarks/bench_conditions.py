"""Searches over several conditions: time, comparison with GIES on the same rows, and recovery.

    python benchmarks/bench_conditions.py time [--sets 10]
    python benchmarks/bench_conditions.py gies [--sets 20]      # pip install gies
    python benchmarks/bench_conditions.py recovery [--sets 50] [--without GIES GnIES]
    python benchmarks/bench_conditions.py sachs --folder data/sachs

``time``: ten variables, one condition without and five with a single target, 300 rows each; the
same rows with and without their targets. A search with targets may take five times as long.
``gies``: DAGs on eight variables. Differences of scores must be the same in both programs, and our
search must end at least as high. ``recovery``: random BAPs on ten variables; whether the class is
the true one; edges and arrowheads found from all conditions (with known and with learned targets),
from as many rows without interventions, and by GIES (known targets) and GnIES (learned targets;
``pip install gnies``), which assume no hidden causes; the area under the ROC curve of non-zero
total effects; and the calibration of averaged probabilities and of learned targets. GnIES reports
which variables were a target in some condition, so our targets are also counted in this way;
``--approach rank`` is quicker than its default, greedy one. ``--minutes`` ends the run early.
``sachs``: GES, GIES and FCI (``pip install gies causal-learn``) on the protein data, for comparison
with ``run_study.py sachs-joint``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np
import numpy.typing as npt

import bowfree as bf

ROWS = 300
Floats = npt.NDArray[np.float64]


def sample(sem: bf.LinearSEM, target: int | None, rng: np.random.Generator) -> Floats:
    """Return rows of a model; the target is set at random, with the variance that it has."""
    B, Omega = sem.B.copy(), sem.Omega.copy()
    if target is not None:
        B[target] = 0.0
        Omega[target] = Omega[:, target] = 0.0
        Omega[target, target] = sem.covariance()[target, target]
    errors = rng.multivariate_normal(np.zeros(len(B)), Omega, size=ROWS)
    X: Floats = np.linalg.solve(np.eye(len(B)) - B, errors.T).T
    return X


def experiments(truth: bf.MixedGraph, seed: int, n_targets: int = 5) -> list[bf.Condition]:
    """Return one condition without targets and some with one, which differ."""
    rng = np.random.default_rng([15, seed])
    sem = bf.random_sem(truth, rng=rng)
    targets: list[Any] = [None, *rng.permutation(len(truth))[:n_targets]]
    return [
        bf.Condition(
            dict(zip(truth.nodes, sample(sem, t, rng).T, strict=True)),
            targets=() if t is None else (truth.nodes[t],),
        )
        for t in targets
    ]


def seconds(data: Any, **options: Any) -> tuple[float, bf.SearchResult]:
    """Return the CPU seconds of a search, and its result."""
    start = time.process_time()
    result = bf.greedy_search(data, **options)
    return time.process_time() - start, result


def run_time(sets: int) -> None:
    """Compare the time of searches with targets and without."""
    with_targets = without = 0.0
    for k in range(sets):
        data = experiments(bf.random_bap(10, max_in_degree=2, rng=[1, k]), k)
        with_targets += seconds(data, rng=k)[0]
        without += seconds([bf.Condition(c.data) for c in data], rng=k)[0]
    print(
        f"{sets} searches, CPU s each: {with_targets / sets:.2f} with targets, "
        f"{without / sets:.2f} without, ratio {with_targets / without:.2f}"
    )
    assert with_targets < 5 * without


def matrix(data: Sequence[bf.Condition]) -> tuple[list[Floats], list[list[int]]]:
    """Return rows and targets as GIES takes them."""
    rows = [np.column_stack(list(c.data.values())) for c in data]
    targets = [[list(c.data).index(name) for name in c.targets] for c in data]
    return rows, targets


def adjacency(graph: bf.MixedGraph) -> npt.NDArray[np.int_]:
    """Return A[i, j] = 1 for i -> j."""
    A = np.zeros((len(graph), len(graph)), dtype=int)
    for a, b in graph.directed:
        A[graph.nodes.index(a), graph.nodes.index(b)] = 1
    return A


def run_gies(sets: int) -> None:
    """Compare scores and ends of searches over DAGs."""
    import gies
    from gies.scores import GaussIntL0Pen

    equal = better = 0
    ours = theirs = largest = 0.0
    for k in range(sets):
        truth = bf.random_bap(8, graph_class="dag", max_in_degree=3, rng=[2, k])
        data = experiments(truth, k, n_targets=3)
        rows, targets = matrix(data)
        score = GaussIntL0Pen(rows, targets)
        n = sum(map(len, rows))
        graphs = [bf.random_bap(8, graph_class="dag", rng=[3, k, j]) for j in range(10)]
        named = [g.relabel(dict(zip(g.nodes, truth.nodes, strict=True))) for g in graphs]
        mine = np.array([n * bf.score(g, data, penalty=0.5) for g in named])
        other = np.array([score.full_score(adjacency(g)) for g in named])
        largest = max(largest, float(np.ptp(mine - other)))
        start = time.process_time()
        _, best = gies.fit_bic(rows, targets)
        theirs += time.process_time() - start
        spent, result = seconds(data, rng=k, penalty=0.5, graph_class="dag")
        ours += spent
        end = score.full_score(adjacency(result.graph))
        equal += abs(end - best) < 1e-6
        better += end > best + 1e-6
        assert end > best - 1e-6, f"set {k}: GIES ends {best - end:.3g} higher"
    print(f"{sets} sets, 10 graphs each: scores differ by the same number, up to {largest:.1e}")
    print(f"ends: {equal} equal, {better} higher than that of GIES, none lower")
    print(f"CPU s each: {ours / sets:.3f}, GIES {theirs / sets:.3f}")


class Recovered:
    """What was found in each set, and means with standard errors."""

    def __init__(self) -> None:
        self.sets: list[dict[str, float]] = []

    def add(
        self,
        truth: bf.MixedGraph,
        skeleton: set[Any],
        heads: set[Any],
        effects: Floats,
        right: float,
    ) -> None:
        """Take one answer; `right` says whether its class is the true one."""
        found = {
            "class": right,
            "skeleton": f_measure(skeleton, pairs_of(truth)),
            "arrowheads": f_measure(heads, heads_of(truth)),
        }
        reach, off = reached(truth), ~np.eye(len(truth), dtype=bool)
        yes, no = effects[off & reach], effects[off & ~reach]
        wins = (yes[:, None] > no).mean() + (yes[:, None] == no).mean() / 2
        self.sets.append({**found, "effects": float(wins)})

    def __str__(self) -> str:
        return " | ".join(spread([one[key] for one in self.sets]) for key in self.sets[0])


def spread(values: Sequence[float]) -> str:
    """Return a mean and its standard error."""
    known = [value for value in values if value == value]
    if not known:
        return ""
    return f"{np.mean(known):.3f} ± {np.std(known, ddof=1) / np.sqrt(len(known)):.3f}"


def f_measure(found: set[Any], right: set[Any]) -> float:
    """Return the harmonic mean of precision and recall; 1 where there is nothing to find."""
    return 2 * len(found & right) / (len(found) + len(right)) if found or right else 1.0


def reached(graph: bf.MixedGraph) -> npt.NDArray[np.bool_]:
    """Return [i, j]: whether j is an ancestor of i."""
    reach = np.zeros((len(graph), len(graph)), dtype=bool)
    for i, name in enumerate(graph.nodes):
        for other in graph.ancestors([name]):
            reach[i, graph.nodes.index(other)] = True
    return reach


def pairs_of(graph: bf.MixedGraph) -> set[Any]:
    """Return the adjacent pairs."""
    return {frozenset((a, b)) for a, _, b in graph.edges}


def heads_of(graph: bf.MixedGraph) -> set[Any]:
    """Return (other end, node) for every arrowhead at a node."""
    return {(a, b) for a, _, b in graph.edges} | {(b, a) for a, b in graph.bidirected}


def effects_of(graph: bf.MixedGraph, data: Any) -> Floats:
    """Return sizes of the standardized total effects of a fit."""
    sem = bf.fit(graph, data).standardized()
    return np.abs(sem.total_effects().estimate)


BINS = (0.0, 0.1, 0.3, 0.7, 0.9, 1.0)


class FoundTargets:
    """How many of the targets named in each set are right, and how many of the true ones named."""

    def __init__(self) -> None:
        self.precision: list[float] = []
        self.recall: list[float] = []

    def add(self, said: set[Any], true: set[Any]) -> None:
        """Take the targets of one set."""
        self.precision.append(len(said & true) / len(said) if said else float("nan"))
        self.recall.append(len(said & true) / len(true))

    def __str__(self) -> str:
        return f"precision {spread(self.precision)}, recall {spread(self.recall)}"


def noise_conditions(data: Sequence[bf.Condition], names: Sequence[str]) -> list[bf.Condition]:
    """Return the conditions as GnIES sees them: the errors of some vary otherwise in each."""
    first, *others = data
    return [
        bf.Condition(first.data),
        *(bf.Condition(c.data, targets=tuple(names), kind="noise") for c in others),
    ]


PEERS = ("GIES", "GnIES")


def run_recovery(sets: int, minutes: float, without: Sequence[str], approach: str) -> None:
    """Count what is found in interventional rows, in as many watched ones, and by others."""
    peers = [name for name in PEERS if name not in without]
    found = {name: Recovered() for name in ("conditions", "targets learned", "watched", *peers)}
    placed, ours, theirs = FoundTargets(), FoundTargets(), FoundTargets()
    stated: list[Stated] = []
    named: list[Stated] = []
    start, ends = time.process_time(), time.monotonic() + 60 * minutes
    for k in range(sets):
        if time.monotonic() > ends:
            break
        truth = bf.random_bap(10, max_in_degree=2, rng=[4, k])
        data = experiments(truth, k)
        targets = [c.targets for c in data]
        acted = {name for names in targets for name in names}
        rng = np.random.default_rng([15, k])
        sem = bf.random_sem(truth, rng=rng)
        watched = np.concatenate([sample(sem, None, rng) for _ in data])
        asked = [bf.Condition(c.data, targets="learn" if c.targets else ()) for c in data]
        for name, rows, known in (
            ("conditions", data, targets),
            ("targets learned", asked, targets),
            ("watched", dict(zip(truth.nodes, watched.T, strict=True)), None),
        ):
            result = bf.greedy_search(rows, rng=k)
            graph, moments = result.graph, result.moments
            right = bf.equivalent(graph, truth, targets=known)
            found[name].add(
                truth, pairs_of(graph), heads_of(graph), effects_of(graph, moments), right
            )
            if name == "conditions":
                average = bf.averaged_effects(result, steps=20_000, rng=k)
                off = ~np.eye(len(truth), dtype=bool)
                stated.append((average.probability[off], reached(truth)[off]))
            if name == "targets learned":
                said = {(t.condition, t.variable) for t in result.targets if t.chosen}
                true = {(str(e + 1), t) for e, names in enumerate(targets) for t in names}
                placed.add(said, true)
                named.append(
                    (
                        np.array([t.probability for t in result.targets]),
                        np.array([(t.condition, t.variable) in true for t in result.targets]),
                    )
                )
                ours.add({t for _, t in said}, acted)
        for name in peers:
            essential, understood = answer_of(name, data, approach)
            graph = first_dag(essential, truth.nodes)
            settled = {
                (a, b)
                for i, a in enumerate(truth.nodes)
                for j, b in enumerate(truth.nodes)
                if essential[i, j] and not essential[j, i]
            }
            right = bf.equivalent(graph, truth, targets=targets)
            found[name].add(truth, pairs_of(graph), settled, effects_of(graph, understood), right)
            if name == "GnIES":
                theirs.add({t for c in understood for t in c.targets}, acted)
    done = len(stated)
    print(f"{done} sets, {time.process_time() - start:.0f} CPU s; means ± standard errors\n")
    print("| | class right | F of the skeleton | F of arrowheads | AUC of effects |")
    print("|---|---|---|---|---|")
    for name, answer in found.items():
        print(f"| {name} | {answer} |")
    print(f"\nlearned targets: {placed}")
    print(f"wherever they act: {ours}")
    if "GnIES" in peers:
        print(f"GnIES: {theirs}")
    print("\naveraged probabilities of effects, targets known")
    print_bins(stated)
    print("\nprobabilities of learned targets")
    print_bins(named)


Stated = tuple[Floats, npt.NDArray[np.bool_]]  # of one set: probabilities, and what came true


def print_bins(sets: Sequence[Stated]) -> None:
    """Print how often what was stated came true, with standard errors.

    Pairs of one set stand or fall together, so that the sets are what is counted: the errors are
    those of a ratio of two sums over sets.
    """
    everything, true = (np.concatenate(column) for column in zip(*sets, strict=True))
    print(f"{len(everything)} of them, Brier score {np.mean((everything - true) ** 2):.4f}\n")
    print("| stated | number | mean | came true | difference |")
    print("|---|---|---|---|---|")
    for low, high in pairwise(BINS):
        sums = []
        for p, y in sets:
            here = (p >= low) & ((p < high) | (high == 1.0))
            sums.append([here.sum(), p[here].sum(), y[here].sum()])
        number, stated, came = np.array(sums, dtype=float).T
        if not number.sum():
            continue
        off = (came - stated).sum() / number.sum()
        spread_of = np.sqrt(np.sum((came - stated - off * number) ** 2) * len(sets))
        error = spread_of / np.sqrt(len(sets) - 1) / number.sum()
        print(
            f"| {low:g} to {high:g} | {number.sum():.0f} | {stated.sum() / number.sum():.3f} "
            f"| {came.sum() / number.sum():.3f} | {off:+.3f} ± {error:.3f} |"
        )


def answer_of(
    name: str, data: Sequence[bf.Condition], approach: str
) -> tuple[npt.NDArray[np.int_], list[bf.Condition]]:
    """Return the essential graph that a program finds, and the conditions as it sees them."""
    rows, targets = matrix(data)
    if name == "GIES":
        import gies

        return gies.fit_bic(rows, targets)[0], list(data)
    import gnies

    _, essential, acted = gnies.fit(rows, approach=approach)
    names = list(data[0].data)
    return essential, noise_conditions(data, [names[i] for i in sorted(acted)])


def run_sachs(folder: str) -> None:
    """Print what GES, GIES and FCI find in the protein data, for docs/evidence/protein-data.md."""
    import gies
    from causallearn.search.ConstraintBased.FCI import fci

    from bowfree.datasets.sachs import SACHS_CONDITIONS
    from sachs_network import CONSENSUS, SACHS_TARGETS, Agreement

    tables = {c.name: bf.datasets.load_sachs(c.number, folder=folder) for c in SACHS_CONDITIONS}
    names = next(iter(tables.values())).names
    centered = [table.X - table.X.mean(axis=0) for table in tables.values()]
    acted = [[names.index(t) for t in SACHS_TARGETS.get(name, ())] for name in tables]
    whole = np.concatenate([table.X for table in tables.values()])
    for says, rows, targets in (
        ("GES, all rows in one table", [whole - whole.mean(axis=0)], [[]]),
        ("GES, conditions centered", centered, [[] for _ in centered]),
        ("GIES, conditions centered", centered, acted),
    ):
        essential, _ = gies.fit_bic(rows, targets)
        found = Agreement.of(first_dag(essential, names))
        settled = {
            (names[i], names[j])
            for i, j in zip(*np.nonzero(essential), strict=True)
            if not essential[j, i]
        }
        right = settled & set(CONSENSUS)
        turned = {(b, a) for a, b in settled} & set(CONSENSUS)
        print(
            f"| {says} | {found.n_edges} (0) | {found.n_adjacent} | {found.precision:.2f} "
            f"| {found.recall:.2f} | {found.n_directed} | {found.n_reversed} "
            f"| {len(right) + len(turned)} ({len(right)}) | | |"
        )
    # Fisher's z, alpha .01. Ends of a PAG: 1 is a head, -1 a tail, 2 a circle; [j, i] is that at j.
    for says, rows in (
        ("all rows in one table", whole),
        ("conditions centered", np.vstack(centered)),
    ):
        ends = fci(rows, "fisherz", 0.01, verbose=False, show_progress=False)[0].graph
        edges = [(i, j) for i, j in combinations(range(len(names)), 2) if ends[i, j]]
        hidden = sum(ends[i, j] == ends[j, i] == 1 for i, j in edges)
        published = {frozenset(pair) for pair in CONSENSUS}
        known = sum({names[i], names[j]} in published for i, j in edges)
        arrows = {
            (names[i], names[j])
            for i, j in permutations(range(len(names)), 2)
            if ends[j, i] == 1 and ends[i, j] == -1
        }
        right, turned = arrows & set(CONSENSUS), {(b, a) for a, b in arrows} & set(CONSENSUS)
        print(
            f"| FCI, {says} | {len(edges)} ({hidden}) | {known} | {known / len(edges):.2f} "
            f"| {known / len(published):.2f} | {len(right)} | {len(turned)} "
            f"| {len(right) + len(turned)} ({len(right)}) | | |"
        )


def first_dag(essential: npt.NDArray[np.int_], names: Sequence[str]) -> bf.MixedGraph:
    """Return a DAG of an essential graph: a consistent extension by repeated sinks."""
    A = essential.copy()
    left, directed = set(range(len(A))), []
    while left:
        for v in sorted(left):
            out = [w for w in left if A[v, w] and not A[w, v]]
            near = [w for w in left if A[v, w] and A[w, v]]
            around = [w for w in left if w != v and (A[v, w] or A[w, v])]
            if not out and all(A[w, u] or A[u, w] for w in near for u in around if u != w):
                directed += [(names[w], names[v]) for w in around]
                left.remove(v)
                break
        else:
            raise AssertionError("no consistent extension")
    return bf.MixedGraph(names, directed=directed)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["time", "gies", "recovery", "sachs"])
    parser.add_argument("--folder", default="data/sachs")
    parser.add_argument("--sets", type=int)
    parser.add_argument("--without", nargs="+", choices=PEERS, default=[])
    parser.add_argument("--approach", choices=["greedy", "rank"], default="greedy")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    given = parser.parse_args()
    if given.part == "time":
        run_time(given.sets or 10)
    elif given.part == "gies":
        run_gies(given.sets or 20)
    elif given.part == "sachs":
        run_sachs(given.folder)
    else:
        run_recovery(given.sets or 50, given.minutes, given.without, given.approach)


if __name__ == "__main__":
    main()
