"""From printed covariances
========================

Search with a covariance matrix and n only, as papers print them.
"""

import numpy as np

import bowfree as bf

# A printed correlation matrix (invented, of 300 pupils), rounded to two digits.
names = ["home", "effort", "reading", "maths"]
R = np.array(
    [
        [1.00, 0.30, 0.45, 0.14],
        [0.30, 1.00, 0.35, 0.45],
        [0.45, 0.35, 1.00, 0.41],
        [0.14, 0.45, 0.41, 1.00],
    ]
)
cov = dict(zip(names, R.T, strict=True))

# With four variables every graph can be scored, so the best one is known.
every = bf.exhaustive_search(cov=cov, n=300)
result = bf.greedy_search(cov=cov, n=300, rng=0)
print("best of all graphs:  ", every.graph, f"(score {every.score:.5f})")
print("found by the search: ", result.graph, f"(score {result.score:.5f})")

print("\nmarks that all equivalent graphs share:")
print(bf.equivalence_class(result).summary())
print()
print(bf.effect_bounds(result))
