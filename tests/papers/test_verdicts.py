"""The verdicts of `equipoise reproduce` can fail: every row notices deliberate mistakes in the code behind it."""

from __future__ import annotations

from collections import Counter

import pytest
from breakages_bk12 import BREAKAGES as BK12
from breakages_eb98 import BREAKAGES as EB98
from breakages_eth19 import BREAKAGES as ETH19
from breakages_qo21 import BREAKAGES as QO21
from breakages_tpn17 import BREAKAGES as TPN17
from breaking import changed_code, found, is_time, noticed, traced_anew

from equipoise.papers.report import figures_of
from equipoise.papers.rows import all_rows

BREAKAGES = [*BK12, *TPN17, *QO21, *ETH19, *EB98]
FAST = [one for one in BREAKAGES if one.fast]
SLOW = [one for one in BREAKAGES if not one.fast]
AT_LEAST = 3


@pytest.mark.parametrize("breakage", FAST, ids=str)
def test_the_row_notices(breakage):
    assert noticed(breakage) is not None


@pytest.mark.slow
@pytest.mark.parametrize("breakage", SLOW, ids=str)
def test_the_row_notices_all_others(breakage):
    assert noticed(breakage) is not None


@pytest.mark.slow
@pytest.mark.parametrize("row", sorted({one.row for one in BREAKAGES}))
def test_without_a_mistake_the_row_holds_the_same_way(row):
    """What the breakages show is due to them, not to the way they are run."""
    with traced_anew():
        assert [figure for figure in figures_of(all_rows()[row]) if not (figure.good or is_time(figure))] == []


def test_every_row_has_its_breakages():
    counts = Counter(one.row for one in BREAKAGES)
    assert {row: counts[row] for row in all_rows() if counts[row] < AT_LEAST} == {}
    assert set(counts) == set(all_rows())
    assert len({str(one) for one in BREAKAGES}) == len(BREAKAGES)


@pytest.mark.parametrize("breakage", BREAKAGES, ids=str)
def test_the_text_that_a_breakage_changes_is_there(breakage):
    """Refactored code takes its breakages along: this says which are to be said anew, without running a row."""
    assert changed_code(found(breakage), breakage) != found(breakage).__code__
