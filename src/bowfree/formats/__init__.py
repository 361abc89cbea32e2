"""Graphs in the formats of other packages.

The format is always named, never guessed from the content:

==================  =====================================================================
``text``            ``x -> y <-> z``, the language of `bowfree.parse` and ``str(graph)``
``json``            bowfree's own, versioned
``tetrad``          ``Graph Nodes:`` and ``Graph Edges:`` with ``-->`` and ``<->``
``dagitty``         ``dag { x -> y y <-> z }``
``lavaan``          ``y ~ x``, ``y ~~ z``
``dot``             Graphviz, ``dir=both`` for bidirected edges
``caugi``           JSON of the R package caugi, edges ``-->`` and ``<->``
``ggm``             matrix, ``[i, j] = 1``: i -> j, 100 on both sides: i <-> j (also greedyBAPs)
``pcalg``           matrix ``amat.pag``, mark at the column: 2 arrowhead, 3 tail
``causal-learn``    matrix, mark at the row: 1 arrowhead, -1 tail
``pywhy``           matrix, ``[i, j] = 1``: i -> j, 20 on both sides: i <-> j
``lingam``          matrix, ``[i, j]``: effect of j on i, NaN on both sides: i <-> j
==================  =====================================================================

`read` and `write` convert text (matrices as CSV with names), `from_matrix` and `to_matrix` arrays;
`read_pag` reads partial ancestral graphs. Functions with options or for objects have names of
their own, such as `from_lavaan` and `to_networkx`. `write` also exports Mermaid and GraphML. Bad
input raises `bowfree.errors.ParseError` with line and column.

``text_formats`` has `read` and `write`, networkx, caugi, Mermaid and GraphML; ``matrices`` the
matrix formats; ``dot`` (with dagitty), ``lavaan`` and ``tetrad`` text formats.
``tokens`` and ``csv_text`` are shared by the readers.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
