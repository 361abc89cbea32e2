"""The best BAPs and DAGs for the protein data of Sachs et al. (section 4.2).

If hidden causes are possible, less can be learned: a v-structure a -> c <- b of the best DAG is the
same in every equivalent DAG, but the class of a BAP with the same edges may also contain a <-> c.
:meth:`SachsStudy.v_structure` shows this for the two examples of the paper.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.datasets.sachs import SACHS_CONDITIONS, SachsCondition, find_condition, load_sachs
from bowfree.effects.bounds import effect_bounds
from bowfree.effects.bounds_result import EffectBounds
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.classes import equivalence_class
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import Rng, public
from bowfree.results.rows import Row
from bowfree.search.greedy import greedy_search
from bowfree.search.plan import StrategyName
from bowfree.studies.runner import Study, markdown_table, simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLASS_LIMIT = 100_000

NAMED_V_STRUCTURES = ((4, "pip2", "pip3", "plcg"), (8, "pka", "pakts473", "pkc"))
"""Condition, end, center, end: the examples in the text of section 4.2."""


@dataclass(frozen=True, eq=False)
class SachsRow:
    """The results for one condition.

    Attributes
    ----------
    number, name, n
        The condition and its number of cells.
    bap, dag : MixedGraph
        The best graph of each kind.
    bap_score, dag_score : float
        Their scores.
    bap_class, dag_class : EquivalenceClass
        The BAPs equivalent to each of them.
    effects : EffectBounds
        Total effects over the class of the BAP.
    seconds, cpu_seconds : float
        Elapsed time of both searches; processor time of searches, classes and effects.
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
        """Number of DAGs that are equivalent to the best DAG."""
        return sum(graph.is_dag() for graph in self.dag_class)

    @property
    def n_invariant_effects(self) -> int:
        """Number of ordered pairs with a non-zero effect in every member of the BAP's class."""
        off = ~np.eye(len(self.bap), dtype=bool)
        return int((self.effects.min_abs[off] > self.effects.zero).sum())

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
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
            "invariant_effects": self.n_invariant_effects,
            "seconds": self.seconds,
            "bap": str(self.bap),
            "dag": str(self.dag),
        }


@dataclass(frozen=True, eq=False, repr=False)
class SachsStudy(Study):
    """The result of :func:`sachs_study`.

    Attributes
    ----------
    rows : tuple of SachsRow
        The conditions, in the order of the paper.
    seconds : float
        Elapsed time.
    complete : bool
        False if a time limit ended the study early.
    """

    _stem = "sachs"

    rows: tuple[SachsRow, ...]
    seconds: float
    complete: bool

    @property
    def cpu_seconds(self) -> float:
        """Processor time of all conditions, on all machines."""
        return sum(row.cpu_seconds for row in self.rows)

    def row(self, condition: int | str) -> SachsRow:
        """Return the results for a condition, by number or name."""
        number = find_condition(condition).number
        return next(row for row in self.rows if row.number == number)

    def v_structure(self, condition: int | str, a: str, c: str, b: str) -> Row:
        """Compare the v-structure a -> c <- b in BAPs and DAGs.

        Parameters
        ----------
        condition : int or str
            The data.
        a, c, b : str
            End, center, end.

        Returns
        -------
        Row
            ``in_bap`` and ``in_dag``: whether the best graph has edges into c from a and b, which
            are not adjacent. ``bap_edges`` and ``dag_edges``: the two edges over all equivalent
            BAPs and DAGs, with the mark ``o`` where these differ. ``identified_in_bap`` and
            ``identified_in_dag``: whether all equivalent graphs agree.
        """
        row = self.row(condition)
        dags = [graph for graph in row.dag_class if graph.is_dag()]
        found = {
            "bap": [
                str(edge)
                for edge in row.bap_class.summary().edges
                if {edge.a, edge.b} in ({a, c}, {b, c})
            ],
            "dag": [_edge_over(dags, end, c) for end in (a, b)],
        }
        values: dict[str, Any] = {"condition": row.number, "a": a, "c": c, "b": b}
        for kind, graph in (("bap", row.bap), ("dag", row.dag)):
            into = {*graph.parents(c), *graph.spouses(c)}
            present = a in into and b in into and not graph.adjacent(a, b)
            agree = not any("o" in edge.split(" ")[1] for edge in found[kind])
            values |= {
                f"in_{kind}": present,
                f"{kind}_edges": tuple(found[kind]),
                f"identified_in_{kind}": present and agree,
            }
        return Row(**values)

    def named_v_structures(self) -> list[Row]:
        """Return the two examples of the paper, if their conditions were studied."""
        done = {row.number for row in self.rows}
        return [self.v_structure(*named) for named in NAMED_V_STRUCTURES if named[0] in done]

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers."""
        return {
            "complete": self.complete,
            "cpu_seconds": self.cpu_seconds,
            "seconds": self.seconds,
            "rows": self.records(),
            "v_structures": [found.to_dict() for found in self.named_v_structures()],
        }

    def records(self) -> list[dict[str, Any]]:
        """Return one record for each condition."""
        return [row.to_dict() for row in self.rows]

    def table(self) -> str:
        """Return one line for each condition, and the paper's v-structures, in Markdown."""
        headings = (
            "",
            "condition",
            "n",
            "best BAP",
            "best DAG",
            "edges of the BAP (bidirected)",
            "edges of the DAG",
            "BAPs in its class",
            "DAGs in its class",
            "effects in all BAPs of the class",
        )
        rows = [
            (
                row.number,
                f"`{row.name}`",
                row.n,
                f"{row.bap_score:.6f}",
                f"{row.dag_score:.6f}",
                f"{row.bap.n_edges} ({row.bap.n_bidirected})",
                row.dag.n_edges,
                row.bap_class.size,
                row.n_equivalent_dags,
                row.n_invariant_effects,
            )
            for row in self.rows
        ]
        text = markdown_table(headings, rows)
        named = self.named_v_structures()
        if not named:
            return text
        columns = "condition", "v-structure", "in all equivalent DAGs", "in all equivalent BAPs"
        edges = [
            (
                v.condition,
                f"at `{v.c}`, with `{v.a}` and `{v.b}`",
                f"`{'`, `'.join(v.dag_edges)}`",
                f"`{'`, `'.join(v.bap_edges)}`",
            )
            for v in named
        ]
        return f"{text}\n\n{markdown_table(columns, edges)}"

    def figure(self, conditions: Sequence[int | str] | None = None) -> Figure:
        """Draw the best BAP beside the best DAG of each condition, with nodes on a circle.

        Parameters
        ----------
        conditions : sequence of int or str, optional
            By default all.
        """
        import matplotlib.pyplot as plt

        from bowfree import plot

        rows = list(self.rows) if conditions is None else [self.row(c) for c in conditions]
        height = (len(rows) + 1) // 2
        figure, axes = plt.subplots(
            height, 4, figsize=(13, 3.2 * height), squeeze=False, layout="constrained"
        )
        cells = axes.ravel()
        for ax in cells:
            ax.set_axis_off()
        for k, row in enumerate(rows):
            for ax, kind, graph, score in (
                (cells[2 * k], "BAP", row.bap, row.bap_score),
                (cells[2 * k + 1], "DAG", row.dag, row.dag_score),
            ):
                plot.graph(graph, layout="circle", ax=ax)
                ax.set_title(f"{row.number}  {kind}  {score:.3f}", fontsize=9)
        return figure

    def figures(self) -> dict[str, Figure]:
        """Return the figures "real", of eight conditions, and "real2", of the others."""
        parts = {"-real": self.rows[:8], "-real2": self.rows[8:]}
        return {
            name: self.figure([row.number for row in rows]) for name, rows in parts.items() if rows
        }

    def _headline(self) -> str:
        return f"best BAPs and DAGs of {len(self.rows)} conditions"


