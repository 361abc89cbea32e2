"""Plots with matplotlib. Every function takes ``ax=`` and returns the Axes it drew on.

- :func:`graph`: a graph, with edge weights or with the marks of its equivalence class;
- :func:`scores`: scores along the runs of a search, against steps or time;
- :func:`effects`: a heat map of total effects or of their bounds over a class;
- :func:`class_summary`: frequencies of the marks of each edge in an equivalence class;
- :func:`design`: the expected information from each experiment;
- :func:`sensitivity`: the effect that remains under a hidden cause, as contours;
- :func:`bootstrap_edges`: frequencies of the edges in resampled data.

matplotlib comes with the extra ``plot`` and is imported when ``bowfree.plot`` is first used.
For one file with everything, see :mod:`bowfree.report`; for SVG without matplotlib,
:meth:`bowfree.MixedGraph.to_svg`.
"""

try:
    import matplotlib as _matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError(
        'bowfree.plot requires matplotlib: run `pip install "bowfree[plot]"`, or use graph.to_svg() '
        "and result.report(), which do not need it"
    ) from error

from bowfree.visualization.plot.charts import (
    bootstrap_edges,
    class_summary,
    design,
    scores,
    sensitivity,
)
from bowfree.visualization.plot.effect_map import effects
from bowfree.visualization.plot.graph_drawing import graph

__all__ = [
    "bootstrap_edges",
    "class_summary",
    "design",
    "effects",
    "graph",
    "scores",
    "sensitivity",
]
