"""Tasks, contacts, constraints and the controller."""
