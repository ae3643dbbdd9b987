"""Estimates the robot's state, its contacts and its inertial parameters from sensor data."""
