"""Who is who on a robot: limbs, feet, hands, soles, sides, front, a standing posture, and profiles of all that."""

from __future__ import annotations

from .anatomy import Finding as Finding
from .body import Body as Body
from .gains import BodyGains as BodyGains
from .parts import Part as Part
from .profile import BodyError as BodyError
from .profile import Profile as Profile

__all__ = ["Body", "BodyError", "BodyGains", "Finding", "Part", "Profile"]
