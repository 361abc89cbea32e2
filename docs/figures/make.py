"""Take the pictures of the workbench: ``python docs/figures/make.py`` (needs Chromium)."""

import base64
import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import bowfree as bf
from app_serving import serving
from app_tab import Tab
from bowfree.app.saved import Origin
from bowfree.app.session import Session
from browser import find_browser

FOLDER = Path(__file__).parent


def picture(tab, server, panel, width, height, scale, *, dark=False):
    """Return a screenshot of a panel."""
    tab.visit(server, width=width, height=height, dark=dark)
    tab.open_panel(panel)
    if panel == "class":
        tab.until(tab.one("[data-field=member]"))
    size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
    tab.call("Emulation.setDeviceMetricsOverride", **size)
    data = tab.call("Page.captureScreenshot", format="png")["data"]
    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")


def main():
    session = Session(bf.datasets.load_demo(), origin=Origin(name="1000 plants"))
    for message in (
        {"do": "search", "seed": 0, "from_current": False, "average": True},
        {"do": "use", "which": 0},
        {"do": "arrange", "how": "rows"},
        {"do": "effect", "of": 1, "on": 4},
    ):
        session.answer(message)
        session.wait()
    with serving(session) as server, Tab(find_browser(), tempfile.mkdtemp()) as tab:
        wide = picture(tab, server, "effect", 1280, 800, 1.5)
        narrow = [picture(tab, server, "class", 410, 940, 1.5, dark=dark) for dark in (False, True)]
    both = Image.new("RGB", (sum(image.width for image in narrow), narrow[0].height))
    both.paste(narrow[0], (0, 0))
    both.paste(narrow[1], (narrow[0].width, 0))
    for image, name in ((wide, "workbench.png"), (both, "workbench-narrow.png")):
        image.quantize(128).save(FOLDER / name, optimize=True)


if __name__ == "__main__":
    main()
