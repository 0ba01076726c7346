"""The rules of a consistent record, one concern in each file. `trajectories.checks.check` runs them.

A rule takes in every event in order and describes each inconsistency in words. It never raises, whatever the record
holds.
"""
