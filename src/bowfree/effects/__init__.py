"""Causal effects (section 4.1 of the paper).

``bounds`` has the bounds of total effects over equivalence classes (:func:`bowfree.effect_bounds`),
``intervention`` the distribution under an intervention (:func:`bowfree.intervene`) and effects over
the waves of a panel, and
``experiment_design`` compares experiments (:func:`bowfree.design`). ``adjustment`` finds adjustment
sets and instruments, ``mediation`` path-specific effects, ``sensitivity`` that to hidden causes.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
