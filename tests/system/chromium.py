"""A headless Chromium, Debian's, driven by Playwright; it records a page's requests and errors."""

import contextlib
import shutil
import time

from playwright.sync_api import sync_playwright

PATIENCE_MS = 60_000        # on a loaded machine


@contextlib.contextmanager
def chromium():
    """A browser. Without its sandbox, which root in a container has no right to; it only opens our own files."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser, path, **options):
    """A page with the file at `path`; `page.asked` are the addresses it requested, `page.complaints` its errors."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}, **options).new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.asked, page.complaints = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda said: said.type == "error" and page.complaints.append(said.text))
    page.goto(path.as_uri())
    return page


def grid(page, title):
    """The table whose title begins with `title`."""
    return page.locator("details.grid").filter(has=page.locator(f"h3:text('{title}')")).first


def cells(table):
    """The rows of a table that are shown: lists of texts."""
    return table.evaluate("t => Array.from(t.querySelectorAll('tbody tr')).filter(r => !r.hidden)"
                          ".map(r => Array.from(r.cells, c => c.textContent))")


def heads(table):
    return table.evaluate("t => Array.from(t.querySelectorAll('th'), h => h.textContent.trim())")


def drawn(page, identity):
    """The interactive plot of a figure element, once it is there: plotly's own element."""
    element = page.locator(f"#{identity}")
    element.scroll_into_view_if_needed()
    plot = element.locator(".js-plotly-plot")
    plot.locator(".main-svg").first.wait_for()
    return plot


def until(holds):
    """Waits until `holds()`; from here, because the page's own rules forbid scripts that are made up as texts."""
    end = time.monotonic() + PATIENCE_MS / 1000
    while not holds():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.05)
