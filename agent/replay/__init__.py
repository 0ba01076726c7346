"""Runs the commands of a record again and compares. `replay` is the run, `report` its result."""
