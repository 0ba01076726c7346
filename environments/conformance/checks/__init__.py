"""The checks, topic by topic: plain functions that get a `Place` and raise AssertionError."""
