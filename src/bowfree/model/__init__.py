"""The linear Gaussian model of a graph (sections 2.2 and 2.3 of the paper).

Data come in by ``gate`` and become ``moments``: ``reading`` knows tables, ``row_treatment`` what to
do with rows, ``covariance`` what a matrix must be, and behind the moments stands a ``sample``:
complete rows, rows with gaps (``missing``, ``patterns``), ``ranks`` or categories (``ordinal``,
``bivariate_normal``). Several ``conditions``, with the targets of interventions, become
``joint_moments``, and their fit is a ``joint_fit``, its precision ``joint_variation``.

``linear_sem`` is a model with known parameters (``parameter_matrices``; ``closed_form`` finds them
from a covariance matrix of the model), ``fitting`` estimates them (``fiml`` where cells are
missing), ``fit_result`` is what comes out: each ``estimate`` with its ``inference``, in the
``parameter_table``, ``fit_indices``, the ``certificate`` of each district, and the ``fit_summary``.
How sure it is, ``variation`` tells, by normal theory or ``robust``. ``modification_indices`` says
which edges would improve it, ``cases`` what it says of single cases. ``scoring`` compares graphs,
``effect_tables`` lists matrices of effects by name.
"""
