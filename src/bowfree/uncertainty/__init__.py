"""Reliability of a learned graph and of its effects.

- ``averaging`` averages effects and edges over graphs (:func:`bowfree.averaged_effects`),
  weighted by the ``posterior``; the result is in ``average_result``.
- ``mcmc`` samples graphs from the posterior (:func:`bowfree.structure_mcmc`); ``chain_segments``
  runs the chains, ``structure_samples`` has the samples and the convergence diagnostics.
- ``search_bootstrap`` repeats a search on resampled rows (:func:`bowfree.bootstrap`), ``selection``
  on halves of the rows (:func:`bowfree.stability_selection`) and on all folds but one
  (:func:`bowfree.choose_penalty`). ``repeated_searches`` is what they share.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
