"""Which graphs no data can tell apart (sections 2.4 and 3.3 of the paper).

``decision`` answers it for two graphs, ``classes`` finds all graphs equivalent to one, ``targets``
says under which interventions, ``empirical`` finds those that given data cannot tell apart,
``constraints`` writes down the equations behind it, ``comparison`` puts several graphs beside each
other on data, and ``atlas`` lists all classes on a few nodes.
"""
