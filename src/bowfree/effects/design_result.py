"""Experiments compared by what they would reveal; computed by :func:`bowfree.design`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bowfree.equivalence.targets import target_names, target_set
from bowfree.errors import BowfreeError
from bowfree.parameters import Kind
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count
from bowfree.results.rows import Row, data_frame
from bowfree.results.serialization import ToDict
from bowfree.text_reading import short_repr


@dataclass(frozen=True, repr=False)
class Design(TextDisplay, ToDict):
    """Experiments, the most informative first.

    All members of the present class are assumed to be equally probable. An experiment splits the
    class into smaller ones, and its numbers are expectations over these. For an average
    (:func:`bowfree.averaged_effects`) all numbers are weighted means over its classes.

    Attributes
    ----------
    names : tuple of str
        The variables.
    experiments : tuple of Row
        The experiments, by decreasing expected number of resolved ends, then by the number of
        remaining members, then by the number of targets. Each has ``targets`` (the nodes intervened
        on), ``n_classes`` (the number of classes after the experiment), ``resolved_ends`` (the
        expected number of edge ends on which all remaining members agree) and ``members_left`` (the
        expected number of remaining members).
    n_members : float
        Number of members of the present class.
    resolved_ends, n_ends : float
        Number of edge ends on which the members agree now, and of all ends: two for each edge.
    targets : tuple of tuple of str
        The targets of the present conditions; ``((),)`` for one without intervention.
    kind : {"perfect", "mechanism", "activity", "noise"}
        What the experiments would do to their targets.
    n_averaged : int
        Number of classes that the numbers are means over.
    complete : bool
        False if `limit` or `time_limit` left out members or experiments.
    """

    names: tuple[str, ...]
    experiments: tuple[Row, ...]
    n_members: float
    resolved_ends: float
    n_ends: float
    targets: tuple[tuple[str, ...], ...]
    kind: Kind
    n_averaged: int
    complete: bool

    def __len__(self) -> int:
        return len(self.experiments)

    @property
    def best(self) -> Row:
        """The most informative experiment."""
        if not self.experiments:
            raise BowfreeError("time was up before the first experiment: raise `time_limit`")
        return self.experiments[0]

    def experiment(self, *targets: str) -> Row:
        """Return the experiment on these nodes.

        Raises
        ------
        GraphError
            If a name is not a node.
        BowfreeError
            If the experiment is not among the candidates.

        Examples
        --------
        >>> import bowfree as bf
        >>> bf.design(bf.parse("x -> y -> z")).experiment("z").n_classes
        2.0
        """
        wanted = target_set(targets, self.names)
        for experiment in self.experiments:
            if experiment.targets == wanted:
                return experiment
        raise BowfreeError(
            f"the experiment on {short_repr(wanted)} was not considered; add it to the "
            "`candidates` of design, or raise `max_targets`"
        )

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each experiment.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Library of the data frame.

        Returns
        -------
        data frame
            Columns targets (one string), n_targets, n_classes, resolved_ends, members_left.
        """
        numbers = ("n_classes", "resolved_ends", "members_left")
        return data_frame(
            {
                "targets": [target_names(row.targets) for row in self.experiments],
                "n_targets": [len(row.targets) for row in self.experiments],
                **{name: [getattr(row, name) for row in self.experiments] for name in numbers},
            },
            backend,
        )

    def _headline(self) -> str:
        first = f", best: {target_names(self.best.targets)}" if self.experiments else ""
        return f"{count(len(self), 'experiment')}{first}" + ", not complete" * (not self.complete)

    def _sections(self) -> Iterator[str | Table]:
        over = f", means over {self.n_averaged:,} classes" if self.n_averaged > 1 else ""
        yield (
            f"now: {_number(self.n_members)} members, {_number(self.resolved_ends)} of "
            f"{_number(self.n_ends)} ends of edges resolved{over}"
        )
        if not self.complete:
            yield "NOT COMPLETE: `limit` or `time_limit` left out members or experiments"
        if self.n_members == 1 and self.resolved_ends == self.n_ends:
            yield "the class has a single member: no experiment is needed"
        rows = [
            (
                target_names(row.targets),
                *map(_number, (row.n_classes, row.resolved_ends, row.members_left)),
            )
            for row in self.experiments
        ]
        yield Table(
            (f"experiment ({self.kind})", "classes", "resolved ends", "members left"),
            rows,
            most=MOST_ROWS,
            rest="more: see to_frame()",
        )


def _number(value: float) -> str:
    """Format integers as such, other numbers with two decimals, large ones with an exponent."""
    if value >= 1e9:
        return f"{value:.3g}"
    whole = round(value)
    if abs(value - whole) < 1e-9:
        return f"{whole:,}"
    return f"{value:,.2f}".rstrip("0").rstrip(".")
