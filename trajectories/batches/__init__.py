"""Files of a batch and their reader: what was planned, and what became of it.

A batch is a grid of configurations with several attempts each. `configuration` is a line of the resolved grid, `events`
are the lines of the coordinator's journal. Reports and viewers read a batch from here, and need nothing of `agent`.
"""
