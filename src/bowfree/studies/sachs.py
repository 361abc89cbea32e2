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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bowfree.data.moments import Moments
from bowfree.data.options import DataOptions
from bowfree.datasets.sachs import SACHS_CONDITIONS, SachsCondition, find_condition, load_sachs
from bowfree.effects.bounds import effect_bounds
from bowfree.equivalence.class_summary import ClassSummary
from bowfree.equivalence.classes import equivalence_class
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parallel.budget import Budget, Progress
from bowfree.parameters import Rng, public
from bowfree.results.rows import Row
from bowfree.search.greedy import greedy_search
from bowfree.search.plan import StrategyName
from bowfree.studies.runner import Study, markdown_table, processor_seconds, simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLASS_LIMIT = 100_000

NAMED_V_STRUCTURES = ((4, "pip2", "pip3", "plcg"), (8, "pka", "pakts473", "pkc"))
"""Condition, end, center, end: the examples in the text of section 4.2."""


@dataclass(frozen=True, eq=False, repr=False)
class SachsStudy(Study):
    """The result of :func:`sachs_study`.

    Attributes
    ----------
    rows : tuple of Row
        The conditions, in the order of the paper: ``condition`` (its number), ``name``, ``n``; the
        best graphs ``bap`` and ``dag`` and their scores; ``bap_class`` and ``dag_class``, the
        numbers of BAPs and DAGs that are equivalent to them; ``invariant_effects``, the number of
        ordered pairs with an effect in all BAPs of the class; and elapsed and processor time.
    classes : tuple of dict
        For each condition, the marks of edges over the classes, by "bap" and "dag".
    seconds : float
        Elapsed time.
    complete : bool
        False if a time limit ended the study early.
    """

    _stem = "sachs"

    rows: tuple[Row, ...]
    classes: tuple[dict[str, ClassSummary], ...]
    seconds: float
    complete: bool

    def row(self, condition: int | str) -> Row:
        """Return the results for a condition, by number or name."""
        number = find_condition(condition).number
        return next(row for row in self.rows if row.condition == number)

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
        values: dict[str, Any] = {"condition": row.condition, "a": a, "c": c, "b": b}
        for kind, summary in self.classes[self.rows.index(row)].items():
            graph: MixedGraph = row[kind]
            into = {*graph.parents(c), *graph.spouses(c)}
            present = {a, b} <= into and not graph.adjacent(a, b)
            edges = [summary.edge(end, c) for end in (a, b) if graph.adjacent(end, c)]
            values |= {
                f"in_{kind}": present,
                f"{kind}_edges": tuple(map(str, edges)),
                f"identified_in_{kind}": present and all(edge.invariant for edge in edges),
            }
        return Row(**values)

    def named_v_structures(self) -> list[Row]:
        """Return the two examples of the paper, if their conditions were studied."""
        done = {row.condition for row in self.rows}
        return [self.v_structure(*named) for named in NAMED_V_STRUCTURES if named[0] in done]

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers."""
        return {
            "complete": self.complete,
            "cpu_seconds": sum(row.cpu_seconds for row in self.rows),
            "seconds": self.seconds,
            "rows": self.records(),
            "v_structures": [found.to_dict() for found in self.named_v_structures()],
        }

    def table(self) -> str:
        """Return one line for each condition, and the paper's v-structures, in Markdown."""
        rows = [
            {
                "": row.condition,
                "condition": f"`{row.name}`",
                "n": row.n,
                "best BAP": f"{row.bap_score:.6f}",
                "best DAG": f"{row.dag_score:.6f}",
                "edges of the BAP (bidirected)": f"{row.bap_edges} ({row.bap_bidirected})",
                "edges of the DAG": row.dag_edges,
                "BAPs in its class": row.bap_class,
                "DAGs in its class": row.dag_class,
                "effects in all BAPs of the class": row.invariant_effects,
            }
            for row in self.rows
        ]
        named = [
            {
                "condition": v.condition,
                "v-structure": f"at `{v.c}`, with `{v.a}` and `{v.b}`",
                "in all equivalent DAGs": f"`{'`, `'.join(v.dag_edges)}`",
                "in all equivalent BAPs": f"`{'`, `'.join(v.bap_edges)}`",
            }
            for v in self.named_v_structures()
        ]
        return "\n\n".join(
            markdown_table(list(part[0]), [list(row.values()) for row in part])
            for part in (rows, named)
            if part
        )

    def figures(self) -> dict[str, Figure]:
        """Return the figures "real", of eight conditions, and "real2", of the others.

        They show the best BAP beside the best DAG of each condition, with nodes on a circle.
        """
        import matplotlib.pyplot as plt

        from bowfree import plot

        figures = {}
        for name, rows in (("-real", self.rows[:8]), ("-real2", self.rows[8:])):
            if not rows:
                continue
            height = (len(rows) + 1) // 2
            figures[name], axes = plt.subplots(
                height, 4, figsize=(13, 3.2 * height), squeeze=False, layout="constrained"
            )
            pairs = [(row, kind) for row in rows for kind in ("bap", "dag")]
            for ax in axes.ravel():
                ax.set_axis_off()
            for ax, (row, kind) in zip(axes.ravel(), pairs, strict=False):
                plot.graph(row[kind], layout="circle", ax=ax)
                score = row[f"{kind}_score"]
                ax.set_title(f"{row.condition}  {kind.upper()}  {score:.3f}", fontsize=9)
        return figures

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

    def gather(done: list[tuple[Row, dict[str, ClassSummary]]]) -> SachsStudy:
        rows, classes = zip(*done, strict=True)
        return SachsStudy(rows, classes, budget.seconds, len(done) == len(wanted))

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
) -> tuple[Row, dict[str, ClassSummary]]:
    condition, moments, stream = task
    began, cpu_began = time.perf_counter(), time.thread_time()
    own: dict[str, Any] = {"rng": stream, **search}
    bap, dag = (
        greedy_search(moments, graph_class=kind, time_limit=budget.seconds_left, **own)
        for kind in ("bap", "dag")
    )
    seconds = time.perf_counter() - began
    members, dags = (equivalence_class(found, limit=CLASS_LIMIT) for found in (bap, dag))
    effects = effect_bounds(members, moments)
    off = ~np.eye(len(bap.graph), dtype=bool)
    row = Row(
        condition=condition.number,
        name=condition.name,
        n=round(moments.n),
        bap_score=bap.score,
        dag_score=dag.score,
        bap_edges=bap.graph.n_edges,
        bap_bidirected=bap.graph.n_bidirected,
        dag_edges=dag.graph.n_edges,
        bap_class=members.size,
        dag_class=dags.size,
        invariant_effects=int((effects.min_abs[off] > effects.zero).sum()),
        seconds=seconds,
        cpu_seconds=processor_seconds(cpu_began, bap, dag),
        bap=bap.graph,
        dag=dag.graph,
    )
    return row, {"bap": members.summary(), "dag": dags.summary()}
