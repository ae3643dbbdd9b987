"""The equations of motion in the form a user wants."""
