"""Drawings of graphs and results: SVG, matplotlib plots, and the HTML report.

``layout`` places the nodes, ``routing`` draws the edges and places their labels, ``svg`` writes
drawings; the app uses them as well. ``plot`` (:mod:`bowfree.plot`) draws with matplotlib, and
``report`` (:mod:`bowfree.report`) writes a page in one file, with ``score_charts`` of searches.
``warnings`` are shared by the report, the command line and the app.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
