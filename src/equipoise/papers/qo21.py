"""[QO21] Thesis: second-order vector field inequalities, dual-quaternion dynamics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .qo21_algebra import algebra, distances_of_primitives
from .qo21_blow import pictures as blow_pictures
from .qo21_collision import pictures as collision_pictures
from .qo21_collision import vector_field_inequalities
from .qo21_contacts import multi_contact_figures
from .qo21_contacts import pictures as contact_pictures
from .qo21_control import cones, moving_obstacle_figures, self_collision, task_control
from .qo21_cooperation import cooperation_figures
from .qo21_cup import cup_figures
from .qo21_dynamics import added_constraints, four_principles, support_polygon_area
from .qo21_models import engine_figures, toolbox_figures
from .qo21_times import time_figures
from .rows import Figure, Row


def inequalities() -> Iterator[Figure]:
    """Lemma 4.1, the guarantee between samples, the three cases of Sec. 4.1; and moving obstacles in the controller."""
    yield from vector_field_inequalities()
    yield from moving_obstacle_figures()


def experiments() -> Iterator[Figure]:
    """Sec. 6.1 and 6.3; those of Sec. 4.1 are in Q4, those of Sec. 6.2 in Q8."""
    yield from cup_figures()
    yield from cooperation_figures()
    yield from toolbox_figures()
    yield from engine_figures()
    yield from time_figures()


def _pictures() -> Iterator[tuple[str, Any]]:
    from .qo21_pictures import pictures

    return pictures()


ROWS = [
    Row("Q1", "QO21", "quaternion and dual-quaternion algebra", algebra),
    Row("Q2", "QO21", "points, lines, planes and their distances", distances_of_primitives),
    Row("Q3", "QO21", "task control at velocity, acceleration and torque level", task_control),
    Row("Q4", "QO21", "vector field inequalities of first and second order", inequalities, collision_pictures),
    Row("Q5", "QO21", "cone and joint-limit constraints from the line-to-line angle", cones),
    Row("Q6", "QO21", "self-collision; target regions from planes", self_collision),
    Row("Q7", "QO21", "support-polygon area", support_polygon_area, blow_pictures),
    Row("Q8", "QO21", "multi-contact strategy", multi_contact_figures, contact_pictures),
    Row("Q9", "QO21", "Gauss, Gibbs–Appell and Kane give the same equations; operation counts", four_principles),
    Row("Q10", "QO21", "added constraints by Udwadia–Kalaba", added_constraints),
    Row("Q11", "QO21", "the experiments", experiments, _pictures),
]
