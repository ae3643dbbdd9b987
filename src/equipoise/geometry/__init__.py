"""Primitives, distances with their derivatives, capsules of a robot, and sets of pairs that may collide."""
