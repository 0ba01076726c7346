"""Trials that continue a record: `resume` its own, `fork` another trial's.

`recorded_order` makes the order of a record again; `agent.trial.restoring` brings its workspace back.
"""
