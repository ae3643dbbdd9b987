"""The control laws of the papers in closed form: each solves one state without a quadratic program of the
controller."""
