"""Makes the runs of docs/gallery.md by the commands on that page.

python docs/site/gallery_page.py FOLDER [NAME…]    # all of them, or those named; a file that is there is made anew
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "gallery.md"


def commands() -> dict[str, list[str]]:
    """Returns the words of each command, by the name of the file that it writes."""
    text = PAGE.read_text(encoding="utf-8")
    return {name: line.split() for name, line in re.findall(r"\(gallery/(\w+)\.html\)\n\n```console\n\$ (.*)\n", text)}


def make(folder: Path, names: list[str] | None = None) -> None:
    """Runs the commands in a folder; raises if one does not succeed or leaves no file."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, words in commands().items():
        if names and name not in names:
            continue
        begin = time.monotonic()
        program, arguments = words[0], words[1:]
        if program == "python":
            line = [sys.executable, *(str(ROOT / word) for word in arguments)]
        else:
            line = [sys.executable, "-m", program, *arguments, "--force", "--quiet"]
        subprocess.run(line, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        page = folder / f"{name}.html"
        assert page.stat().st_mtime > time.time() - 3600, page
        size = page.stat().st_size / 1e6
        print(f"{page} ({size:.1f} MB, {time.monotonic() - begin:.0f} s): {' '.join(words)}", flush=True)


if __name__ == "__main__":
    make(Path(sys.argv[1]), sys.argv[2:])
