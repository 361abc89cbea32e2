"""Search spaces: the graphs that a search considers (section 3.2 of the paper).

``knowledge`` is background knowledge, ``search_space`` combines it with a graph class and limits,
and draws graphs uniformly from such a space. Searches, MCMC chains and
equivalence classes are restricted to their space.
"""

__all__: list[str] = []
