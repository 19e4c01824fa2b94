"""Makes one HTML file of a page: style, scripts, plotly.js and figures are inside, and the page may load nothing."""

import base64
import functools
import gzip
import json
from pathlib import Path

FOLDER = Path(__file__).parent
MEDIA_TYPES = {"svg": "image/svg+xml", "png": "image/png", "csv": "text/csv", "json": "application/json"}


def render(page):
    """The HTML text of a `Page`; the same page gives the same text with the same plotly and zlib."""
    has_plots = any(part.kind == "picture" for section in page.sections for part in section.parts)
    return _template().render(page=page, plotly=_plotly() if has_plots else "")


def data_uri(content, name):
    """A file's content as a data URI."""
    return f"data:{MEDIA_TYPES[name.rpartition('.')[2]]};base64,{base64.b64encode(content).decode()}"


def json_inside(value):
    """JSON that is safe inside a script element."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).replace("<", "\\u003c")


@functools.cache
def _template():
    import jinja2
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}
    environment.filters |= {"data_uri": data_uri, "json_inside": json_inside}
    environment.globals["file"] = lambda name: (FOLDER / name).read_text()
    return environment.get_template("page.html")


@functools.cache
def _plotly():
    """plotly.js, packed: a page of two megabytes instead of five. The page unpacks it."""
    import plotly
    source = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    return base64.b64encode(gzip.compress(source.read_bytes(), mtime=0)).decode()
