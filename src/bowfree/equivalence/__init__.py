"""Equivalence of graphs (sections 2.4 and 3.3 of the paper).

``decision`` decides whether two graphs are equivalent, and explains why; ``targets`` has the
interventions under which. ``classes`` enumerates all graphs equivalent to one, exactly or by the
scores of data, and all classes on a few nodes; ``class_members`` stores them and ``class_summary``
counts the marks they share. ``equations`` lists and tests the constraints of a graph, ``comparison``
compares several graphs on data.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
