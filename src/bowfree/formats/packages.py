"""Packages of others, loaded when one of their objects is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bowfree.errors import BowfreeError


def load(module: str, package: str) -> Any:
    """Import a module, or say which package has to be installed for it.

    Examples
    --------
    >>> from bowfree.formats.packages import load
    >>> load("math", "python").pi > 3
    True
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise BowfreeError(
            f"{module} cannot be imported ({error}): `pip install {package}`"
        ) from error
