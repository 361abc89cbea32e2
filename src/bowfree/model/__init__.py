"""The linear Gaussian model of a graph (sections 2.2 and 2.3 of the paper).

``linear_sem`` is a model with known parameters. ``fitting`` estimates them (``fiml`` with missing
values, ``joint_fit`` from several conditions) and scores graphs. ``fit_result`` is the fit,
``certificates`` its optimality, ``fit_summary`` its tables, ``inference`` its standard errors,
``fit_indices`` its tests, ``diagnostics`` its modification indices, predictions and residuals,
``resampling`` its bootstrap, ``effect_tables`` its total effects. ``context`` has the scoring rule,
and the data and settings that come with a graph.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
