"""Checking tasks before a model is paid: `agent tasks check`.

`check` runs all checks of one task. `visible` searches the started environment for files of the tests, and `proofs`
runs the trials of the models `nop` and `oracle`. Only `agent.cli` imports this package.
"""
