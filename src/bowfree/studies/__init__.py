"""The studies of the paper, each a function that returns a result with a table and a figure.

- :func:`causal_effect_study`: section 4.1, figure "simulation" (``effects_study``);
- :func:`sachs_study`: section 4.2, figures "real" and "real2" (``sachs``);
- :func:`uniformity_study`: section 3.2, figure "uniform" (``uniformity``).

``runner`` runs simulations and writes files; ``demo`` is the example of ``bowfree demo``.
``bowfree study all --out results/`` runs all studies. Further studies are in ``benchmarks/``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
