"""Bounds that keep a sampled controller safe: vector field inequalities, and viable joint limits."""
