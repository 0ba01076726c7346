"""Listings of a workspace: what is in it, and what changed between two moments."""
