"""Mixed graphs (section 2.1 of the paper).

``mixed_graph`` defines :class:`bowfree.MixedGraph`; ``edits``, ``structure``, ``paths``,
``separation``, ``identification`` and ``pag`` define its methods. ``text`` reads and writes graphs,
``names`` looks up nodes and edges, ``encodings`` converts between masks, bits and pair states, and
``metrics`` compares graphs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
