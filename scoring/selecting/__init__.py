"""Choosing and grouping the trials that are scored: which count, which belong together, and their names."""
