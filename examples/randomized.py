"""Randomized variables
====================

Identify effects by the knowledge that some variables were randomized.
"""

import bowfree as bf

data = bf.datasets.load_demo()
randomized = bf.Knowledge(
    tiers=[["sun", "water", "pot"], ["leaves", "roots", "fruit", "sweetness"]],
    unconfounded=["sun", "water", "pot"],
)
for what, knowledge in {"data alone": None, "with knowledge": randomized}.items():
    result = bf.greedy_search(data, knowledge=knowledge, rng=0)
    bounds = bf.effect_bounds(result)
    effect = bounds.effect(of="sun", on="fruit")
    print(
        f"{what}: equivalent graphs {bounds.n_members}, "
        f"effect of sun on fruit between {effect.lower:.2f} and {effect.upper:.2f}"
    )
