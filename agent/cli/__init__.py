"""The command line: verbs and their options, no logic.

A module a group of verbs, nothing slow imported at the top: `agent --help` must not pay for what it
does not use.
"""
