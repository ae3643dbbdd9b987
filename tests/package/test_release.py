"""What stands against the tag of a version."""

from __future__ import annotations

import pytest
from release import problems

GOOD = dict(version="1.2.3", status="", changelog="# Changelog\n\n## 1.2.3 (2031-02-03)\n", citation="version: 1.2.3\n")


def test_a_version_with_a_dated_section_and_a_clean_tree_can_be_tagged():
    assert problems(**GOOD) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": "1.2.3.dev0"}, "1.2.3.dev0 is no version to be published"),
        ({"status": " M README.md"}, "not committed"),
        ({"changelog": "## 1.2.3 (unreleased)\n"}, "no section '## 1.2.3 (date)'"),
        ({"changelog": "## 11.2.3 (2031-02-03)\n"}, "no section"),
        ({"citation": "version: 1.2.30\n"}, "not of version 1.2.3"),
    ],
)
def test_what_is_missing_is_told(change, words):
    assert words in "; ".join(problems(**GOOD | change))
