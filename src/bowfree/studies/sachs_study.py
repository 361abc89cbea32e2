"""Best BAPs and best DAGs on the protein data of Sachs et al. (section 4.2).

With hidden causes allowed, less can be known: a v-structure a -> c <- b of the best DAG is the same
in every equivalent DAG, but in the class of a BAP with the same edges a <-> c may stand in its
place. :meth:`SachsStudy.v_structure` shows this for the two examples that the paper names.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.datasets.sachs import (
    SACHS_CONDITIONS,
    SachsCondition,
    find_condition,
    load_sachs,
)
from bowfree.effects.bounds import effect_bounds
from bowfree.effects.bounds_result import EffectBounds
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.class_summary import ClassSummary
from bowfree.equivalence.classes import equivalence_class
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parallel.budget import Budget
from bowfree.search.greedy import greedy_search
from bowfree.search.plan import StrategyName
from bowfree.studies.files import write_csv, write_figure, write_json, write_text
from bowfree.studies.simulations import simulate
from bowfree.validation import BudgetOptions, split_options

if TYPE_CHECKING:
    from matplotlib.figure import Figure


CLASS_LIMIT = 100_000

NAMED_V_STRUCTURES = ((4, "pip2", "pip3", "plcg"), (8, "pka", "pakts473", "pkc"))
"""Condition, end, center, end: the examples in the text of section 4.2."""


@dataclass(frozen=True, eq=False)
class SachsRow:
    """One condition.

    Attributes
    ----------
    number, name, n
        The condition and its number of cells.
    bap, dag : MixedGraph
        The best of each kind.
    bap_score, dag_score : float
        Their scores.
    bap_class, dag_class : EquivalenceClass
        Graphs equivalent to them: BAPs to the BAP, BAPs to the DAG.
    effects : EffectBounds
        Total effects over the class of the BAP.
    seconds, cpu_seconds : float
        Elapsed time of both searches; processor time of these, the classes and the effects.
    """

    number: int
    name: str
    n: int
    bap: MixedGraph
    dag: MixedGraph
    bap_score: float
    dag_score: float
    bap_class: EquivalenceClass
    dag_class: EquivalenceClass
    effects: EffectBounds
    seconds: float
    cpu_seconds: float

    @cached_property
    def n_equivalent_dags(self) -> int:
        """DAGs that are equivalent to the best DAG."""
        return sum(graph.is_dag() for graph in self.dag_class)

    @property
    def n_settled_effects(self) -> int:
        """Ordered pairs with a non-zero effect in every member of the BAP's class."""
        off = ~np.eye(len(self.bap), dtype=bool)
        return int((self.effects.min_abs[off] > self.effects.zero).sum())

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text."""
        return {
            "condition": self.number,
            "name": self.name,
            "n": self.n,
            "bap_score": self.bap_score,
            "dag_score": self.dag_score,
            "bap_edges": self.bap.n_edges,
            "bap_bidirected": self.bap.n_bidirected,
            "dag_edges": self.dag.n_edges,
            "bap_class": self.bap_class.size,
            "dag_class": self.n_equivalent_dags,
            "settled_effects": self.n_settled_effects,
            "seconds": self.seconds,
            "bap": str(self.bap),
            "dag": str(self.dag),
        }


@dataclass(frozen=True)
class VStructure:
    """What the classes say of one v-structure a -> c <- b.

    Attributes
    ----------
    condition : int
        Which data.
    a, c, b : str
        End, center, end.
    in_bap, in_dag : bool
        Whether a and b are not adjacent, and both edges have a head at c, in the best graph.
    bap_edges, dag_edges : tuple of str
        The two edges over all members of the BAP's class, and over all DAGs that are equivalent to
        the DAG: ``o`` marks an end on which they disagree.
    """

    condition: int
    a: str
    c: str
    b: str
    in_bap: bool
    in_dag: bool
    bap_edges: tuple[str, ...]
    dag_edges: tuple[str, ...]

    @property
    def identified_in_dag(self) -> bool:
        """Whether all equivalent DAGs have the two arrows."""
        return self.in_dag and not any("o" in _mark(edge) for edge in self.dag_edges)

    @property
    def identified_in_bap(self) -> bool:
        """Whether all members of the BAP's class have the two edges as they are."""
        return self.in_bap and not any("o" in _mark(edge) for edge in self.bap_edges)


def _mark(edge: str) -> str:
    """Return the middle of ``a o-> b``; names may hold any letter."""
    return edge.split(" ")[1]


