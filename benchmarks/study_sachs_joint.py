"""The 14 conditions of Sachs et al. jointly, with the targets of their interventions.

Section 4.2 of the paper analyzes each condition by itself (:mod:`bowfree.studies.sachs`). Here all
of them are searched together: as batches, with the targets that the experimenters intended, and
with learned targets; compared with single conditions and with all rows in one table. Each result is
compared with the published network (``sachs_network.py``), and conditions that were left out are
predicted from the others.

Run: ``python benchmarks/run_study.py sachs-joint --out results [--sachs data/sachs] [--jobs 2]``
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bowfree.data.conditions import Condition
from bowfree.data.frames import Table
from bowfree.datasets.sachs import SACHS_CONDITIONS, load_sachs
from bowfree.equivalence.classes import class_by_components
from bowfree.errors import BowfreeError, WorkInterrupted
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parallel.budget import Budget
from bowfree.parameters import GraphClass, Kind, Means
from bowfree.search.greedy import greedy_search
from bowfree.studies.runner import Study, markdown_table
from leave_out_conditions import LeftOutConditions, leave_out_conditions
from sachs_network import SACHS_TARGETS, Agreement

if TYPE_CHECKING:
    from matplotlib.figure import Figure


CLASS_LIMIT = 100_000
SMALLEST_EFFECT = 0.1  # of a predicted effect


@dataclass(frozen=True, eq=False)
class SachsJointRow:
    """The result for one setting, a key of :data:`SETTINGS`, or for a single condition.

    Scores can be compared only for the same data and means.
    """

    setting: str
    n: float
    graph: MixedGraph
    score: float
    class_size: int
    agreement: Agreement
    targets: dict[str, list[str]]  # learned targets of each condition
    cpu_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        found = self.agreement
        return {
            "setting": self.setting,
            "n": self.n,
            **{name.removeprefix("n_"): count for name, count in asdict(found).items()},
            "precision": found.precision,
            "recall": found.recall,
            "class": self.class_size,
            "score": self.score,
            "cpu_seconds": self.cpu_seconds,
            "graph": str(self.graph),
        }


@dataclass(frozen=True, eq=False, repr=False)
class SachsJointStudy(Study):
    """The result of :func:`sachs_joint_study`: settings, single conditions, left-out conditions."""

    _stem = "sachs-joint"

    rows: tuple[SachsJointRow, ...]
    single: tuple[SachsJointRow, ...]
    left_out: LeftOutConditions | None
    cpu_seconds: float
    complete: bool

    def row(self, setting: str) -> SachsJointRow:
        """Return the result for one setting."""
        return next(row for row in self.rows if row.setting == setting)

    def records(self) -> list[dict[str, Any]]:
        """Return one record for each setting and each single condition."""
        return [row.to_dict() for row in (*self.rows, *self.single)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers."""
        return {
            "rows": [row.to_dict() | {"targets": row.targets} for row in self.rows],
            "single": [row.to_dict() for row in self.single],
            "left_out": None if self.left_out is None else self.left_out.to_dict(),
            "cpu_seconds": self.cpu_seconds,
            "complete": self.complete,
        }

    def table(self) -> str:
        """Return the tables, in Markdown."""
        headings = (
            "data",
            "edges (`<->`)",
            "published pairs found, of 20",
            "precision",
            "recall",
            "arrows as published",
            "reversed",
            "arrows in all equivalent graphs (right)",
            "class",
            "CPU s",
        )

        def cells(a: dict[str, float], digits: int) -> tuple[str, ...]:
            counts = {name: f"{value:.{digits}f}" for name, value in a.items()}
            return (
                f"{counts['n_edges']} ({counts['n_bidirected']})",
                counts["n_adjacent"],
                f"{a['precision']:.2f}",
                f"{a['recall']:.2f}",
                counts["n_directed"],
                counts["n_reversed"],
                f"{counts['n_invariant']} ({counts['n_invariant_right']})",
            )

        def numbers(row: SachsJointRow) -> dict[str, float]:
            found = row.agreement
            return asdict(found) | {"precision": found.precision, "recall": found.recall}

        lines = [
            (
                SETTINGS[row.setting].description,
                *cells(numbers(row), 0),
                row.class_size,
                f"{row.cpu_seconds:.1f}",
            )
            for row in self.rows
        ]
        if self.single:
            alone = [numbers(row) for row in self.single]
            mean = {name: float(np.mean([one[name] for one in alone])) for name in alone[0]}
            label = f"one condition alone, mean of {len(self.single)}"
            lines.append((label, *cells(mean, 1), "", ""))
        return "\n\n".join([markdown_table(headings, lines), *self._left_out_table()])

    def _left_out_table(self) -> list[str]:
        if self.left_out is None:
            return []
        rows = [
            (
                f"`{one.name}` ({', '.join(one.targets) or 'no target'})",
                f"{one.loglik:.3f}",
                f"{one.loglik_pooled:.3f}",
                f"{one.loglik_own:.3f}",
            )
            for one in self.left_out.conditions
        ]
        clear, predicted, unclear, false = self.predicted_effects()
        return [
            markdown_table(["condition left out", "predicted", "without a graph", "at best"], rows),
            f"effects of targets: {clear} are clear, {predicted} of them were predicted; of "
            f"{unclear} others, {false} were predicted",
        ]

    def predicted_effects(self) -> tuple[int, int, int, int]:
        """Count the effects of targets in the conditions that were left out.

        Returns the number of effects of at least three standard errors, of those among them that
        were predicted with the right sign and a size of at least 0.1, of the other effects, and of
        those among them that were predicted.
        """
        effects = () if self.left_out is None else self.left_out.effects
        clear = [e for e in effects if abs(e.measured) >= 3 * e.se]
        others = [e for e in effects if abs(e.measured) < 3 * e.se]
        return (
            len(clear),
            sum(e.predicted * np.sign(e.measured) >= SMALLEST_EFFECT for e in clear),
            len(others),
            sum(abs(e.predicted) >= SMALLEST_EFFECT for e in others),
        )

    def figures(self) -> dict[str, Figure]:
        """Draw the best graph of the first setting, with nodes on a circle."""
        import matplotlib.pyplot as plt

        from bowfree import plot

        figure, ax = plt.subplots(figsize=(6, 6), layout="constrained")
        ax.set_axis_off()
        plot.graph(self.rows[0].graph, layout="circle", ax=ax)
        return {"": figure}

    def _headline(self) -> str:
        return f"{len(self.rows)} settings, {len(self.single)} single conditions"


