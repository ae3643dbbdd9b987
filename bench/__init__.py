"""Benches of whole behaviours, and of others' files: `python -m bench NAME` at the root of a clone."""
