"""The site of the manuals (`make docs`): pages of docs/ and the READMEs beside the code, where they are."""

import re
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(\[[^\]\n]*\])\(([^)\s#:]+/?)\)")

project = "Interlock"
author = copyright = "the Interlock authors"
extensions = ["myst_parser", "sphinxcontrib.mermaid"]
root_doc = "docs/index"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**.md", "build/docs/*.md", "sim/**README.md",
                    "tests/**README.md", *(f"{folder}/**README.md" for folder in
                                            ("firmware", "hw", "kernel", "soc", "user"))]
exclude_patterns = [".venv", ".git", "build/cache", "build/results", "build/runs", "docs/news", "**/__pycache__"]
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]
suppress_warnings = ["misc.highlighting_failure", "myst.header"]
html_theme = "furo"
html_title = "Interlock"
html_copy_source = False


def folders_by_their_pages(app, name, source):
    """A link to a folder goes to its README; where it has none, only the words stay."""
    here = Path(app.env.doc2path(name)).parent

    def page(found):
        target = here / found[2]
        if not target.is_dir():
            return found[0]
        return f"{found[1]}({found[2].rstrip('/')}/README.md)" if (target / "README.md").is_file() else found[1][1:-1]

    source[0] = LINK.sub(page, source[0])


def setup(app):
    app.connect("source-read", folders_by_their_pages)
