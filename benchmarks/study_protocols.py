"""Variants of the paper's simulation study (section 4.1), all on the same simulated data.

Each protocol is a set of options of :func:`bowfree.studies.causal_effect_study`. The published
protocol loses in four places: few sweeps of RICF, few good starts, one best graph where many are
nearly as good, and noise. Every row but the first two changes one thing.

Run: ``python benchmarks/run_study.py protocols --out results [--n-sims 20] [--jobs 2]``
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from bowfree.errors import BowfreeError, WorkInterrupted
from bowfree.parallel.budget import Budget, Progress
from bowfree.studies.effects_study import EffectsStudy, causal_effect_study
from bowfree.studies.runner import markdown_table


class Protocol(NamedTuple):
    """A description, and options of :func:`causal_effect_study`."""

    what: str
    options: dict[str, Any]


_PAPER: dict[str, Any] = {"strategy": "restart", "effects": "corrected"}
_GOOD: dict[str, Any] = {"strategy": "ils", "classes": "exact"}

PROTOCOLS: dict[str, Protocol] = {
    "as-published": Protocol(
        "as published: 101 starts, 10 sweeps, (I+B)^-1",
        {**_PAPER, "method": "ricf", "max_iter": 10, "effects": "as-published"},
    ),
    "ten-sweeps": Protocol("the same with (I-B)^-1", {**_PAPER, "method": "ricf", "max_iter": 10}),
    "converged": Protocol("the same, converged scores", _PAPER),
    "best": Protocol("one best graph, default search", _GOOD),
    "penalty-0.5": Protocol("penalty 0.5", {**_GOOD, "penalty": 0.5}),
    "penalty-0.75": Protocol("penalty 0.75", {**_GOOD, "penalty": 0.75}),
    "penalty-1.5": Protocol("penalty 1.5", {**_GOOD, "penalty": 1.5}),
    "penalty-2": Protocol("penalty 2", {**_GOOD, "penalty": 2.0}),
    "n-300": Protocol("n = 300", {**_GOOD, "n": 300}),
    "n-3000": Protocol("n = 3,000", {**_GOOD, "n": 3000}),
    "n-10000": Protocol("n = 10,000", {**_GOOD, "n": 10_000}),
    "exact-covariance": Protocol(
        "exact covariance, penalty of n = 1000", {**_GOOD, "exact_covariance": True}
    ),
    "averaged": Protocol("averaged over all probable graphs", {**_GOOD, "report": "averaged"}),
    "averaged-limited": Protocol(
        "the same, search limited to in-degree 2",
        {**_GOOD, "report": "averaged", "limit_search": True},
    ),
    "true-class": Protocol("true class given", {**_GOOD, "report": "true-class"}),
}
"""Protocols by name, in the order of the table."""


@dataclass(frozen=True, eq=False)
class ProtocolTable:
    """Studies by the name of their protocol; complete unless a time limit ended them early."""

    studies: dict[str, EffectsStudy]
    complete: bool

    def table(self) -> str:
        """Return one line for each protocol, in Markdown."""
        headings = (
            "protocol",
            "what is reported",
            "mean AUC (s.e.)",
            "ordinary AUC",
            "score at least the true graph's",
            "CPU s",
        )
        rows = [
            (
                f"`{name}`",
                PROTOCOLS[name].what,
                f"{study.mean_auc:.3f} ({study.standard_error:.3f})",
                f"{study.mean_ordinary_auc:.3f}",
                f"{study.n_at_least_true_score} of {len(study.simulations)}",
                f"{study.cpu_seconds:.0f}",
            )
            for name, study in self.studies.items()
        ]
        return markdown_table(headings, rows)

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
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> ProtocolTable:
    """Run protocols, by default all, on the same true graphs and parameters.

    `time_limit` applies to all of them together; `options` are those of
    :func:`bowfree.studies.causal_effect_study`, unless a protocol sets them.
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
            studies[name] = causal_effect_study(
                n_sims,
                **{**options, **PROTOCOLS[name].options},
                time_limit=budget.seconds_left,
                progress=report,
                rng=rng,
            )
        except WorkInterrupted as stop:
            partial_table = ProtocolTable(studies | {name: stop.result}, complete=False)
            raise WorkInterrupted(partial_table) from stop
        except BowfreeError:
            if budget.expired and studies:
                break  # no simulation of this protocol finished in time
            raise
    complete = len(studies) == len(wanted) and all(study.complete for study in studies.values())
    return ProtocolTable(studies, complete)
