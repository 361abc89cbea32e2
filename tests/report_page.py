"""Data and graph of the demo, and a parser of report pages."""

from html.parser import HTMLParser

import bowfree as bf

#   sun ----> leaves <---- water
#               |
#               v
#   pot --> roots <-> fruit --> sweetness
DATA = bf.datasets.load_demo()
GRAPH = bf.datasets.demo_model().graph

VOID = {"meta", "input", "path", "rect", "circle", "line", "polyline", "br"}


class Page(HTMLParser):
    """Parse a page with balanced elements; keep tables, texts and attributes."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.ids = [], [], []
        self.tables, self.table, self.cell = {}, None, None
        self.scripts, self.text = [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.elements.append((tag, given))
        if "id" in given:
            self.ids.append(given["id"])
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.table = self.tables.setdefault(given.get("id", len(self.tables)), [])
        elif tag == "tr" and self.table is not None:
            self.table.append([])
        elif tag in ("td", "th") and self.table is not None:
            self.cell = [given.get("data-value"), ""]
            self.table[-1].append(self.cell)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"
        if tag == "table":
            self.table = None
        elif tag in ("td", "th"):
            self.cell = None

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        else:
            self.text.append(data)
        if self.cell is not None:
            self.cell[1] += data

    def rows(self, name):
        """Return the rows of a table without its heading: lists of (value or None, text)."""
        return [[tuple(cell) for cell in row] for row in self.tables[f"table-{name}"][1:]]
