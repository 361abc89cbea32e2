"""A hidden cause
==============

Compare a search with and without hidden causes.

In the greenhouse data, roots and fruit have a hidden common cause, the soil. A search over DAGs
must explain their correlation by arrows; a search over BAPs finds the hidden cause.
"""

import bowfree as bf

data = bf.datasets.load_demo()
truth = bf.datasets.demo_model()

for graph_class in ("dag", "bap"):
    # Half of the rows are reserved for the test of the fit.
    result = bf.greedy_search(data, graph_class=graph_class, holdout=0.5, rng=0)
    fit = result.fit()
    print(f"{graph_class}: {result.graph}")
    print(f"     score {result.score:.4f}, chi-square {fit.chi2:.1f} on {fit.df} df")
    bounds = bf.effect_bounds([result.graph], data)
    print(f"     effect of roots on fruit: {bounds.effect(of='roots', on='fruit').lower:+.2f}")

true_effect = truth.total_effects().effect(of="roots", on="fruit")
print(f"true effect of roots on fruit: {true_effect.estimate:+.2f}")
