"""The graphs that are considered: a class, limits, knowledge (section 3.2 of the paper).

``knowledge`` is what is known beforehand, ``search_space`` puts it together with the class of
graphs and the limits, ``random_graphs`` draws uniformly from such a space. Searches, chains and
equivalence classes all keep to the space that they are given.
"""
