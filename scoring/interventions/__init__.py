"""Experiments with interventions: what a record holds about them, chains of turns, and the table of modes."""
