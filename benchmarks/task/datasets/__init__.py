"""Folders of task directories that a user has given names."""
