"""Checks that a version can be published, builds it into dist/, and tags it if asked: `make release [TAG=1]`.

    python tests/package/release.py [--tag]

`make package` has built wheel and sdist and tried both in clean environments before.
"""

from __future__ import annotations

import re
import subprocess
import sys

from newcomer import ROOT, built, check_contents

import equipoise


def problems(version: str, status: str, changelog: str, citation: str) -> list[str]:
    """What stands against tagging a version.

    Args:
        version: of the package.
        status: of `git status --porcelain`.
        changelog, citation: contents of CHANGELOG.md and CITATION.cff.
    """
    found = []
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        found.append(f"{version} is no version to be published: set __version__ in src/equipoise/__init__.py")
    if status:
        found.append("the tree has changes that are not committed")
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", changelog, re.MULTILINE):
        found.append(f"CHANGELOG.md has no section '## {version} (date)'")
    if f"version: {version}\n" not in citation:
        found.append(f"CITATION.cff is not of version {version}")
    return found


def main(tag: bool) -> int:
    """Builds into dist/ and tells what stands against a tag; 1 if one was asked for and could not be given."""
    folder, version = ROOT / "dist", equipoise.__version__
    for old in folder.glob("equipoise-*"):
        old.unlink()
    wheel, _ = built(folder)
    check_contents(wheel)
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CITATION.cff")]
    found = problems(version, git("status", "--porcelain"), *texts)
    for problem in found:
        print(f"not yet: {problem}")
    if tag and not found:
        git("tag", "--annotate", f"v{version}", "--message", f"Equipoise {version}")
        print(f"tagged v{version}; nothing was pushed or uploaded")
    return int(tag and bool(found))


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main("--tag" in sys.argv[1:]))
