"""What can be promised from where a robot starts: barriers by the exact condition of Lemma 4.1, joints by viability.

Nothing is refused. From a start outside of the theory everything is brought back in; what is lost is the promise that
it never was outside, and the controller says so at its first step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..constraints.constraint import Start
from ..constraints.outside import NearbyRows, OutsideRows
from .layout import Layout
from .settings import Settings

Array = np.ndarray
DEPENDENT = 1e-5  # singular value of contact rows of unit length below which they depend on each other


def not_promised(
    settings: Settings,
    data: Mapping[str, Array],
    state: tuple[Array, Array],
    outside: Mapping[str, NearbyRows],
    makers: Mapping[str, OutsideRows],
) -> Iterator[tuple[str, str]]:
    """(label, sentence) for each row of a constraint that does not admit the present state.

    Args:
        settings: of the controller.
        data: what the kernel wrote.
        state: (q, v).
        outside: rows that were made outside of the kernel, by constraint.
        makers: what made them.
    """
    layout, none = settings.layout, np.zeros(0)
    for c in layout.items.constraints:
        at = layout.margins.get(c.label, slice(0, 0))
        names, margins, rates = c.row_names(layout.context), data.get("margins", none)[at], data.get("rates", none)[at]
        if c.label in outside:
            seen = outside[c.label]
            names, margins, rates = list(makers[c.label].names), seen.margins, seen.rates
        for line in c.start_report(Start(layout.context, *state, names, margins, rates, settings.numbers(c.label))):
            yield c.label, line
        for line in makers[c.label].doubts if c.label in makers else ():
            yield c.label, line


def dependent_contacts(layout: Layout, E: Array, contacts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(label, sentence) of contacts whose rows follow from those before them, as with ankles that cannot roll."""
    rows, before = np.zeros((0, layout.unknowns)), 0
    for label in contacts:
        rows = np.vstack((rows, E[layout.equality_rows[label]]))
        sizes = np.linalg.svd(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300), compute_uv=False)
        missing = int(np.sum(sizes < DEPENDENT))
        if missing > before:
            yield (
                label,
                f"{missing - before} of the rows of contact {label} depend on other contacts: they cannot move apart "
                "there",
            )
        before = missing
