"""Late imports of the packages of the extra `scoring`."""

from __future__ import annotations

from scoring.errors import ScoringError
from trajectories.extras import Extra

load = Extra("scoring", ScoringError).load
"""Import a module of the extra. Raises: ScoringError."""
