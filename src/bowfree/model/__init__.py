"""The linear Gaussian model of a graph (sections 2.2 and 2.3 of the paper).

Data come in by ``moments``. ``linear_sem`` is a model with known parameters, ``fitting`` estimates
them, ``fit_result`` is what comes out, with ``inference``, ``fit_indices`` and ``fit_summary``.
``modification_indices`` says which edges would improve it, ``cases`` what it says of single cases.
``scoring`` compares graphs, ``effect_tables`` lists matrices of effects by name.
"""