@dataclass(frozen=True, eq=False)
class SachsStudy:
    """All conditions.

    Attributes
    ----------
    rows : tuple of SachsRow
        In the order of the paper.
    seconds : float
        Elapsed time of the whole.
    complete : bool
        Whether all conditions that were asked for are there; False after a time limit.
    """

    rows: tuple[SachsRow, ...]
    seconds: float
    complete: bool

    @property
    def cpu_seconds(self) -> float:
        """Processor time of all conditions, wherever they were studied."""
        return sum(row.cpu_seconds for row in self.rows)

    def row(self, condition: int | str) -> SachsRow:
        """Return the row of a condition, by number or name."""
        number = find_condition(condition).number
        return next(row for row in self.rows if row.number == number)

    def v_structure(self, condition: int | str, a: str, c: str, b: str) -> VStructure:
        """Compare what BAPs and DAGs say of a -> c <- b.

        Parameters
        ----------
        condition : int or str
            Which data.
        a, c, b : str
            End, center, end.
        """
        row = self.row(condition)
        dags = [graph for graph in row.dag_class if graph.is_dag()]
        return VStructure(
            row.number,
            a,
            c,
            b,
            _is_v_structure(row.bap, a, c, b),
            _is_v_structure(row.dag, a, c, b),
            _edges_at(row.bap_class.summary(), a, c, b),
            tuple(_edge_over(dags, end, c) for end in (a, b)),
        )

    def named_v_structures(self) -> list[VStructure]:
        """Return the two examples of the paper, where their conditions were studied."""
        done = {row.number for row in self.rows}
        return [self.v_structure(*named) for named in NAMED_V_STRUCTURES if named[0] in done]

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers."""
        return {
            "complete": self.complete,
            "cpu_seconds": self.cpu_seconds,
            "seconds": self.seconds,
            "rows": [row.to_dict() for row in self.rows],
            "v_structures": [
                {
                    "condition": found.condition,
                    "v_structure": [found.a, found.c, found.b],
                    "in_bap": found.in_bap,
                    "in_dag": found.in_dag,
                    "bap_class": list(found.bap_edges),
                    "dag_class": list(found.dag_edges),
                }
                for found in self.named_v_structures()
            ],
        }

    def table(self) -> str:
        """Return one line per condition, and the paper's v-structures, in Markdown."""
        lines = [
            "| | condition | n | best BAP | best DAG | edges of the BAP (bidirected) | edges of "
            "the DAG | BAPs in its class | DAGs in its class | effects in all BAPs of the class |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]
        lines += [
            f"| {row.number} | `{row.name}` | {row.n} | {row.bap_score:.6f} | {row.dag_score:.6f} "
            f"| {row.bap.n_edges} ({row.bap.n_bidirected}) | {row.dag.n_edges} "
            f"| {row.bap_class.size} | {row.n_equivalent_dags} | {row.n_settled_effects} |"
            for row in self.rows
        ]
        named = self.named_v_structures()
        if named:
            lines += [
                "",
                "| condition | v-structure | over all equivalent DAGs | over all equivalent BAPs |",
                "|---|---|---|---|",
            ]
        lines += [
            f"| {v.condition} | at `{v.c}`, with `{v.a}` and `{v.b}` "
            f"| `{'`, `'.join(v.dag_edges)}` | `{'`, `'.join(v.bap_edges)}` |"
            for v in named
        ]
        return "\n".join(lines)

    def figure(self, conditions: Sequence[int | str] | None = None) -> Figure:
        """Draw the best BAP beside the best DAG of conditions, nodes on a circle.

        Parameters
        ----------
        conditions : sequence of int or str, optional
            By default all.
        """
        import matplotlib.pyplot as plt

        from bowfree import plot

        rows = list(self.rows) if conditions is None else [self.row(c) for c in conditions]
        figure, axes = plt.subplots(
            (len(rows) + 1) // 2,
            4,
            figsize=(13, 3.2 * ((len(rows) + 1) // 2)),
            squeeze=False,
            layout="constrained",
        )
        cells = axes.ravel()
        for ax in cells:
            ax.set_axis_off()
        for k, row in enumerate(rows):
            for kind, ax in (("BAP", cells[2 * k]), ("DAG", cells[2 * k + 1])):
                shown, score = (
                    (row.bap, row.bap_score) if kind == "BAP" else (row.dag, row.dag_score)
                )
                plot.graph(shown, layout="circle", ax=ax)
                ax.set_title(f"{row.number}  {kind}  {score:.3f}", fontsize=9)
        return figure

    def save(self, folder: Path) -> list[Path]:
        """Write sachs.csv, .json, .md and the two figures; return the paths."""
        paths = [
            write_csv(folder / "sachs.csv", (row.to_dict() for row in self.rows)),
            write_json(folder / "sachs.json", self.to_dict()),
            write_text(folder / "sachs.md", self.table()),
        ]
        # Eight conditions and the other six, as in the paper.
        for name, some in (("real", self.rows[:8]), ("real2", self.rows[8:])):
            if some:
                figure = self.figure([row.number for row in some])
                paths.append(write_figure(folder / f"sachs-{name}.png", figure))
        return paths


def sachs_study(
    conditions: Sequence[int | str] | None = None,
    *,
    folder: str | Path | None = None,
    strategy: StrategyName = "ils",
    restarts: int | None = None,
    rounds: int | None = None,
    penalty: float = 1.0,
    **options: Unpack[BudgetOptions],
) -> SachsStudy:
    """Find the best BAP and the best DAG for the conditions of the protein data.

    Parameters
    ----------
    conditions : sequence of int or str, optional
        Numbers or names; by default all 14.
    folder : path, optional
        Where the data are, see :func:`bowfree.datasets.load_sachs`.
    strategy, restarts, rounds, penalty
        Of :func:`bowfree.greedy_search`. ``strategy="restart", restarts=100`` is the paper's.
    **options
        ``rng``, ``n_jobs``, ``executor``, ``time_limit``, ``progress``
            What may be spent (:class:`~bowfree.validation.BudgetOptions`); `n_jobs` conditions at a
            time.

    Returns
    -------
    SachsStudy

    References
    ----------
    Section 4.2, figures "real" and "real2" of the paper.

    Examples
    --------
    >>> import bowfree as bf
    >>> study = bf.studies.sachs_study([4], folder=folder, rng=1)  # doctest: +SKIP
    >>> study.v_structure(4, "pip2", "pip3", "plcg").identified_in_bap  # doctest: +SKIP
    False
    """
    wanted = [
        find_condition(condition)
        for condition in (
            [known.number for known in SACHS_CONDITIONS] if conditions is None else conditions
        )
    ]
    (budget_options,) = split_options("sachs_study", options, BudgetOptions)
    budget = Budget(**budget_options)
    search = {"strategy": strategy, "restarts": restarts, "rounds": rounds, "penalty": penalty}
    streams = budget.generator().spawn(len(wanted))
    # All files are read before the first search: a missing one is reported at once.
    tables = [load_sachs(known.number, folder=folder) for known in wanted]
    moments = [DataOptions().read(table).without_rows() for table in tables]

    def study(rows: list[SachsRow]) -> SachsStudy:
        return SachsStudy(tuple(rows), budget.seconds, len(rows) == len(wanted))

    found: SachsStudy = simulate(
        partial(_searched, search=search),
        list(zip(wanted, moments, streams, strict=True)),
        budget,
        what="conditions",
        gather=study,
    )
    return found


def _searched(
    piece: tuple[SachsCondition, Moments, np.random.Generator],
    budget: Budget,
    *,
    search: dict[str, Any],
) -> SachsRow:
    condition, moments, stream = piece
    began, cpu_began = time.perf_counter(), time.thread_time()
    bap, dag = (
        greedy_search(
            moments,
            graph_class=graph_class,
            rng=stream,
            time_limit=budget.seconds_left,
            **search,
        )
        for graph_class in ("bap", "dag")
    )
    seconds = time.perf_counter() - began
    bap_class = equivalence_class(bap.graph, limit=CLASS_LIMIT)
    return SachsRow(
        number=condition.number,
        name=condition.name,
        n=round(moments.n),
        bap=bap.graph,
        dag=dag.graph,
        bap_score=bap.score,
        dag_score=dag.score,
        bap_class=bap_class,
        dag_class=equivalence_class(dag.graph, limit=CLASS_LIMIT),
        effects=effect_bounds(bap_class, moments),
        seconds=seconds,
        cpu_seconds=time.thread_time() - cpu_began,
    )


def _is_v_structure(graph: MixedGraph, a: str, c: str, b: str) -> bool:
    """Whether the ends are not adjacent and both edges have a head at the center."""
    into = set(graph.parents(c)) | set(graph.spouses(c))
    around = set(graph.parents(a)) | set(graph.spouses(a)) | set(graph.children(a))
    return a in into and b in into and b not in around


def _edges_at(summary: ClassSummary, a: str, c: str, b: str) -> tuple[str, ...]:
    return tuple(str(edge) for edge in summary.edges if {edge.a, edge.b} in ({a, c}, {b, c}))


def _edge_over(graphs: Sequence[MixedGraph], a: str, c: str) -> str:
    """Return the edge from a to c over DAGs: an arrow, or circles where they disagree."""
    forward = sum((a, c) in graph.directed for graph in graphs)
    backward = sum((c, a) in graph.directed for graph in graphs)
    if forward and backward:
        return f"{a} o-o {c}"
    return f"{a} -> {c}" if forward else f"{a} <- {c}" if backward else f"{a}   {c}"
