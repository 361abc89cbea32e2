"""The rows of the table of areas: protocols of the simulation study.

Each is a set of options of :func:`bowfree.studies.causal_effect_study`. The published protocol
loses in four places: few sweeps of RICF, few good starts, one best graph where many are nearly as
good, and noise. Every row but the first two moves one thing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bowfree.errors import BowfreeError, WorkInterrupted
from bowfree.parallel.budget import Budget, Progress
from bowfree.studies.effects_study import EffectsStudy, causal_effect_study
from bowfree.studies.files import write_figure, write_text


@dataclass(frozen=True)
class Protocol:
    """One row: what it does, in words, and its options.

    Attributes
    ----------
    what : str
        In words.
    options : dict
        Of :func:`causal_effect_study`.
    """

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
"""By name; the order is that of the table."""


@dataclass(frozen=True, eq=False)
class ProtocolTable:
    """Several protocols on the same simulated data.

    Attributes
    ----------
    studies : dict of str to EffectsStudy
        By name of the protocol.
    complete : bool
        Whether all were run to their end; False after a time limit or an interruption.
    """

    studies: dict[str, EffectsStudy]
    complete: bool

    def table(self) -> str:
        """Return one line per protocol, in Markdown."""
        lines = [
            "| protocol | what is reported | mean AUC (s.e.) | ordinary AUC | score at least the "
            "true graph's | CPU s |",
            "|---|---|---|---|---|---|",
        ]
        for name, study in self.studies.items():
            count = f"{study.n_at_least_true_score} of {len(study.simulations)}"
            lines.append(
                f"| `{name}` | {PROTOCOLS[name].what} | "
                f"{study.mean_auc:.3f} ({study.standard_error:.3f}) | "
                f"{study.mean_ordinary_auc:.3f} | {count} | {study.cpu_seconds:.0f} |"
            )
        return "\n".join(lines)

    def save(self, folder: Path) -> list[Path]:
        """Write a CSV, a JSON and a figure per protocol, and the table; return the paths."""
        import matplotlib.pyplot as plt

        paths = [write_text(folder / "effects.md", self.table())]
        for name, study in self.studies.items():
            figure, ax = plt.subplots(figsize=(4.4, 4.6), layout="constrained")
            study.plot(ax, title=PROTOCOLS[name].what)
            paths += [
                study.to_csv(folder / f"effects-{name}.csv"),
                study.to_json(folder / f"effects-{name}.json"),
                write_figure(folder / f"effects-{name}.png", figure),
            ]
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
    """Run protocols of the simulation study, all on the same true graphs and parameters.

    Parameters
    ----------
    names : sequence of str, optional
        Keys of :data:`PROTOCOLS`; by default all.
    n_sims, rng
        As for :func:`causal_effect_study`.
    time_limit : float, optional
        Seconds for all of them together.
    progress : callable, optional
        Called with a :class:`bowfree.Progress` after each simulation; `what` names the protocol.
    **options
        Other options of :func:`causal_effect_study`; those of a protocol come first.

    Returns
    -------
    ProtocolTable

    References
    ----------
    Section 4.1 of the paper.

    Examples
    --------
    >>> from bowfree.studies import compare_protocols
    >>> found = compare_protocols(["true-class"], n_sims=2, rng=1)
    >>> found.studies["true-class"].mean_auc
    1.0
    """
    wanted = list(PROTOCOLS) if names is None else list(names)
    unknown = [name for name in wanted if name not in PROTOCOLS]
    if unknown:
        raise BowfreeError(
            f"there is no protocol {unknown[0]!r}; choose from {', '.join(PROTOCOLS)}"
        )
    budget = Budget(time_limit=time_limit, progress=progress)
    studies: dict[str, EffectsStudy] = {}
    for name in wanted:
        if budget.expired and studies:
            break

        def tell(told: Progress, name: str = name) -> None:
            if progress is not None:
                progress(replace(told, what=f"{told.what} of {name}"))

        try:
            studies[name] = causal_effect_study(
                n_sims,
                **{**options, **PROTOCOLS[name].options},
                time_limit=budget.seconds_left,
                progress=tell,
                rng=rng,
            )
        except WorkInterrupted as stop:
            partial_table = ProtocolTable(studies | {name: stop.result}, complete=False)
            raise WorkInterrupted(partial_table) from stop
        except BowfreeError:
            if budget.expired and studies:
                break  # the time was up before the first simulation of this one
            raise
    whole = len(studies) == len(wanted) and all(study.complete for study in studies.values())
    return ProtocolTable(studies, whole)
