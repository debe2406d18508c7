"""The documentation: `make docs` builds it offline, with warnings as errors."""

import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "scripts")]

import doc_pages

import reluflow

doc_pages.write(HERE)  # what follows from the code: theorems, figures, errata, citations

project = "reluflow"
author = "The reluflow authors"
project_copyright = "The reluflow authors, MIT licence"
version = release = reluflow.__version__
language = "en-GB"

extensions = ["myst_nb", "sphinx.ext.autodoc", "mathml", "docstrings", "scenes"]
exclude_patterns = ["_build", "_generated", "**/.*"]
source_suffix = {".md": "myst-nb"}

# The notebooks are executed when they changed; PyTorch is optional.
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_excludepatterns = [] if importlib.util.find_spec("torch") else ["notebooks/pytorch.md"]
nb_merge_streams = True

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

autodoc_typehints = "none"  # signatures as they are written
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
python_display_short_literal_types = True

html_theme = "furo"
smartquotes = False  # primes are derivatives and transposes

html_title = "reluflow"
html_static_path = ["_static"]
html_extra_path = ["_generated/api.txt"]
html_css_files = ["reluflow.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2d7dd2", "color-brand-content": "#2d7dd2"},
    "dark_css_variables": {"color-brand-primary": "#6fb1f2", "color-brand-content": "#6fb1f2"},
}
