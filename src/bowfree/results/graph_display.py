"""Results with a graph: shown with its picture in notebooks, written as HTML reports."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bowfree.results.display import TextDisplay
from bowfree.text_reading import replace_file
from bowfree.validation import check_path

if TYPE_CHECKING:
    from bowfree.effects.bounds import EffectBounds
    from bowfree.equivalence.class_members import EquivalenceClass
    from bowfree.graph.mixed_graph import MixedGraph
    from bowfree.uncertainty.average_result import AveragedEffects
    from bowfree.uncertainty.search_bootstrap import BootstrapResult
    from bowfree.uncertainty.selection import StablePairs


MOST_NODES = 40
"""Larger graphs are not drawn automatically, because the picture takes seconds."""


class GraphDisplay(TextDisplay):
    """Base of results with an attribute ``graph``, displayed with its picture in notebooks."""

    if TYPE_CHECKING:
        graph: Any  # a MixedGraph, as a field or as a property

    def _picture(self) -> str:
        graph: MixedGraph = self.graph
        return graph.to_svg()

    def _repr_html_(self) -> str:
        text = super()._repr_html_()
        return f"{self._picture()}\n{text}" if len(self.graph) <= MOST_NODES else text


class Reportable:
    """Base of results that can be written as an HTML report."""

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        data: Any = None,
        equivalence_class: EquivalenceClass | None = None,
        bounds: EffectBounds | None = None,
        average: AveragedEffects | None = None,
        bootstrap: BootstrapResult | None = None,
        stability: StablePairs | None = None,
        settings: Mapping[str, Any] | None = None,
        average_time_limit: float | None = 40.0,
        title: str = "Causal graph with hidden confounders",
        note: str = "",
    ) -> Path:
        """Write a report into one HTML file that needs no network.

        Parameters
        ----------
        path : str or path
            The file; an existing one is overwritten.
        data : array_like of shape (n, d) or data frame, optional
            The rows, for checks of normality and outliers; a result contains only their moments.
        equivalence_class, bounds, average, bootstrap, stability, settings, average_time_limit, \
title, note
            See :func:`bowfree.report.render`.

        Returns
        -------
        Path
            The file.
        """
        from bowfree.visualization.report import render

        target = Path(check_path("path", path))
        html = render(
            self,  # type: ignore[arg-type]  # a Fit or the result of a search
            data=data,
            equivalence_class=equivalence_class,
            bounds=bounds,
            average=average,
            bootstrap=bootstrap,
            stability=stability,
            settings=settings,
            average_time_limit=average_time_limit,
            title=title,
            note=note,
        )
        replace_file(target, html.encode())
        return target
