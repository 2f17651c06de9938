"""How Sphinx makes the site of docs/, examples/ and the docstrings: `make docs`.

Nothing is loaded from the network, neither here nor by the pages: formulas are set by a copy of MathJax, diagrams are
drawn when the site is made.
"""

import logging
import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from benchmarks.results_page import write_page  # noqa: E402

import localsvm  # noqa: E402

project = "localsvm"
author = "The localsvm developers"
version = release = localsvm.__version__
copyright = "the localsvm developers, BSD-3-Clause"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.mermaid",
]
exclude_patterns = ["gallery/*.ipynb", "gallery/*.py"]
templates_path = ["_templates"]
# Pages that not every tree has keep their place in a list: a pattern may match nothing.
logging.getLogger("sphinx.sphinx.directives.other").addFilter(lambda record: "glob pattern" not in str(record.msg))

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
myst_fence_as_directive = ["mermaid"]

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

mermaid_output_format = "svg"
mermaid_cmd = str(Path(sys.executable).with_name("mermaidx"))
mermaid_params = ["--theme", "neutral"]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "gallery_order.by_teaching",
    "abort_on_example_error": True,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("localsvm",),
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": float("inf"),
}
# The same picture on every machine; examples say nothing that a reader of the page does not see.
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore", category=localsvm.GridEdgeWarning)
warnings.filterwarnings("error", category=localsvm.PrecisionWarning)

html_theme = "pydata_sphinx_theme"
html_title = "localsvm"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "localsvm", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"quickstart": [], "mathematics": [], "results": [], "from-*": []}


def skip_foreign(app, what, name, member, skip, options):
    """Leave out what estimators and errors inherit from other packages."""
    owner = getattr(member, "__objclass__", getattr(member, "fget", member))
    foreign = not str(getattr(owner, "__module__", "localsvm")).startswith("localsvm")
    return skip or foreign


def setup(app):
    """Write what is made of figures before pages are read."""
    app.connect("autodoc-skip-member", skip_foreign)
    write_page(HERE / "results.md")
