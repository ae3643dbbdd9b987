"""Where the robot is, what it touches, what it weighs."""
