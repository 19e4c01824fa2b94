"""Links in the manuals lead somewhere: relative ones to a file that is kept, an anchor to a heading of that page. The
site's index has every page once."""

import re
import subprocess
from functools import cache

import pytest
from markdown_it import MarkdownIt

from support.cache import REPO

INDEX = "docs/index.md"
# Pages that are for the repository alone.
NOT_ON_THE_SITE = {"docs/news/README.md", INDEX}


def kept(*patterns):
    """Paths of the repository that match, as text; a copy without git has its files."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *patterns],
                            cwd=REPO, capture_output=True, text=True, check=True).stdout
    return [path for path in listed.split("\0") if path and (REPO / path).exists()]


PAGES = [path for path in kept("*.md") if not re.match(r"docs/news/.*\.\w+\.md", path)]


def slugs(tokens):
    """The anchors of a page's headings, as GitHub and MyST make them."""
    found, count = set(), {}
    for heading, inline in zip(tokens, tokens[1:], strict=False):
        if heading.type != "heading_open":
            continue
        text = "".join(part.content for part in inline.children if part.type in ("text", "code_inline"))
        slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        seen = count[slug] = count.get(slug, -1) + 1
        found.add(f"{slug}-{seen}" if seen else slug)
    return found


def links(tokens):
    for token in tokens:
        for part in token.children or ():
            target = part.attrGet("href") or part.attrGet("src")
            if target and not re.match(r"[a-z]+:", target):
                yield target


@cache
def parsed(path):
    return MarkdownIt("commonmark").enable("table").parse(path.read_text())


def broken(path, text):
    """The links of a page that lead nowhere."""
    for target in links(MarkdownIt("commonmark").enable("table").parse(text)):
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        if name and not (there.exists() and there.is_relative_to(REPO)):
            yield target
        elif anchor and (there.suffix != ".md" or anchor not in slugs(parsed(there) if name else
                                                                      MarkdownIt("commonmark").parse(text))):
            yield target


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page):
    path = REPO / page
    assert not list(broken(path, path.read_text()))


def test_a_link_that_leads_nowhere_is_noticed():
    text = "## A `b`, c\n\n[a](README.md) [b](#a-b-c) [c](README.md#none) [d](none.md) [e](#none)\n![f](g.svg)\n"
    assert list(broken(REPO / "page.md", text)) == ["README.md#none", "none.md", "#none", "g.svg"]


def test_the_index_has_every_page_once():
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", (REPO / INDEX).read_text(), re.DOTALL)
    listed = [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]
    entries = [(REPO / "docs" / f"{line}.md").resolve() for line in listed]
    made = [path for path in entries if path.is_relative_to(REPO / "build")]
    pages = sorted(path for path in entries if path not in made)
    assert pages == sorted(REPO / page for page in PAGES if page not in NOT_ON_THE_SITE)
    assert [path.name for path in made] == ["commands.md", "registers.md"]
