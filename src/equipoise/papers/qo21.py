"""[QO21] Thesis: second-order vector field inequalities, dual-quaternion dynamics."""

from __future__ import annotations

from collections.abc import Iterator

from .rows import Figure, Row, shown_by


def inequalities() -> Iterator[Figure]:
    """Lemma 4.1, the guarantee between samples, the three cases of Sec. 4.1; and moving obstacles in the controller."""
    from .qo21_collision import vector_field_inequalities
    from .qo21_control import moving_obstacle_figures

    yield from vector_field_inequalities()
    yield from moving_obstacle_figures()


def support_area() -> Iterator[Figure]:
    """Sec. 4.4: the area, its Jacobian, and what a larger one is good for."""
    from .qo21_area import support_polygon_area
    from .qo21_blow import blow_figures

    yield from support_polygon_area()
    yield from blow_figures()


def experiments() -> Iterator[Figure]:
    """Sec. 6.1 and 6.3; those of Sec. 4.1 are in Q4, those of Sec. 6.2 in Q8."""
    from .qo21_cooperation import cooperation_figures
    from .qo21_cup import cup_figures
    from .qo21_models import engine_figures, toolbox_figures
    from .qo21_times import time_figures

    yield from cup_figures()
    yield from cooperation_figures()
    yield from toolbox_figures()
    yield from engine_figures()
    yield from time_figures()


ROWS = [
    Row("Q1", "QO21", "quaternion and dual-quaternion algebra", shown_by("qo21_algebra", "algebra")),
    Row(
        "Q2", "QO21", "points, lines, planes and their distances", shown_by("qo21_distances", "distances_of_primitives")
    ),
    Row(
        "Q3",
        "QO21",
        "task control at velocity, acceleration and torque level",
        shown_by("qo21_control", "task_control"),
    ),
    Row(
        "Q4",
        "QO21",
        "vector field inequalities of first and second order",
        inequalities,
        shown_by("qo21_collision", "pictures"),
    ),
    Row(
        "Q5", "QO21", "cone and joint-limit constraints from the line-to-line angle", shown_by("qo21_control", "cones")
    ),
    Row("Q6", "QO21", "self-collision; target regions from planes", shown_by("qo21_control", "self_collision")),
    Row("Q7", "QO21", "support-polygon area", support_area, shown_by("qo21_blow", "pictures")),
    Row(
        "Q8",
        "QO21",
        "multi-contact strategy",
        *(shown_by("qo21_contacts", f) for f in ("strategy_row", "pictures")),
    ),
    Row(
        "Q9",
        "QO21",
        "Gauss, Gibbs–Appell and Kane give the same equations; operation counts",
        shown_by("qo21_dynamics", "four_principles"),
    ),
    Row("Q10", "QO21", "added constraints by Udwadia–Kalaba", shown_by("qo21_dynamics", "added_constraints")),
    Row(
        "Q11",
        "QO21",
        "the experiments",
        experiments,
        shown_by("qo21_pictures", "pictures"),
        on=shown_by("qo21_cup", "named_figures"),
    ),
]
