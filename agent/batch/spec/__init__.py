"""The spec of a batch: its file, its parts, and what they mean."""
