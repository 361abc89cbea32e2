"""Causal structure learning with hidden confounders, by bow-free acyclic path diagrams (BAPs).

The public names are listed in ``__init__.pyi`` beside this file. Each is imported when it is first
used, so that ``import bowfree`` is fast.
"""

import lazy_loader

try:
    from bowfree import _core as _core
except ImportError as error:
    raise ImportError(
        "bowfree's compiled core (bowfree._core) is missing: it is built when the package is "
        "installed. Run `pip install .` in the project's folder (a C++20 compiler is all it "
        "needs), and import bowfree from outside the source tree."
    ) from error

__version__ = "0.1.0"

__getattr__, _contents, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    # Public names only; internal modules appear in `globals` once they are loaded.
    return sorted({*_contents(), *(name for name in globals() if name.startswith("__"))})
