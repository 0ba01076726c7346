"""Measures: what runs once a step or at start-up, timed beside something plain in the same run."""
