"""Variants of the paper's simulation study (section 4.1), all on the same simulated data.

Each protocol is a set of options of :func:`bowfree.studies.causal_effect_study`, and of
:class:`Variant`. The published protocol loses in four places: few sweeps of RICF, few good starts, one best graph where many are
nearly as good, and noise. Every row but the first two changes one thing.

Run: ``python benchmarks/run_study.py protocols --out results [--n-sims 20] [--jobs 2]``
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import bowfree as bf
from bowfree.errors import BowfreeError, WorkInterrupted
from bowfree.parallel.budget import Budget, Progress
from bowfree.studies.effects_study import CLASS_LIMIT, EffectsStudy, Protocol, run_simulations
from bowfree.studies.runner import markdown_table

DEFAULTS: dict[str, Any] = {
    "d": 10,
    "n": 1000,
    "max_in_degree": 2,
    "strategy": "restart",
    "restarts": None,
    "epsilon": 1e-10,
    "effects": "corrected",
    "method": "newton",
    "max_iter": None,
    "penalty": 1.0,
    # of Variant
    "classes": "empirical",  # or "exact"
    "report": "best",  # or "averaged", "true-class": what ranks the pairs
    "limit_search": False,  # whether max_in_degree applies to the search too
    "exact_covariance": False,  # search on the covariance matrix of the true model
}


class Variant(Protocol):
    """The paper's simulation with exact classes, averages, the true class or the true covariance."""

    def data(self, sem, rng):
        if self.settings["exact_covariance"]:
            return {"cov": sem.covariance(), "n": self.settings["n"], "ddof": 0}
        return super().data(sem, rng)

    def search(self, truth, data, budget):
        if self.settings["report"] == "true-class":
            return SimpleNamespace(graph=truth, runs=())
        if not self.settings["limit_search"]:
            return super().search(truth, data, budget)
        names = ("strategy", "restarts", "penalty", "max_in_degree", "method", "max_iter")
        options = {name: self.settings[name] for name in names}
        return bf.greedy_search(**data, **options, rng=budget.rng, time_limit=budget.seconds_left)

    def class_of(self, graph, data):
        if self.settings["classes"] == "exact":
            return bf.equivalence_class(graph, limit=CLASS_LIMIT)
        return super().class_of(graph, data)

    def estimate(self, result, members, data, budget):
        if self.settings["report"] == "averaged":
            average = bf.averaged_effects(result, rng=budget.rng, time_limit=budget.seconds_left)
            return average.probability_all_members
        return super().estimate(result, members, data, budget)


class Description(NamedTuple):
    """A description, and settings that differ from `DEFAULTS`."""

    what: str
    options: dict[str, Any]


_PAPER: dict[str, Any] = {"strategy": "restart", "effects": "corrected"}
_GOOD: dict[str, Any] = {"strategy": "ils", "classes": "exact"}

PROTOCOLS: dict[str, Description] = {
    "as-published": Description(
        "as published: 101 starts, 10 sweeps, (I+B)^-1",
        {**_PAPER, "method": "ricf", "max_iter": 10, "effects": "as-published"},
    ),
    "ten-sweeps": Description(
        "the same with (I-B)^-1", {**_PAPER, "method": "ricf", "max_iter": 10}
    ),
    "converged": Description("the same, converged scores", _PAPER),
    "best": Description("one best graph, default search", _GOOD),
    "penalty-0.5": Description("penalty 0.5", {**_GOOD, "penalty": 0.5}),
    "penalty-0.75": Description("penalty 0.75", {**_GOOD, "penalty": 0.75}),
    "penalty-1.5": Description("penalty 1.5", {**_GOOD, "penalty": 1.5}),
    "penalty-2": Description("penalty 2", {**_GOOD, "penalty": 2.0}),
    "n-300": Description("n = 300", {**_GOOD, "n": 300}),
    "n-3000": Description("n = 3,000", {**_GOOD, "n": 3000}),
    "n-10000": Description("n = 10,000", {**_GOOD, "n": 10_000}),
    "exact-covariance": Description(
        "exact covariance, penalty of n = 1000", {**_GOOD, "exact_covariance": True}
    ),
    "averaged": Description("averaged over all probable graphs", {**_GOOD, "report": "averaged"}),
    "averaged-limited": Description(
        "the same, search limited to in-degree 2",
        {**_GOOD, "report": "averaged", "limit_search": True},
    ),
    "true-class": Description("true class given", {**_GOOD, "report": "true-class"}),
}
"""Protocols by name, in the order of the table."""


@dataclass(frozen=True, eq=False)
class ProtocolTable:
    """Studies by the name of their protocol; complete unless a time limit ended them early."""

    studies: dict[str, EffectsStudy]
    complete: bool

    def table(self) -> str:
        """Return one line for each protocol, in Markdown."""
        rows = [
            {"protocol": f"`{name}`", "what is reported": PROTOCOLS[name].what} | study.table_row()
            for name, study in self.studies.items()
        ]
        return markdown_table(list(rows[0]), [list(row.values()) for row in rows])

    def save(self, folder: str | Path) -> list[Path]:
        """Write the table, and the files of each study; return the paths."""
        path = Path(folder) / "protocols.md"
        path.write_text(self.table() + "\n", encoding="utf-8")
        paths = [path]
        for name, study in self.studies.items():
            paths += study.save(folder, f"effects-{name}")
        return paths


def compare_protocols(
    names: Sequence[str] | None = None,
    *,
    n_sims: int = 100,
    rng: int | None = None,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> ProtocolTable:
    """Run protocols, by default all, on the same true graphs and parameters.

    `time_limit` applies to all of them together; `options` replace `DEFAULTS`.
    """
    wanted = list(PROTOCOLS) if names is None else list(names)
    unknown = [name for name in wanted if name not in PROTOCOLS]
    if unknown:
        raise BowfreeError(f"unknown protocol {unknown[0]!r}; choose from {', '.join(PROTOCOLS)}")
    budget = Budget(time_limit=time_limit)
    studies: dict[str, EffectsStudy] = {}
    for name in wanted:
        if budget.expired and studies:
            break

        def report(done: Progress, name: str = name) -> None:
            if progress is not None:
                progress(replace(done, what=f"{done.what} of {name}"))

        try:
            settings = DEFAULTS | options | PROTOCOLS[name].options
            own = Budget(rng, n_jobs, budget.seconds_left, report)
            studies[name] = run_simulations(Variant(settings), n_sims, own)
        except WorkInterrupted as stop:
            partial_table = ProtocolTable(studies | {name: stop.result}, complete=False)
            raise WorkInterrupted(partial_table) from stop
        except BowfreeError:
            if budget.expired and studies:
                break  # no simulation of this protocol finished in time
            raise
    complete = len(studies) == len(wanted) and all(study.complete for study in studies.values())
    return ProtocolTable(studies, complete)
