"""Leftovers of harness processes that have ended: their owners, whether they may be removed, and how."""
