"""Turns records into figures: prices, cost, scores. Pure functions; imports only `trajectories`."""
