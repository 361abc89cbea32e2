"""Pictures with matplotlib: every function takes ``ax=`` and returns the Axes it drew on.

- :func:`graph`: a graph, with edge weights or with the marks of its equivalence class;
- :func:`scores`: how the runs of a search climbed, against steps or time;
- :func:`roc`: true positives against false positives;
- :func:`effects`: a heat map of total effects or of their bounds over a class;
- :func:`class_summary`: which marks the edges have in an equivalence class;
- :func:`design`: how much each experiment would settle;
- :func:`bootstrap_edges`: how often the edges came back in resampled data.

matplotlib comes with the extra ``plot`` and is loaded when ``bowfree.visualization.plot`` is first asked for.
For one file with all of it, see :mod:`bowfree.visualization.report`; for SVG without matplotlib,
:meth:`bowfree.MixedGraph.to_svg`.
"""

try:
    import matplotlib as _matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError(
        'bowfree.visualization.plot needs matplotlib, which is not installed: run `pip install "bowfree[plot]"`, '
        "or use graph.to_svg() and result.report(), which need nothing"
    ) from error

from bowfree.visualization.plot.edge_shares import bootstrap_edges, class_summary
from bowfree.visualization.plot.effect_map import effects
from bowfree.visualization.plot.experiment_bars import design
from bowfree.visualization.plot.graph_picture import graph
from bowfree.visualization.plot.roc_curve import roc
from bowfree.visualization.plot.score_curves import scores

__all__ = ["bootstrap_edges", "class_summary", "design", "effects", "graph", "roc", "scores"]
