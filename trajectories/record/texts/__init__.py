"""Texts of a record: how they are shown and stored, paths among them, and bounds on what JSON may hold."""
