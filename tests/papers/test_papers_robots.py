"""Rows on the papers' own robots: HRP-2 walks [BK12, Sec. VI], Poppy puts a cup on a table [QO21, Sec. 6.1].

HRP-2's description has 100 N m for every joint of the legs, a round number; no published figures were found to put in
their place. So what the motion needs is looked at too: a limit above 75 N m would not be felt.
"""

from __future__ import annotations

import re

import pytest
import support

from equipoise.papers.report import figures_of
from equipoise.papers.rows import Figure, rows_named

pytestmark = [pytest.mark.slow, support.further]


def shown(row: str, robot: str) -> list[Figure]:
    """What `equipoise reproduce ROW --robot ROBOT` shows."""
    return figures_of(rows_named([row])[row].on_robot(support.load(robot)))


@pytest.mark.paper("B6")
def test_hrp2_walks_four_steps_by_the_papers_program():
    figures = shown("B6", "hrp2")
    assert [figure for figure in figures if not figure.good] == []
    (torques,) = [figure for figure in figures if "which are an assumption" in figure.what]
    assert float(re.search(r"(\d+) of 100 N m", torques.ours)[1]) < 75.0


@pytest.mark.paper("Q11")
def test_poppy_puts_a_cup_on_a_table():
    assert [figure for figure in shown("Q11", "poppy") if not figure.good] == []
