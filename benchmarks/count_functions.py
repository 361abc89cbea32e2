"""Count the modules and functions of the package that take part in an analysis.

    python benchmarks/count_functions.py

The demo data are searched, effects are averaged, and a report is rendered. Functions that run at
import, comprehensions and generator expressions do not count.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import bowfree as bf

PACKAGE = str(Path(bf.__file__).parent)


def called_by(function: Callable[[], Any]) -> tuple[Any, set[CodeType]]:
    """Return the result of a function, and the functions of the package that it called."""
    found: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name[0] != "<":
            found.add(code)

    sys.setprofile(note)
    try:
        return function(), found
    finally:
        sys.setprofile(None)


def main() -> None:
    data = bf.datasets.load_demo()
    print("| step | modules | functions |\n|---|---|---|")
    result: Any = None
    steps: dict[str, Callable[[], Any]] = {
        "greedy_search": lambda: bf.greedy_search(data, rng=1),
        "averaged_effects": lambda: bf.averaged_effects(result, rng=1),
        "report.render": lambda: bf.report.render(result),
    }
    for name, step in steps.items():
        step()  # imports, and caches
        found, functions = called_by(step)
        result = result or found
        modules = {code.co_filename for code in functions}
        print(f"| {name} | {len(modules)} | {len(functions)} |")


if __name__ == "__main__":
    main()
