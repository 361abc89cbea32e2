"""From data to moments: tables, covariance matrices and conditions.

:func:`bowfree.moments` and its options are in ``options``. ``frames`` reads tables in memory,
``streaming`` tables in pieces, ``conditions`` several samples with the targets of interventions;
``covariance`` validates. The result is ``moments``, or ``joint_moments`` for several conditions,
with a ``sample`` behind it: complete rows, rows with missing values (``missing_values``), ``ranks``
or ordered categories (``ordinal``). ``diagnostics`` checks the assumptions of the likelihood.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
