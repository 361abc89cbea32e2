"""Execution and output of studies: simulations within a budget, tables and figures as files."""

from __future__ import annotations

import csv
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from bowfree.errors import TimeIsUp
from bowfree.parallel.budget import Budget
from bowfree.results.display import TextDisplay
from bowfree.results.rows import Row, data_frame
from bowfree.text_reading import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bowfree.search.result import SearchResult


def simulate(
    function: Callable[[Any, Budget], Any],
    tasks: Sequence[Any],
    budget: Budget,
    *,
    what: str,
    gather: Callable[[list[Any]], Any],
) -> Any:
    """Run the simulations of a study, and combine the results of those that finished in time.

    A simulation that is cut short by the time limit would have used another method, so it is
    dropped. `function` is called with a task and the budget, and `gather` makes the study from the
    list of results; after Ctrl-C, or if all workers are lost, from the results so far.
    """
    return budget.run(partial(_run_in_time, function, budget), tasks, what=what, gather=gather)


def processor_seconds(began: float, *searches: SearchResult) -> float:
    """Return the processor time since `began`, a ``time.thread_time()`` of this thread.

    The runs of the searches since then had threads of their own, and count with their elapsed times.
    """
    return time.thread_time() - began + math.fsum(run.seconds for s in searches for run in s.runs)


def _run_in_time(function: Callable[[Any, Budget], Any], budget: Budget, task: Any) -> Any:
    try:
        result = function(task, budget)
    except TimeIsUp:
        return None
    return None if budget.expired else result


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in lines)


class Study(TextDisplay):
    """Base of the results of studies: a table as data frame, text and files, and figures.

    A subclass has ``rows``, or ``records``, those of the data frame; ``table``, the results in
    Markdown; ``to_dict``; and ``plot`` or ``figures``.
    """

    _stem: ClassVar[str]  # of the names of files

    if TYPE_CHECKING:

        @property
        def rows(self) -> Sequence[Row]: ...
        def table(self) -> str: ...
        def to_dict(self) -> Any: ...
        def plot(self) -> Any: ...

    def records(self) -> list[dict[str, Any]]:
        """Return one record for each row."""
        return [row.to_dict() for row in self.rows]

    def figures(self) -> Mapping[str, Figure]:
        """Return the figures by the suffix of their file names; by default the one of `plot`."""
        return {"": self.plot().figure}

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the results as a data frame of "pandas", "polars" or "pyarrow"."""
        records = self.records()
        return data_frame({name: [row[name] for row in records] for name in records[0]}, backend)

    def save(self, folder: str | Path, stem: str | None = None) -> list[Path]:
        """Write CSV, JSON, Markdown and PNG files into a folder; return their paths.

        `stem` is the first part of their names.
        """
        files = []
        for name, create in self.contents(stem):
            files.append(Path(folder) / name)
            content = create()
            replace_file(files[-1], content if isinstance(content, bytes) else content.encode())
        return files

    def contents(self, stem: str | None = None) -> Iterator[tuple[str, Callable[[], str | bytes]]]:
        """Yield the names of the files, and functions that return their content."""
        stem = stem or self._stem

        def table() -> str:
            text, records = StringIO(), self.records()
            writer = csv.DictWriter(text, list(records[0]))
            writer.writeheader()
            writer.writerows(records)
            return text.getvalue()

        yield f"{stem}.csv", table
        yield f"{stem}.json", lambda: json.dumps(self.to_dict(), indent=1) + "\n"
        yield f"{stem}.md", lambda: self.table() + "\n"
        for suffix, figure in self.figures().items():
            yield f"{stem}{suffix}.png", partial(_png, figure)

    def _sections(self) -> Iterator[str]:
        yield self.table()


def _png(figure: Figure) -> bytes:
    import matplotlib.pyplot as plt

    file = BytesIO()
    figure.savefig(file, format="png", dpi=110)
    plt.close(figure)
    return file.getvalue()
