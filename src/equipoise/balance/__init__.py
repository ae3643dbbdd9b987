"""Centre of mass, contacts, impacts."""

from .chains import EquivalentChain, all_chains, equivalent_chain
from .com_dynamics import ConstrainedMotion, gravity_torques, kinetic_jacobian, projected_dynamics, reduced_dynamics
from .contacts import (
    ContactAnalysis,
    SupportDynamics,
    analyse_contacts,
    contact_bias,
    contact_jacobian,
    coordinate_rates,
    point_jacobian,
    support_dynamics,
    velocity_from_rates,
)
from .impacts import Impact, impact, resolve_impact
from .loops import LoopConstraints, close_loops, closure, loop_constraints

__all__ = [
    "ConstrainedMotion",
    "ContactAnalysis",
    "EquivalentChain",
    "Impact",
    "LoopConstraints",
    "SupportDynamics",
    "all_chains",
    "analyse_contacts",
    "close_loops",
    "closure",
    "contact_bias",
    "contact_jacobian",
    "coordinate_rates",
    "equivalent_chain",
    "gravity_torques",
    "impact",
    "kinetic_jacobian",
    "loop_constraints",
    "point_jacobian",
    "projected_dynamics",
    "reduced_dynamics",
    "resolve_impact",
    "support_dynamics",
    "velocity_from_rates",
]
