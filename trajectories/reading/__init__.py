"""Readers of records: events, summaries, and the trials of a runs directory."""
