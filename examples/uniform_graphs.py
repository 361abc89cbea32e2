"""Uniform random graphs
=====================

How often does the search find the true class, as a function of n?

A small version of section 4.1 of the paper; `bowfree study effects` runs the full one.
"""

import numpy as np

import bowfree as bf

rng = np.random.default_rng(1)
graphs = bf.random_bap(5, max_in_degree=2, size=6, rng=rng)
print("one of them:", graphs[0])
for n in (100, 1000, 10000):
    found = 0
    for graph in graphs:
        data = bf.random_sem(graph, rng=rng).sample(n, rng=rng)
        found += bf.equivalent(bf.greedy_search(data, restarts=4, rng=0).graph, graph)
    print(f"n = {n:>5}: true class found in {found} of {len(graphs)}")
