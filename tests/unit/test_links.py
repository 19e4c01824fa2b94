"""Links in the manuals have a target: relative ones a file in the repository, an anchor a heading of that page. The
site's index has every page once. The manuals stay short."""

import fnmatch
import os
import posixpath
import re
from functools import cache

import pytest
from markdown_it import MarkdownIt

from support.cache import REPO

INDEX = "docs/index.md"
MOST_WORDS = 39_800, 12_300     # of all manuals together: written, and generated (tables of results, registers)
MADE = re.compile(r"<!-- begin ([\w-]+):.*?<!-- end \1 -->|<!-- ([\w ]+): python -m hw.docs -->.*?<!-- end of \2 -->",
                  re.DOTALL)
NO_PROSE = re.compile(r"^```.*?^```|<!--.*?-->", re.DOTALL | re.MULTILINE)
# Pages that are only for the repository.
NOT_ON_THE_SITE = {"docs/news/README.md", INDEX}


def pages():
    """The manuals of this tree, by their paths in it."""
    for folder, below, names in os.walk(REPO):
        below[:] = [name for name in below if name not in ("build", "__pycache__") and not name.startswith(".")]
        yield from (os.path.relpath(os.path.join(folder, name), REPO) for name in names if name.endswith(".md"))


PAGES = sorted(path for path in pages() if not re.match(r"docs/news/.*\.\w+\.md", path))


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
    """The links of a page without a target."""
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
    entries = [posixpath.normpath(f"docs/{line}.md") for line in listed]
    made = [path for path in entries if path.startswith("build/")]
    assert made == ["build/docs/commands.md", "build/docs/parameters.md", "build/docs/registers.md"]
    for page in set(PAGES) - NOT_ON_THE_SITE:
        assert len([entry for entry in entries if fnmatch.fnmatchcase(page, entry)]) == 1, page
    for entry in set(entries) - set(made):
        assert any(fnmatch.fnmatchcase(page, entry) for page in PAGES), entry


def words(text):
    """How many words a page has: those with a letter, outside blocks of code and comments."""
    return sum(bool(re.search("[A-Za-z]", word)) for word in NO_PROSE.sub("", text).split())


def counted():
    """The words of all manuals except the changelog: written, generated."""
    texts = [(REPO / page).read_text() for page in PAGES if page != "CHANGELOG.md"]
    written = sum(words(MADE.sub("", text)) for text in texts)
    return written, sum(map(words, texts)) - written


def test_the_manuals_stay_short():
    for count, most in zip(counted(), MOST_WORDS, strict=True):
        assert count <= most, f"{count} words, more than {most}: say it shorter, or leave out what another page says"


def test_words_are_counted():
    text = "# Two words\n\n| a | 1 |\n```sh\nls -l\n```\n<!-- begin b: c -->\n\nmade 2.0 made\n<!-- end b -->\n"
    assert (words(text), words(MADE.sub("", text))) == (5, 3)
