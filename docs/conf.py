"""Settings of Sphinx; `nox -s docs` builds the pages."""

import sys
from pathlib import Path

import bowfree

sys.path.insert(0, str(Path(__file__).parent))
import reference

reference.write()

project = "bowfree"
author = "The bowfree developers"
release = bowfree.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
# The scripts in examples/ are run, and shown with what they print.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
}
myst_enable_extensions = ["dollarmath"]
autosummary_generate = True
# Methods are listed on the page of their class, without a page of their own.
numpydoc_class_members_toctree = False
numpydoc_show_inherited_class_members = False
html_theme = "furo"
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["pictures.css"]
html_title = f"bowfree {release}"
exclude_patterns = ["_build"]
