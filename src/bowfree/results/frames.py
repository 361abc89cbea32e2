"""Results as data frames, of whichever library the user works with.

Narwhals makes the frame; the library itself is loaded when a frame is asked for, and not before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bowfree.errors import BowfreeError
from bowfree.text_reading import short_repr

LIBRARIES = ("pandas", "polars", "pyarrow")


def data_frame(
    columns: Mapping[str, Any], backend: object = "pandas", *, option: str = "backend"
) -> Any:
    """Return a data frame of a library.

    Parameters
    ----------
    columns : mapping from str to sequence
        The columns, equally long.
    backend : {"pandas", "polars", "pyarrow"}
        The library.
    option : str
        What the user knows `backend` as, for the message.

    Raises
    ------
    BowfreeError
        A library that is not one of these, or not installed.

    Examples
    --------
    >>> from bowfree.results.frames import data_frame
    >>> data_frame({"of": ["x"], "on": ["y"], "estimate": [0.5]})
      of on  estimate
    0  x  y       0.5
    """
    import narwhals as nw

    if not isinstance(backend, str) or backend not in LIBRARIES:
        *others, last = map(repr, LIBRARIES)
        raise BowfreeError(f"{option}={short_repr(backend)}: choose {', '.join(others)} or {last}")
    try:
        return nw.from_dict(dict(columns), backend=backend).to_native()  # type: ignore[arg-type]
    except ModuleNotFoundError as error:
        raise BowfreeError(
            f"{option}={backend!r}, but {backend} is not installed: `pip install {backend}`, or "
            f"choose another of {', '.join(LIBRARIES)}"
        ) from error
