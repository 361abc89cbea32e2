"""Pictures of graphs and results: layout, SVG, matplotlib plots and the HTML report."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["plot", "report"])
