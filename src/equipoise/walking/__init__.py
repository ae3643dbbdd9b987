"""Walking: steps on command, steps that catch the robot, and the centre of mass between them."""
