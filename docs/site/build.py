"""`make docs`: the site in site/, strict. Every public name is in the reference, every link leads somewhere, notebooks
run. `docs/site/test_site.py` then opens the site in a browser.

python docs/site/build.py [--quick]    # --quick: without executing notebooks and writing the gallery
"""

from __future__ import annotations

import html.parser
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SITE = ROOT / "site"
sys.path.insert(0, str(HERE))

import gallery_page  # noqa: E402
import hooks  # noqa: E402
import notebooks  # noqa: E402
import reference  # noqa: E402

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


def main(quick: bool) -> None:
    reference.write(ROOT / "docs" / "api")
    with tempfile.TemporaryDirectory() as folder:
        write_notebooks(Path(folder), quick)
        settings = {"NO_MKDOCS_2_WARNING": "1", hooks.EXECUTED: folder}
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--clean"]
        subprocess.run(command, cwd=ROOT, check=True, env=os.environ | settings)
        shutil.copytree(folder, SITE / "notebooks")
    (SITE / "404.html").unlink(missing_ok=True)  # its links are those of a server's root
    write_gallery(SITE / "gallery", quick)
    missing, broken = undocumented(), broken_links()
    assert not missing, f"not in the API reference: {', '.join(missing)}"
    assert not broken, "links that lead nowhere:\n" + "\n".join(broken)
    pages = list(SITE.rglob("*.html"))
    print(
        f"site/index.html: {len(pages)} pages, {len(TUTORIALS)} notebooks, {len(reference.public_names())} names, no "
        "broken link"
    )


def write_notebooks(folder: Path, quick: bool) -> None:
    """Writes each tutorial as an .ipynb file, with its outputs."""
    import nbformat

    for page in TUTORIALS:
        with tempfile.TemporaryDirectory() as work:
            book = notebooks.notebook(page) if quick else notebooks.executed(page, Path(work))
        nbformat.write(book, folder / f"{page.stem}.ipynb")


def write_gallery(folder: Path, quick: bool) -> None:
    """Writes runs as pages of their own: those of `make gallery` where they are there, else made now."""
    made = ROOT / "gallery"
    folder.mkdir(exist_ok=True)
    for name in gallery_page.commands():
        if quick:
            (folder / f"{name}.html").write_text("<p>made by make docs</p>")
        elif (made / f"{name}.html").exists():
            shutil.copy(made / f"{name}.html", folder)
        else:
            gallery_page.make(folder, [name])


# --- checks -----------------------------------------------------------------------------------------------------------


class _Page(html.parser.HTMLParser):
    """Anchors and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.anchors |= {str(value) for key, value in given.items() if key in ("id", "name") and value}
        for key in ("href", "src"):
            if given.get(key):
                self.links.append(str(given[key]))


def undocumented() -> list[str]:
    """Public names without a heading in the reference."""
    anchors: set[str] = set()
    for path in (SITE / "api").glob("*.html"):
        anchors |= _Page(path.read_text(encoding="utf-8")).anchors
    return [name for name in reference.public_names() if name not in anchors]


def broken_links() -> list[str]:
    """Links within the site to pages or places that are not there."""
    pages = {
        path: _Page(path.read_text(encoding="utf-8")) for path in SITE.rglob("*.html") if path.parent.name != "gallery"
    }
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or not (parts.path or parts.fragment):
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            anchor = urllib.parse.unquote(parts.fragment)
            known = pages.get(target)
            if not target.exists() or (
                anchor and known is not None and anchor not in known.anchors and anchor != "__search"
            ):
                broken.append(f"{path.relative_to(SITE)}: {link}")
    return broken


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
