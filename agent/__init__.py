"""The application: its command line, its trials, its own agent and its models.

It may import every other package, and none of them imports it. Begin to read at `agent.trial.run`, which tells one
trial from top to bottom; `agent.loop.loop` decides each step, and `agent.cli` has the commands.
"""
