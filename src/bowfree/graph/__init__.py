"""Mixed graphs and what can be asked of them (section 2.1 of the paper).

``mixed_graph`` holds the class and is the table of contents of the room: ``edits``, ``structure``,
``paths``, ``treks``, ``separation``, ``projection`` are its methods, one story per file. ``text``
writes graphs, ``parsing`` reads them, ``names`` understands how users name nodes and edges, and
``by_edge`` finds what a result says of one; ``bit_sets`` is what all of it stands on, and
``bit_stacks`` reads many graphs at once.
"""
