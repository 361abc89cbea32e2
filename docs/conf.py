"""Configuration of Sphinx; `nox -s docs` builds the pages."""

import sys
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

import bowfree

sys.path.insert(0, str(Path(__file__).parent))
import demo

import reference

reference.write({"api.md": reference.api()})

project = "bowfree"
author = "The bowfree developers"
release = bowfree.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
# The scripts in examples/ are executed, and shown with their output.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,  # those pages load scripts from the network
}
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3  # for links such as [text](page.md#a-heading)
autosummary_generate = True
# Methods are listed on the page of their class.
numpydoc_class_members_toctree = False
numpydoc_show_inherited_class_members = False
html_math_renderer = "mathml"  # defined below
html_theme = "furo"
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["pictures.css"]
html_title = f"bowfree {release}"
exclude_patterns = ["_build"]


# docutils translates formulas to MathML, which browsers render without scripts, fonts or network.
# A formula that it cannot translate is a warning.
def _mathml(formula: nodes.math | nodes.math_block, *, as_block: bool) -> str:
    try:
        return latex2mathml.tex2mathml(formula.astext(), as_block=as_block)
    except MathError as error:
        message = "no MathML for the formula %r: %s"
        logging.getLogger(__name__).warning(message, formula.astext(), error, location=formula)
        return ""


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def _display(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(_mathml(node, as_block=True))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Add the renderer that `html_math_renderer` names, and the page that `index.md` embeds."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    app.connect("build-finished", lambda app, _: demo.write(app.outdir / "demo.html"))
