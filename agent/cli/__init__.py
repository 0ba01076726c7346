"""The command line: commands, their options and their output, without any logic of trials.

`commands/` has one module per verb. Modules import nothing slow at the top, because `agent --help` must start fast.
"""
