"""ATIF, Harbor's format for trajectories of any agent (RFC 0001), versions 1.0 to 1.8.

`read` turns a document into a `ForeignRun`: `steps` its steps, `tools` their tool calls with results. `write` makes a
document of a trial.
"""
