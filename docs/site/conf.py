# SPDX-License-Identifier: Apache-2.0
"""Settings of the documentation site, for Sphinx. tools/make_docs gathers the pages and calls it."""

import os
import re
from pathlib import Path

from pygments.lexers import CppLexer

ROOT = Path(os.environ["CASYNC_ROOT"])

project = "CaSync"
copyright = "the authors of CaSync, Apache-2.0"
version = release = os.environ["CASYNC_VERSION"]

extensions = ["myst_parser", "breathe", "autoapi.extension", "sphinx_copybutton"]
html_theme = "furo"
html_title = f"CaSync {release}"
html_show_sphinx = False
html_theme_options = {"light_css_variables": {"color-brand-primary": "#1d4ed8", "color-brand-content": "#1d4ed8"}}
exclude_patterns = ["_build"]

# Pages are written for readers of the repository, too: their anchors are those of GitHub, code has no language.
myst_heading_anchors = 4
highlight_language = "none"
copybutton_exclude = ".linenos, .gp, .go"

# Read from the sources, without an import: the page needs neither the library nor a framework.
autoapi_dirs = [str(ROOT / "plugins/python/casync")]
autoapi_generate_api_docs = False
autoapi_add_toctree_entry = False
autodoc_typehints = "signature"
suppress_warnings = [
    "autoapi.python_import_resolution",  # of frameworks, which are not installed here
    "duplicate_declaration.cpp",  # a namespace, of each header that opens it
    "ref.python",  # `Session` in a signature is the one of its module, and others have the same name
]

breathe_projects = {"casync": os.environ["CASYNC_DOXYGEN_XML"]}
breathe_default_project = "casync"
breathe_domain_by_extension = {"h": "cpp"}
breathe_domain_by_file_pattern = {"*/casync.h": "c"}


def as_literal(match):
    """A literal of reStructuredText, which a letter must not follow directly."""
    return f"``{match[1]}``" + (rf"\ {match[2]}" if match[2] else "")


def code_blocks(app, what, name, obj, options, lines):
    """Docstrings have code in single backquotes, and indented below a line that ends with a colon."""
    for at, line in enumerate(lines):
        lines[at] = re.sub(r"(?<![`:])`([^`]+)`(?!`)(\w?)", as_literal, line)
        followed = at + 2 < len(lines) and not lines[at + 1].strip() and lines[at + 2].startswith("    ")
        if line.endswith(":") and followed:
            lines[at] += ":"


def setup(app):
    app.add_lexer("cll", CppLexer)  # CompLL looks like C++
    app.connect("autodoc-process-docstring", code_blocks)
