"""Recorded workspaces: their states step by step, written, restored, compared and checked out."""