@dataclass(frozen=True)
class Setting:
    """Data and options of a search.

    `targets` are "known" (those of :data:`SACHS_TARGETS`), "none", or "learn".
    """

    description: str
    targets: str = "none"
    kind: Kind = "perfect"
    means: Means = "free"
    one_table: bool = False
    graph_class: GraphClass = "bap"
    max_district: int | None = None
    restarts: int | None = None

    def data(self, tables: Mapping[str, Table]) -> Any:
        """Return the data of a search."""
        if self.one_table:
            names = next(iter(tables.values())).names
            return Table(names, np.concatenate([table.X for table in tables.values()]))
        return [
            Condition(table, targets=self._targets_of(name), kind=self.kind, name=name)
            for name, table in tables.items()
        ]

    def _targets_of(self, name: str) -> Any:
        if self.targets == "learn":
            return () if name in ("cd3cd28", "cd3cd28icam2") else "learn"
        return SACHS_TARGETS.get(name, ()) if self.targets == "known" else ()


SETTINGS: Mapping[str, Setting] = {
    "batches": Setting("conditions without targets"),
    "perfect": Setting("targets, set from outside", "known"),
    "mechanism": Setting("targets, mechanism", "known", "mechanism"),
    "activity": Setting("targets, activity", "known", "activity"),
    "noise": Setting("targets, noise", "known", "noise"),
    "learned": Setting("targets learned, set from outside", "learn"),
    "pooled": Setting("all rows in one table (DAGs)", one_table=True, graph_class="dag"),
    "perfect, means shared": Setting(
        "targets, set from outside; means shared (DAGs)",
        "known",
        means="shared",
        graph_class="dag",
    ),
    "activity, means shared": Setting(
        "targets, activity; means shared (DAGs)", "known", "activity", "shared", graph_class="dag"
    ),
    "perfect, means shared, hidden": Setting(
        "targets, set from outside; means shared (pairs)",
        "known",
        means="shared",
        max_district=2,
        restarts=96,
    ),
    "activity, means shared, hidden": Setting(
        "targets, activity; means shared (pairs)",
        "known",
        "activity",
        "shared",
        max_district=2,
        restarts=96,
    ),
}
"""Settings by name.

With shared means, graphs have about 40 edges, and searches over all BAPs arrive at districts of all
eleven proteins. There districts are limited to single proteins (DAGs) or pairs, for which searches
with any seed end at one score; with districts of four they do not.
"""


