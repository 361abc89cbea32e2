"""The search for the best-scoring graph (sections 3 and 3.1 of the paper).

:func:`bowfree.greedy_search` is in ``greedy``. ``plan`` decides which runs a search consists of,
``scheduler`` executes them and saves finished ones, ``targets`` also searches for the targets of
interventions, and ``result`` has the result with its reliability. ``exact`` proves that
a graph is the best of graphs with small districts, ``exhaustive`` scores every graph on up to five
variables, ``neighbors`` all graphs that differ from a given one in one edge.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