@public
def sachs_study(
    conditions: Sequence[int | str] | None = None,
    *,
    folder: str | Path | None = None,
    strategy: StrategyName = "ils",
    restarts: int | None = None,
    rounds: int | None = None,
    penalty: float = 1.0,
    rng: Rng = None,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> SachsStudy:
    """Find the best BAP and the best DAG for the conditions of the protein data.

    Parameters
    ----------
    conditions : sequence of int or str, optional
        Numbers or names; by default all 14.
    folder : path, optional
        Folder with the data, see :func:`bowfree.datasets.load_sachs`.
    strategy, restarts, rounds
        Options of :func:`bowfree.greedy_search`. ``strategy="restart", restarts=100`` is the
        paper's.

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
    numbers = [c.number for c in SACHS_CONDITIONS] if conditions is None else conditions
    wanted = [find_condition(condition) for condition in numbers]
    budget = Budget(rng, n_jobs, time_limit, progress, executor)
    search = {"strategy": strategy, "restarts": restarts, "rounds": rounds, "penalty": penalty}
    streams = budget.generator().spawn(len(wanted))
    # All files are read before the first search, so that a missing one is reported at once.
    tables = [load_sachs(known.number, folder=folder) for known in wanted]
    moments = [DataOptions().read(table).without_rows() for table in tables]

    def gather(rows: list[SachsRow]) -> SachsStudy:
        return SachsStudy(tuple(rows), budget.seconds, len(rows) == len(wanted))

    study: SachsStudy = simulate(
        partial(_search_condition, search=search),
        list(zip(wanted, moments, streams, strict=True)),
        budget,
        what="conditions",
        gather=gather,
    )
    return study


def _search_condition(
    task: tuple[SachsCondition, Moments, np.random.Generator],
    budget: Budget,
    *,
    search: dict[str, Any],
) -> SachsRow:
    condition, moments, stream = task
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


def _edge_over(graphs: Sequence[MixedGraph], a: str, c: str) -> str:
    """Return the edge from a to c in all DAGs, with circles if these disagree."""
    forward = any((a, c) in graph.directed for graph in graphs)
    backward = any((c, a) in graph.directed for graph in graphs)
    if forward and backward:
        return f"{a} o-o {c}"
    return f"{a} -> {c}" if forward else f"{a} <- {c}" if backward else f"{a}   {c}"
