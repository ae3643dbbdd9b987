"""Rotations and rigid motions."""
