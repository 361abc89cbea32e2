"""Settings of Sphinx; `nox -s docs` builds the pages."""

import bowfree

project = "bowfree"
author = "The bowfree developers"
release = bowfree.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc"]
myst_enable_extensions = ["dollarmath"]
html_theme = "furo"
exclude_patterns = ["_build"]
