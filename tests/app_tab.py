"""A browser that operates the workbench, in a page or in a notebook."""

import json
import time

from browser import Browser

BUTTON = """(root, text) =>
  [...root.querySelectorAll('.bf-workbench button, .bf-workbench summary')]
    .find((b) => b.checkVisibility() && b.textContent.trim() === text)"""
MIDDLE = """(e) => { e.scrollIntoView({block: "nearest", inline: "nearest", behavior: "instant"});
  const r = (e.querySelector("rect") || e).getBoundingClientRect();
  return [(r.left + r.right) / 2, (r.top + r.bottom) / 2]; }"""


class Tab(Browser):
    """A browser that draws, clicks and waits for results."""

    names = ()  # of the variables, in the order of their boxes
    patience = 30  # seconds to wait for anything
    root = "document"  # the tree of the workbench: notebooks may have one for each widget

    def visit(self, server, **size):
        self.open(server.address, **size)
        self.until("document.querySelector('.box')")

    def one(self, selector):
        """Return an expression for the first element that a selector finds."""
        return f"{self.root}.querySelector({json.dumps(selector)})"

    def each(self, selector):
        """Return an expression for all elements that a selector finds."""
        return f"[...{self.root}.querySelectorAll({json.dumps(selector)})]"

    def until(self, expression, seconds=None):
        """Wait until an expression is true."""
        end = time.monotonic() + (seconds or self.patience)
        while not self.evaluate(f"Boolean({expression})"):
            assert time.monotonic() < end, f"{expression} did not come true; {self.errors[-5:]}"
            time.sleep(0.05)

    def until_written(self, *files):
        """Wait until these files exist and are not empty."""
        end = time.monotonic() + self.patience
        while not all(file.exists() and file.stat().st_size for file in files):
            assert time.monotonic() < end, files
            time.sleep(0.1)

    def until_visible(self, selector):
        self.until(f"!{self.one(selector)}.hidden")

    def count(self, selector):
        """Return the number of elements that a selector finds."""
        return self.evaluate(f"{self.each(selector)}.length")

    def open_panel(self, name):
        self.evaluate(f"{self.one(f'[data-panel={name}]')}.click()")

    def text(self, selector):
        return self.evaluate(f"{self.one(selector)}.innerText")

    def button(self, text):
        """Return an expression for the button with this text."""
        return f"({BUTTON})({self.root}, {json.dumps(text)})"

    def press_button(self, text):
        """Click on the button with this text."""
        self.until(self.button(text))
        self.click_on(self.button(text))

    def click_on(self, element):
        self.click(*self.evaluate(f"({MIDDLE})({element})"))

    def click(self, x, y):
        for kind in ("Moved", "Pressed", "Released"):
            self.mouse(kind, x, y)

    def place(self, name):
        """Return the middle of a variable's box in the window."""
        box = f"{self.each('.current .box')}[{self.names.index(name)}]"
        return self.evaluate(f"({MIDDLE})({box})")

    def drag(self, a, b):
        self.place(b)  # scrolls until both are visible
        (x, y), (u, v) = self.place(a), self.place(b)
        self.mouse("Moved", x, y)
        self.mouse("Pressed", x, y)
        self.mouse("Dragged", (x + u) / 2, (y + v) / 2)
        self.mouse("Dragged", u, v)
        self.mouse("Released", u, v)

    def edges(self):
        """Return the edges of the current graph, from their accessible names."""
        labels = self.evaluate(
            f"{self.each('.current .edge')}.map(e => e.getAttribute('aria-label'))"
        )
        return [label.split(",")[0] for label in labels]

    def until_edges(self, *edges):
        end = time.monotonic() + self.patience
        while sorted(self.edges()) != sorted(edges):
            assert time.monotonic() < end, (self.edges(), edges)
            time.sleep(0.05)
