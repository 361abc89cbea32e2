"""What the next experiment would tell; made by :func:`bowfree.design`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bowfree.equivalence.targets import Kind, said, target_set
from bowfree.errors import BowfreeError
from bowfree.results.display import MOST_ROWS, Table, TextDisplay, count
from bowfree.results.frames import data_frame
from bowfree.results.serialization import ToDict
from bowfree.text_reading import short_repr


@dataclass(frozen=True, repr=False)
class Experiment(TextDisplay, ToDict):
    """An experiment that could be done, and what it would leave open on average.

    Attributes
    ----------
    targets : tuple of str
        The nodes to intervene on.
    n_classes : float
        Into how many classes the graphs fall that cannot be told apart now.
    settled_ends : float
        Ends of edges about which all graphs of such a class agree, expected.
    members_left : float
        Graphs in such a class, expected.
    """

    targets: tuple[str, ...]
    n_classes: float
    settled_ends: float
    members_left: float

    def _headline(self) -> str:
        return (
            f"{said(self.targets)}: {_counted(self.n_classes, 'class', 'classes')}, "
            f"{_counted(self.settled_ends, 'end')} settled, "
            f"{_counted(self.members_left, 'member')} left"
        )


@dataclass(frozen=True, repr=False)
class Design(TextDisplay, ToDict):
    """Experiments side by side, the most telling first.

    Every member of the present class is taken to be the truth with the same probability; the
    result of an experiment is then one of the classes that it splits into, and the expectations are
    over these. After an average (:func:`bowfree.averaged_effects`) all numbers are weighted means
    over its classes.

    Attributes
    ----------
    names : tuple of str
        The variables.
    experiments : tuple of Experiment
        By expected number of settled ends, then by members left, then by number of targets.
    n_members : float
        Graphs that cannot be told apart now.
    settled_ends, n_ends : float
        Ends of edges on which they agree now, and all ends: two for each edge.
    targets : tuple of tuple of str
        The conditions there are, by their targets; ``((),)`` for one without.
    kind : {"perfect", "mechanism", "activity", "noise"}
        What the experiments would do to their targets.
    n_averaged : int
        Number of classes that the numbers are means over.
    complete : bool
        False when `limit` or `time_limit` left out members or experiments.
    """

    names: tuple[str, ...]
    experiments: tuple[Experiment, ...]
    n_members: float
    settled_ends: float
    n_ends: float
    targets: tuple[tuple[str, ...], ...]
    kind: Kind
    n_averaged: int
    complete: bool

    def __len__(self) -> int:
        return len(self.experiments)

    @property
    def best(self) -> Experiment:
        """The first of the experiments."""
        if not self.experiments:
            raise BowfreeError("no experiment was looked at in time: raise `time_limit`")
        return self.experiments[0]

    def experiment(self, *targets: str) -> Experiment:
        """Return what the experiment on these nodes would tell.

        Raises
        ------
        GraphError
            An unknown name.
        BowfreeError
            An experiment that is not among the candidates.

        Examples
        --------
        >>> import bowfree as bf
        >>> print(bf.design(bf.parse("x -> y -> z")).experiment("z"))
        z: 2 classes, 1.6 ends settled, 3.4 members left
        """
        wanted = target_set(targets, self.names)
        for experiment in self.experiments:
            if experiment.targets == wanted:
                return experiment
        raise BowfreeError(
            f"no experiment on {short_repr(wanted)} was looked at; name it among the `candidates` of "
            "design, or raise `max_targets`"
        )

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame with one row for each experiment.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        data frame
            Columns targets (as one text), n_targets, n_classes, settled_ends, members_left.
        """
        numbers = ("n_classes", "settled_ends", "members_left")
        return data_frame(
            {
                "targets": [said(e.targets) for e in self.experiments],
                "n_targets": [len(e.targets) for e in self.experiments],
                **{name: [getattr(e, name) for e in self.experiments] for name in numbers},
            },
            backend,
        )

    def _headline(self) -> str:
        first = f", most telling: {said(self.best.targets)}" if self.experiments else ""
        return f"{count(len(self), 'experiment')}{first}" + ", not complete" * (not self.complete)

    def _sections(self) -> Iterator[str | Table]:
        over = f", means over {self.n_averaged:,} classes" if self.n_averaged > 1 else ""
        yield (
            f"now: {_plain(self.n_members)} members, {_plain(self.settled_ends)} of "
            f"{_plain(self.n_ends)} ends settled{over}"
        )
        if not self.complete:
            yield "NOT COMPLETE: `limit` or `time_limit` left out members or experiments"
        if self.n_members == 1 and self.settled_ends == self.n_ends:
            yield "nothing is open: no experiment is needed to tell graphs apart"
        rows = [
            (said(e.targets), *map(_plain, (e.n_classes, e.settled_ends, e.members_left)))
            for e in self.experiments
        ]
        yield Table(
            (f"experiment ({self.kind})", "classes", "settled ends", "members left"),
            rows,
            most=MOST_ROWS,
            rest="more: to_frame() has all",
        )


def _counted(value: float, noun: str, plural: str = "") -> str:
    number = _plain(value)
    return f"{number} {noun if number == '1' else plural or noun + 's'}"


def _plain(value: float) -> str:
    """Return a whole number as such, others with two decimals, large ones with an exponent."""
    if value >= 1e9:
        return f"{value:.3g}"
    whole = round(value)
    if abs(value - whole) < 1e-9:
        return f"{whole:,}"
    return f"{value:,.2f}".rstrip("0").rstrip(".")
