"""Rigid-body algorithms on symbols, each written once."""
