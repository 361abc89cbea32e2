"""The page: one module of JavaScript and one style sheet, the same for browsers and notebooks.

The module is made of the files in ``front/``, one after the other: a notebook takes a single text,
and nothing is ever fetched from elsewhere.
"""

from __future__ import annotations

from pathlib import Path

from bowfree.visualization.svg import curves_script

_FOLDER = Path(__file__).with_name("front")
_PARTS = (
    "parts", "bends", "notes", "picture", "canvas", "panels_see", "panels_do", "numbers", "frame",
    "menus", "callout", "beside", "errands", "theme", "workbench", "transports",
)  # fmt: skip


def module() -> str:
    """Return the module; it exports ``open`` for a page, and what anywidget renders."""
    return "\n".join([curves_script(), *(_read(f"{part}.js") for part in _PARTS)])


def style() -> str:
    """Return the style sheet."""
    return _read("style.css")


def page_files() -> dict[str, tuple[str, str]]:
    """Return the files of a page of its own: kind and text by name; "" is the page itself."""
    script, sheet = "text/javascript", "text/css"
    return {
        "": ("text/html", _read("page.html")),
        "start.js": (script, _read("start.js")),
        "workbench.js": (script, module()),
        "style.css": (sheet, style() + _read("page.css")),
    }


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
