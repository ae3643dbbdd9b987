"""Centre of mass, contacts, impacts, support."""

from .aerodynamics import Aerodynamic
from .chains import EquivalentChain, all_chains, equivalent_chain
from .com_dynamics import ConstrainedMotion, gravity_torques, kinetic_jacobian, projected_dynamics, reduced_dynamics
from .contact_analysis import ContactAnalysis, analyse_contacts
from .contact_wrenches import ContactWrenches, contact_wrenches
from .contacts import RigidContact, contact_bias, contact_jacobian, point_jacobian
from .coordinates import base_turn, coordinate_rates, velocity_from_rates
from .impacts import Impact, impact, resolve_impact
from .loops import LoopConstraints, close_loops, closure, loop_constraints
from .static_balance import static_region
from .support import (
    SupportArea,
    SupportPolygon,
    area_gradient,
    centre_of_pressure,
    four_point_area,
    moment_free_point,
    polygon_area,
    support_area,
    support_polygon,
    zero_moment_point,
)
from .support_dynamics import SupportDynamics, support_dynamics

__all__ = [
    "Aerodynamic",
    "ConstrainedMotion",
    "ContactAnalysis",
    "ContactWrenches",
    "EquivalentChain",
    "Impact",
    "LoopConstraints",
    "RigidContact",
    "SupportArea",
    "SupportDynamics",
    "SupportPolygon",
    "all_chains",
    "analyse_contacts",
    "area_gradient",
    "base_turn",
    "centre_of_pressure",
    "close_loops",
    "closure",
    "contact_bias",
    "contact_jacobian",
    "contact_wrenches",
    "coordinate_rates",
    "equivalent_chain",
    "four_point_area",
    "gravity_torques",
    "impact",
    "kinetic_jacobian",
    "loop_constraints",
    "moment_free_point",
    "point_jacobian",
    "polygon_area",
    "projected_dynamics",
    "reduced_dynamics",
    "resolve_impact",
    "static_region",
    "support_area",
    "support_dynamics",
    "support_polygon",
    "velocity_from_rates",
    "zero_moment_point",
]
