"""The page: one module of JavaScript and one style sheet, the same for browsers and notebooks.

The module is the concatenation of the files in ``front/``, since notebooks accept a single file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bowfree.visualization.svg import curves_script

_FOLDER = Path(__file__).with_name("front")
_PARTS = (
    "elements", "decorations", "graph_view", "canvas", "overview", "panels_analysis",
    "panel_effect", "panel_data", "panels_actions", "summary", "frame", "menus", "callout", "comparison", "jobs", "theme",
    "workbench", "transports",
)  # fmt: skip


def module() -> str:
    """Return the module, which exports ``open`` for browsers and ``render`` for anywidget."""
    return "\n".join([curves_script(), *(_read(f"{part}.js") for part in _PARTS)])


def style() -> str:
    """Return the style sheet."""
    return _read("style.css")


def page_files() -> dict[str, tuple[str, str]]:
    """Return type and text of the files of the page in a browser, by name; "" is the page."""
    script, sheet = "text/javascript", "text/css"
    return {
        "": ("text/html", _read("page.html")),
        "start.js": (script, _read("start.js")),
        "workbench.js": (script, module()),
        "style.css": (sheet, style() + _read("page.css")),
    }


def recorded_page(recording: Mapping[str, Any]) -> str:
    """Return the page as one file that answers messages from a recording, without a server."""
    text = json.dumps(recording, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        '<link rel="stylesheet" href="style.css">': f"<style>{style() + _read('page.css')}</style>",
        '<script type="module" src="start.js"></script>': (
            f'<script type="application/json">{text}</script>\n'
            f'<script type="module">{module()}\nopenRecorded(document);</script>'
        ),
    }
    page = _read("page.html")
    for element, content in parts.items():
        page = page.replace(element, content)
    return page


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
