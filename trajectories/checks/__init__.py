"""The rules of a consistent record, one concern a file; `trajectories.checks.check` runs them.

A rule is fed every event in order and says in words what cannot be. It never raises, whatever the record holds.
"""
