"""Numbers on the command line: ASCII digits, finite, within limits.

Python, and click with it, also take ``1_000``, the digits of other scripts and ``nan``, which is
within any limits.
"""

from __future__ import annotations

import math
from typing import Any

import click

from bowfree.text_reading import number, short_repr


class Whole(click.IntRange):
    """A whole number that fits into 64 bits."""

    name = "integer"

    def _describe_range(self) -> str:
        """Return what --help says of the limits; click's own answer to none is "x<=None"."""
        return "" if self.min is None and self.max is None else super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or fail in the words of the option."""
        value = _checked(self, value, param, ctx)
        result = super().convert(value, param, ctx)
        if abs(result) >= 2**63:
            self.fail(f"{short_repr(value)} is too large.", param, ctx)
        return result


class Real(click.FloatRange):
    """A finite number."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or fail in the words of the option."""
        value = _checked(self, value, param, ctx)
        result = super().convert(value, param, ctx)
        if not math.isfinite(result):
            self.fail(f"{short_repr(value)} is not a finite number.", param, ctx)
        return result


class Shrinkage(Real):
    """A number from 0 to 1, or the word auto."""

    def __init__(self) -> None:
        super().__init__(min=0, max=1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number or the word, or fail in the words of the option."""
        return value if value == "auto" else super().convert(value, param, ctx)


class Price(Real):
    """A penalty: a number of at least 0, or the word ebic."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number or the word, or fail in the words of the option."""
        return value if value == "ebic" else super().convert(value, param, ctx)


def _checked(
    kind: Whole | Real, value: Any, param: click.Parameter | None, ctx: click.Context | None
) -> Any:
    if isinstance(value, str):  # not a default
        try:
            number(value)
        except ValueError as error:
            kind.fail(f"{short_repr(value)} {error}.", param, ctx)
    return value
