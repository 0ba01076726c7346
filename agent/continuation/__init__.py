"""Trials that continue a record: `resume` its own, `fork` another trial's.

`standing` is the state that the events leave a trial in, `recorded_order` makes its order again, and `restore` brings
its workspace back. Imports `agent.trial`.
"""
