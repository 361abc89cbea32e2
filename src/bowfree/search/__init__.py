"""The search for the best-scoring graph (sections 3 and 3.1 of the paper).

``greedy`` is what a user calls: ``plan`` says which runs, ``conductor`` has them done,
``checkpoint`` keeps the finished ones in a file, ``result`` is what comes out. ``exhaustive``
scores every graph on up to five variables, ``edge_changes`` all graphs one edge away from one.
"""
