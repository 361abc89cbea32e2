"""Which graphs no data can tell apart (sections 2.4 and 3.3 of the paper).

``decision`` answers it for two graphs and ``explanation`` says why, ``markov`` compares their
m-separations. ``classes`` finds all graphs equivalent to one, ``class_members`` keeps them and
``class_summary`` counts what they agree on; ``targets`` says under which interventions.
``empirical`` finds the graphs that given data cannot tell apart, ``constraints`` writes down the
equations behind it, ``comparison`` puts several graphs beside each other on data, and ``atlas``
lists all classes on a few nodes.
"""
