"""Methods that lead upstairs: ``result.report("out.html")``, ``graph.to_svg()``.

Imports in this package point one way, from the rooms above to those below (CONTRIBUTING has the
plan of the house). A graph or a result is still the natural place to ask for its picture, its
equivalence class or its report, all of which are made further up. Such methods stand here and
nowhere else: one line each, the import inside, so that nothing from above is loaded before it is
asked for.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bowfree.data.moments import Moments
    from bowfree.equivalence.class_members import EquivalenceClass
    from bowfree.model.fit_result import Fit
    from bowfree.uncertainty.average_result import AveragedEffects


class ReportShortcut:
    """What a fit offers from upstairs."""

    def report(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write all about the result into one HTML file that needs no network.

        Parameters
        ----------
        path : str or path
            The file; one that exists is overwritten.
        **options
            Those of :func:`bowfree.visualization.report.render`; above all ``data=``, the raw data, for the
            checks of normality and outliers.

        Returns
        -------
        Path
            The file.
        """
        from bowfree.visualization.report import write

        return write(path, self, **options)  # type: ignore[arg-type]  # a Fit or a search's result


class FoundShortcuts(ReportShortcut):
    """What the result of a search offers from upstairs: it has a graph, moments and a space."""

    moments: Moments

    @property
    def learned_from(self) -> Moments:
        """The data that the graph was learned from."""
        return self.moments

    def _context(self) -> Any:
        from bowfree.model.context import Context

        holdout = getattr(self, "holdout", None)
        return Context(self.graph, self.moments, holdout, self.space, self.rule, learned=True)  # type: ignore[attr-defined]

    def fit(self, *, holdout: Any = None, **options: Any) -> Fit:
        """Fit the best graph.

        Parameters
        ----------
        holdout : array_like of shape (n, d), data frame or Moments, optional
            Rows that the search has not seen. By default those that it put aside; without any, the
            rows of the search, which warns.
        **options
            Those of :func:`bowfree.fit`.
        """
        from bowfree.model.fitting import fit

        return fit(self, holdout, **options)  # type: ignore[arg-type]

    def equivalence_class(self, **options: Any) -> EquivalenceClass:
        """Return the graphs of the search space that no data can tell from the best one.

        Parameters
        ----------
        **options
            Those of :func:`bowfree.equivalence_class`.
        """
        from bowfree.equivalence.classes import equivalence_class

        return equivalence_class(self, **options)  # type: ignore[arg-type]

    def averaged_effects(self, **options: Any) -> AveragedEffects:
        """Return effects and edges with their probabilities, over all graphs left probable.

        Parameters
        ----------
        **options
            Those of :func:`bowfree.averaged_effects`.
        """
        from bowfree.uncertainty.averaging import averaged_effects

        return averaged_effects(self, **options)  # type: ignore[arg-type]