def sachs_joint_study(
    settings: Sequence[str] | None = None,
    *,
    folder: str | Path | None = None,
    single: bool = True,
    left_out: bool = True,
    penalty: float = 1.0,
    **budget_options: Any,
) -> SachsJointStudy:
    """Search on the 14 conditions of the protein data jointly.

    `settings` are keys of :data:`SETTINGS`, by default all; `folder` has the data. With `single`
    each condition is also searched by itself, with `left_out` each is predicted from the others.
    `budget_options` are rng, n_jobs, executor, time_limit and progress.
    """
    chosen = list(SETTINGS) if settings is None else list(settings)
    unknown = [name for name in chosen if name not in SETTINGS]
    if unknown:
        raise BowfreeError(f"unknown setting {unknown[0]!r}; choose from {', '.join(SETTINGS)}")
    tables = {known.name: load_sachs(known.number, folder=folder) for known in SACHS_CONDITIONS}
    budget = Budget(**budget_options)
    searches = [(name, SETTINGS[name].data(tables), SETTINGS[name]) for name in chosen]
    searches += [(name, tables[name], Setting(name)) for name in tables if single]
    planned = len(searches) + left_out
    seeds = budget.generator().integers(0, 2**63, size=planned).tolist()
    began = time.process_time()
    rows: list[SachsJointRow] = []
    predicted = None

    def study() -> SachsJointStudy:
        complete = len(rows) == len(searches) and (predicted is not None) == left_out
        return SachsJointStudy(
            tuple(rows[: len(chosen)]),
            tuple(rows[len(chosen) :]),
            predicted,
            time.process_time() - began,
            complete and not budget.expired,
        )

    try:
        for (name, data, setting), seed in zip(searches, seeds, strict=False):
            if budget.expired and rows:
                break
            rows.append(_search(name, data, setting, penalty, budget, seed))
            budget.report_progress("searches", len(rows), planned)
        if left_out and not budget.expired:
            predicted = leave_out_conditions(
                SETTINGS["perfect"].data(tables),
                penalty=penalty,
                rng=seeds[-1],
                time_limit=budget.seconds_left,
            )
            budget.report_progress("searches", planned, planned)
    except KeyboardInterrupt as stop:
        if not rows:
            raise
        raise WorkInterrupted(study()) from stop
    return study()


def _search(
    name: str, data: Any, setting: Setting, penalty: float, budget: Budget, seed: int
) -> SachsJointRow:
    """Search, and compare the best graph with the published network."""
    start = time.process_time()
    result = greedy_search(
        data,
        means=setting.means,
        graph_class=setting.graph_class,
        max_district=setting.max_district,
        restarts=setting.restarts,
        penalty=penalty,
        n_jobs=budget.n_jobs,
        executor=budget.executor,
        time_limit=budget.seconds_left,
        rng=seed,
    )
    spent = time.process_time() - start
    members = class_by_components(result, CLASS_LIMIT)
    learned: dict[str, list[str]] = {}
    for target in result.targets:
        if target.chosen:
            learned.setdefault(target.condition, []).append(target.variable)
    return SachsJointRow(
        name,
        result.moments.n,
        result.graph,
        result.score,
        members.size,
        Agreement.of(result.graph, members.summary()),
        learned,
        spent,
    )
