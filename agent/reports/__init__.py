"""Figures about recorded trials: scores, prices and profiles.

Sees only `trajectories` and `scoring`, and `agent`'s errors and configuration.
"""
