"""The 14 conditions of Sachs et al. at once, with the targets of their interventions.

Section 4.2 of the paper takes each condition alone (:mod:`bowfree.studies.sachs_study`). Here
all of them are searched together, as batches, with the targets that the experimenters meant, and
with targets to be learned; beside the conditions one by one, and all rows in one table. Two things
are asked of each answer: how much of the published network it finds
(:mod:`bowfree.studies.sachs_network`), and how well it foresees a
condition that was left out.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from bowfree.data.conditions import Condition
from bowfree.datasets.sachs import SACHS_CONDITIONS, load_sachs
from bowfree.datasets.tables import Table
from bowfree.equivalence.classes import class_by_components
from bowfree.errors import BowfreeError, WorkInterrupted
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parallel.budget import Budget
from bowfree.parameters import GraphClass, Kind, Means
from bowfree.search.greedy import greedy_search
from bowfree.studies.files import write_csv, write_figure, write_json, write_text
from bowfree.studies.sachs_network import SACHS_TARGETS, Agreement
from bowfree.text_reading import short_repr
from bowfree.uncertainty.condition_validation import LeftOutConditions, leave_out_conditions
from bowfree.validation import BudgetOptions, split_options

if TYPE_CHECKING:
    from matplotlib.figure import Figure


CLASS_LIMIT = 100_000
FORESEEN = 0.1  # a total effect that is worth the name


@dataclass(frozen=True, eq=False)
class SachsJointRow:
    """One way to take the data.

    Attributes
    ----------
    setting : str
        Which, a key of :data:`SETTINGS`.
    n : float
        Number of cells.
    graph : MixedGraph
        The best graph.
    score : float
        Its score; only scores of the same data and means can be compared.
    class_size : int
        Graphs that such data cannot tell from it.
    agreement : Agreement
        With the published network.
    targets : dict
        Learned targets of each condition.
    cpu_seconds : float
        Of the search.
    """

    setting: str
    n: float
    graph: MixedGraph
    score: float
    class_size: int
    agreement: Agreement
    targets: dict[str, list[str]]
    cpu_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text."""
        found = self.agreement
        return {
            "setting": self.setting,
            "n": self.n,
            "edges": found.n_edges,
            "bidirected": found.n_bidirected,
            "adjacent": found.n_adjacent,
            "precision": found.precision,
            "recall": found.recall,
            "directed": found.n_directed,
            "turned": found.n_turned,
            "settled": found.n_settled,
            "settled_right": found.n_settled_right,
            "class": self.class_size,
            "score": self.score,
            "cpu_seconds": self.cpu_seconds,
            "graph": str(self.graph),
            "targets": self.targets,
        }


