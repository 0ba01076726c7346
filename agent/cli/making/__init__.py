"""The verbs of `agent tasks` that make tasks: one file for each, with what only the command line needs."""
