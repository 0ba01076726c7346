"""Task directories in Harbor's format: `task.toml` up to schema 1.4, an image, an instruction, a verifier's script.

Public: `adapter.Harbor`. Knows tasks, judging and environments, and no other benchmark family.
"""
