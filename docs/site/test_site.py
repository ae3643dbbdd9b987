"""The built site, opened from disk in a browser: `make docs` runs this after it has built site/."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SITE = ROOT / "site"
sys.path.insert(0, str(ROOT / "tests" / "show"))

from browser import Browser, wait_for  # noqa: E402

PAGES = sorted(
    path.relative_to(SITE)
    for path in SITE.rglob("*.html")
    if path.parent.name not in ("gallery", "assets")  # reports have tests of their own
)
WIDE, NARROW = 1400, 400  # px, widths of the window
LOADED = "document.readyState === 'complete'"
CUT = """[...document.querySelectorAll('.md-content pre > code')]
    .filter(code => code.offsetParent && code.scrollWidth > code.clientWidth + 1)
    .map(code => code.textContent.split('\\n').sort((a, b) => b.length - a.length)[0])"""
BLANK = "[...document.querySelectorAll('.md-content img')].filter(i => !i.naturalWidth).map(i => i.src.slice(0, 80))"


@pytest.fixture(scope="module")
def browser():
    with Browser(WIDE, 900) as opened:
        yield opened


def opened(browser: Browser, page: str | Path) -> Browser:
    """Shows a page from disk."""
    browser.open((SITE / page).as_uri())
    wait_for(lambda: browser.evaluate(f"location.protocol === 'file:' && {LOADED}"), f"the page {page}", 60)
    return browser


def from_elsewhere(browser: Browser) -> list[str]:
    """Returns the addresses that the page asked for beyond the disk."""
    return [url for url in browser.requests() if not url.startswith(("file:///", "data:", "blob:", "about:"))]


def width(browser: Browser, pixels: int) -> None:
    """Sets the width of the window."""
    size = dict(width=pixels, height=900, deviceScaleFactor=1, mobile=False)
    browser.call("Emulation.setDeviceMetricsOverride", **size)


@pytest.mark.parametrize(("word", "page"), [("squat", "api/walking.html"), ("subdifferential", None)])
def test_search_finds_a_word_from_disk(browser, word, page):
    opened(browser, "index.html")
    type_in = "const box = document.querySelector('.md-search__input'); box.focus()"
    browser.evaluate(f"(() => {{ {type_in}; }})()")
    browser.call("Input.insertText", text=word)
    found = "[...document.querySelectorAll('.md-search-result__link')].map(link => link.href)"
    wait_for(lambda: word in browser.evaluate("document.querySelector('.md-search__input').value"), "the word")
    none = "document.querySelector('.md-search-result__meta').textContent.startsWith('No matching')"
    wait_for(lambda: browser.evaluate(f"{none} || {found}.length > 0"), "an answer of the search", 30)
    links = browser.evaluate(found)
    assert (page is None) == (not links)
    if page:
        assert any(link.startswith((SITE / page).as_uri()) for link in links), links
    assert not from_elsewhere(browser)


def test_formulas_are_drawn(browser):
    opened(browser, "base-frames.html")
    wait_for(lambda: browser.evaluate("document.querySelectorAll('.arithmatex .katex').length > 0"), "a formula")
    browser.evaluate("document.fonts.ready.then(() => 1)")
    assert browser.evaluate("document.fonts.check('16px KaTeX_Main') && document.fonts.check('16px KaTeX_Math')")
    assert any("KaTeX_Main" in url for url in browser.requests())


def test_tutorials_show_outputs_and_pictures(browser):
    opened(browser, "tutorials/walking.html")
    assert browser.evaluate("document.querySelectorAll('.md-content .output pre').length") >= 2
    assert browser.evaluate("document.querySelectorAll('.md-content .output img').length") >= 2


def test_the_reference_shows_inherited_members(browser):
    opened(browser, "api/walking.html")
    for name in ("squat", "sway", "reach", "look"):
        shown = f"document.getElementById('equipoise.walking.standing.Standing.{name}')"
        assert browser.evaluate(f"!!{shown} && {shown}.offsetHeight > 0"), name


def test_pages_are_whole_at_both_widths_and_ask_no_other_host(browser):
    """No formula is left as its source or is wrong, no picture is missing, no code is cut where the window is wide."""
    assert len(PAGES) > 60
    faults = []
    for page in PAGES:
        width(browser, WIDE)
        opened(browser, page)
        faults += [f"{page}: cut at {WIDE} px: {line}" for line in browser.evaluate(CUT)]
        faults += [f"{page}: no picture: {source}" for source in browser.evaluate(BLANK)]
        faults += [f"{page}: asks {url}" for url in from_elsewhere(browser)]
        wrong = "[...document.querySelectorAll('.katex-error')].map(e => e.title)"
        faults += [f"{page}: formula: {text}" for text in browser.evaluate(wrong)]
        left = "[...document.querySelectorAll('.arithmatex')].filter(e => !e.querySelector('.katex')).length"
        if browser.evaluate(left):
            faults.append(f"{page}: a formula is not drawn")
        width(browser, NARROW)
        if browser.evaluate("document.documentElement.scrollWidth") > NARROW:
            faults.append(f"{page}: wider than {NARROW} px")
        faults += [f"{page}: console: {text}" for text in browser.complaints()]
    width(browser, WIDE)
    assert not faults, "\n".join(faults)
