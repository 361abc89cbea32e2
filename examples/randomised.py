"""What was randomised
===================

How knowledge of what was randomised settles effects that data alone cannot.
"""

import bowfree as bf

data = bf.datasets.load_demo()
randomised = bf.Knowledge(
    tiers=[["sun", "water", "pot"], ["leaves", "roots", "fruit", "sweetness"]],
    unconfounded=["sun", "water", "pot"],
)
for what, knowledge in {"data alone": None, "with knowledge": randomised}.items():
    result = bf.greedy_search(data, knowledge=knowledge, rng=0)
    bounds = bf.effect_bounds(result)
    i, j = bounds.names.index("fruit"), bounds.names.index("sun")
    print(
        f"{what}: equivalent graphs {bounds.n_members}, "
        f"effect of sun on fruit between {bounds.lower[i, j]:.2f} and {bounds.upper[i, j]:.2f}"
    )
