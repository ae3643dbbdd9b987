"""What a robot is, and how descriptions of robots are read."""
