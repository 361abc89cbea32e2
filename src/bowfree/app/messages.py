"""What a page says to a session: one JSON object, whose every field is checked before it is used.

``{"do": "draw", "a": 0, "mark": "->", "b": 3}``: variables are said by their place among the names,
so that a name never has to be quoted on the way. A field that is missing, of another kind or out of
range ends in a sentence, as does one that nobody knows. :mod:`bowfree.app.session` has the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bowfree.errors import BowfreeError
from bowfree.text_reading import short_repr
from bowfree.validation import as_float, is_number

LONGEST = 4_000_000
"""Characters of the longest text that a page may send: a saved session, or a graph."""


@dataclass(frozen=True)
class Message:
    """The fields of one message; each method reads one of them, or says what is wrong with it."""

    content: Mapping[str, Any]
    names: tuple[str, ...]

    def node(self, field: str) -> str:
        """Return the variable whose place is in this field."""
        return self.names[self.whole(field, 0, len(self.names) - 1)]

    def nodes(self, field: str) -> tuple[str, ...]:
        """Return the variables whose places are listed in this field."""
        places = self._get(field)
        if not isinstance(places, list):
            raise self._wrong(field, "a list of variables")
        return tuple(Message({field: place}, self.names).node(field) for place in places)

    def whole(self, field: str, least: int, most: int) -> int:
        """Return a whole number between two others."""
        value = self._get(field)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._wrong(field, f"a whole number from {least} to {most}")
        return value

    def real(self, field: str, least: float, most: float) -> float:
        """Return a number between two others."""
        value = self._get(field)
        if not is_number(value) or not least <= as_float(value) <= most:
            raise self._wrong(field, f"a number from {least:g} to {most:g}")
        return float(value)

    def one_of(self, field: str, choices: Sequence[str]) -> str:
        """Return one of a few words."""
        value = self._get(field)
        if not isinstance(value, str) or value not in choices:
            raise self._wrong(field, f"one of {', '.join(repr(choice) for choice in choices)}")
        return value

    def yes(self, field: str) -> bool:
        """Return true or false."""
        value = self._get(field)
        if not isinstance(value, bool):
            raise self._wrong(field, "true or false")
        return value

    def text(self, field: str) -> str:
        """Return a text of no more than `LONGEST` characters."""
        value = self._get(field)
        if not isinstance(value, str) or len(value) > LONGEST:
            raise self._wrong(field, f"a text of at most {LONGEST:,} characters")
        return value

    def has(self, field: str) -> bool:
        """Tell whether the field was given, and is not null."""
        return self.content.get(field) is not None

    def _get(self, field: str) -> Any:
        return self.content.get(field)

    def _wrong(self, field: str, wanted: str) -> BowfreeError:
        return BowfreeError(f"{field} = {short_repr(self.content.get(field))}: give {wanted}")