@dataclass(frozen=True, eq=False)
class SachsJointStudy:
    """All conditions together.

    Attributes
    ----------
    rows : tuple of SachsJointRow
        One for each way to take the data.
    single : tuple of SachsJointRow
        The conditions one by one.
    left_out : LeftOutConditions or None
        How well each condition is foreseen by the others, targets being set from outside.
    cpu_seconds : float
        Processor time of the whole.
    complete : bool
        Whether all that was asked for is there; False after a time limit.
    """

    rows: tuple[SachsJointRow, ...]
    single: tuple[SachsJointRow, ...]
    left_out: LeftOutConditions | None
    cpu_seconds: float
    complete: bool

    def row(self, setting: str) -> SachsJointRow:
        """Return one way to take the data."""
        for row in self.rows:
            if row.setting == setting:
                return row
        raise BowfreeError(
            f"{short_repr(setting)} is not among {[row.setting for row in self.rows]}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers."""
        return {
            "rows": [row.to_dict() for row in self.rows],
            "single": [row.to_dict() for row in self.single],
            "left_out": None if self.left_out is None else self.left_out.to_dict(),
            "cpu_seconds": self.cpu_seconds,
            "complete": self.complete,
        }

    def table(self) -> str:
        """Return the tables, in Markdown."""
        lines = [
            "| data taken as | edges (`<->`) | published pairs found, of 20 | precision | recall | "
            "arrows as published | turned | settled arrows (right) | class | CPU s |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]
        for row in self.rows:
            a = row.agreement
            lines.append(
                f"| {SETTINGS[row.setting].says} | {a.n_edges} ({a.n_bidirected}) | {a.n_adjacent} "
                f"| {a.precision:.2f} | {a.recall:.2f} | {a.n_directed} | {a.n_turned} "
                f"| {a.n_settled} ({a.n_settled_right}) | {row.class_size} "
                f"| {row.cpu_seconds:.1f} |"
            )
        if self.single:
            mean = {
                word: np.mean([getattr(row.agreement, word) for row in self.single])
                for word in (
                    *("n_edges", "n_bidirected", "n_adjacent", "precision", "recall"),
                    *("n_directed", "n_turned", "n_settled", "n_settled_right"),
                )
            }
            lines.append(
                f"| one condition alone, mean of {len(self.single)} | {mean['n_edges']:.1f} "
                f"({mean['n_bidirected']:.1f}) | {mean['n_adjacent']:.1f} "
                f"| {mean['precision']:.2f} | {mean['recall']:.2f} | {mean['n_directed']:.1f} "
                f"| {mean['n_turned']:.1f} | {mean['n_settled']:.1f} "
                f"({mean['n_settled_right']:.1f}) | | |"
            )
        return "\n".join([*lines, *self._left_out_table()])

    def _left_out_table(self) -> list[str]:
        if self.left_out is None:
            return []
        lines = [
            "",
            "| condition left out | foreseen | without a graph | at best |",
            "|---|---|---|---|",
        ]
        for one in self.left_out.conditions:
            told = f" ({', '.join(one.targets)})" if one.targets else ""
            lines.append(
                f"| `{one.name}`{told} | {one.loglik:.3f} | {one.loglik_pooled:.3f} "
                f"| {one.loglik_own:.3f} |"
            )
        clear, foreseen, unclear, idle = self.foreseen_effects()
        return [
            *lines,
            "",
            f"effects of targets: {clear} are clear, {foreseen} of them foreseen; of {unclear} "
            f"that are not, {idle} were foreseen all the same",
        ]

    def foreseen_effects(self) -> tuple[int, int, int, int]:
        """Count effects of targets, as measured in the conditions left out.

        Returns
        -------
        tuple of int
            Those of three standard errors or more, how many of them were foreseen with the right
            sign (0.1 at least), the others, and how many of these were foreseen.
        """
        effects = () if self.left_out is None else self.left_out.effects
        clear = [e for e in effects if abs(e.measured) >= 3 * e.se]
        others = [e for e in effects if abs(e.measured) < 3 * e.se]
        return (
            len(clear),
            sum(e.foreseen * np.sign(e.measured) >= FORESEEN for e in clear),
            len(others),
            sum(abs(e.foreseen) >= FORESEEN for e in others),
        )

    def figure(self, setting: str = "perfect") -> Figure:
        """Draw the best graph of one way to take the data, nodes on a circle."""
        import matplotlib.pyplot as plt

        from bowfree import plot

        figure, ax = plt.subplots(figsize=(6, 6), layout="constrained")
        ax.set_axis_off()
        plot.graph(self.row(setting).graph, layout="circle", ax=ax)
        return figure

    def save(self, folder: Path) -> list[Path]:
        """Write sachs-joint.csv, .json, .md and a figure; return the paths."""
        rows = [row.to_dict() for row in (*self.rows, *self.single)]
        told = ({key: x for key, x in row.items() if key != "targets"} for row in rows)
        return [
            write_csv(folder / "sachs-joint.csv", told),
            write_json(folder / "sachs-joint.json", self.to_dict()),
            write_text(folder / "sachs-joint.md", self.table()),
            write_figure(folder / "sachs-joint.png", self.figure(self.rows[0].setting)),
        ]


# --- ways to take the data ------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """A way to take the data: what a reader is told, and what a search is given.

    `targets` are those of :data:`SACHS_TARGETS`, none, or to be learned.
    """

    says: str
    targets: str = "none"
    kind: Kind = "perfect"
    means: Means = "free"
    one_table: bool = False
    graph_class: GraphClass = "bap"
    max_district: int | None = None
    restarts: int | None = None

    def data(self, tables: Mapping[str, Table]) -> Any:
        """Return what a search takes."""
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
"""Ways to take the 14 conditions.

Where shifted means count, graphs have some 40 edges, and searches over all BAPs come among
districts of all eleven proteins. So districts are single proteins there (DAGs), or pairs, where
searches with any random numbers end at one score; with districts of four they do not.
"""


def sachs_joint_study(
    settings: Sequence[str] | None = None,
    *,
    folder: str | Path | None = None,
    single: bool = True,
    left_out: bool = True,
    penalty: float = 1.0,
    **options: Unpack[BudgetOptions],
) -> SachsJointStudy:
    """Search on the 14 conditions of the protein data at once.

    Parameters
    ----------
    settings : sequence of str, optional
        Ways to take the data, keys of :data:`SETTINGS`; by default all.
    folder : path, optional
        Where the data are, see :func:`bowfree.datasets.load_sachs`.
    single : bool
        Whether each condition is searched alone, too.
    left_out : bool
        Whether each condition is left out in turn and foreseen from the others.
    penalty : float
        Of the score.
    **options
        ``rng``, ``n_jobs``, ``executor``, ``time_limit``, ``progress``
            What may be spent (:class:`~bowfree.validation.BudgetOptions`); threads and workers are
            for the runs of a search.

    Returns
    -------
    SachsJointStudy

    References
    ----------
    Sachs, Perez, Pe'er, Lauffenburger and Nolan (2005), Science 308.

    Examples
    --------
    >>> import bowfree as bf
    >>> study = bf.studies.sachs_joint_study(folder=folder, rng=1)  # doctest: +SKIP
    >>> study.row("perfect").agreement.recall  # doctest: +SKIP
    0.5
    """
    chosen = list(SETTINGS) if settings is None else list(settings)
    unknown = [name for name in chosen if name not in SETTINGS]
    if unknown:
        raise BowfreeError(
            f"settings has {short_repr(unknown[0])}; choose of {', '.join(SETTINGS)}"
        )
    tables = {known.name: load_sachs(known.number, folder=folder) for known in SACHS_CONDITIONS}
    (budget_options,) = split_options("sachs_joint_study", options, BudgetOptions)
    budget = Budget(**budget_options)
    asked = [(name, SETTINGS[name].data(tables), SETTINGS[name]) for name in chosen]
    asked += [(name, tables[name], Setting(name)) for name in tables if single]
    planned = len(asked) + left_out
    seeds = budget.generator().integers(0, 2**63, size=planned).tolist()
    began = time.process_time()
    rows: list[SachsJointRow] = []
    foreseen = None

    def study() -> SachsJointStudy:
        together, alone = rows[: len(chosen)], rows[len(chosen) :]
        whole = len(rows) == len(asked) and (foreseen is not None) == left_out
        spent = time.process_time() - began
        return SachsJointStudy(
            tuple(together), tuple(alone), foreseen, spent, whole and not budget.expired
        )

    try:
        for (name, data, setting), seed in zip(asked, seeds, strict=False):
            if budget.expired and rows:
                break
            rows.append(_searched(name, data, setting, penalty, budget, seed))
            budget.report_progress("searches", len(rows), planned)
        if left_out and not budget.expired:
            foreseen = leave_out_conditions(
                SETTINGS["perfect"].data(tables),
                penalty=penalty,
                rng=seeds[-1],
                n_jobs=budget.n_jobs,
                time_limit=budget.seconds_left,
            )
            budget.report_progress("searches", planned, planned)
    except KeyboardInterrupt as stop:
        if not rows:
            raise
        raise WorkInterrupted(study()) from stop
    return study()


def _searched(
    name: str, data: Any, setting: Setting, penalty: float, budget: Budget, seed: int
) -> SachsJointRow:
    """Search, and compare with the published network."""
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
