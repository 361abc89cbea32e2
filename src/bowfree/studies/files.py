"""The files of a study: tables for spreadsheets, numbers for programs, text for pages, figures.

Every study saves itself under the same rules: UTF-8, a line of heads above a table, JSON with one
blank of indentation and a newline at its end, and no figure left open. Each function returns the
path, so that a study lists what it wrote.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def write_csv(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write one line for each row; the heads are the names in the first.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bowfree.studies.files import write_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write_csv(pathlib.Path(folder, "auc.csv"), [{"d": 5, "auc": 0.8}])
    ...     print(file.read_text())
    d,auc
    5,0.8
    <BLANKLINE>
    """
    listed = list(rows)
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(listed[0]))
        writer.writeheader()
        writer.writerows(listed)
    return Path(path)


def write_json(path: str | Path, content: Any) -> Path:
    """Write plain lists, numbers and text."""
    return write_text(path, json.dumps(content, indent=1))


def write_text(path: str | Path, text: str) -> Path:
    """Write a text that ends with a newline."""
    Path(path).write_text(text + "\n", encoding="utf-8")
    return Path(path)


def write_figure(path: str | Path, figure: Any, *, dpi: int = 110) -> Path:
    """Write a figure of matplotlib, and close it."""
    import matplotlib.pyplot as plt

    figure.savefig(path, dpi=dpi)
    plt.close(figure)
    return Path(path)
