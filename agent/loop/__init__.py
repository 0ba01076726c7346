"""Our own agent: a loop of model calls and bash commands.

`loop` decides and does no I/O, `drive` performs and records, `worker` joins them to a session. Never imports another
agent's code.
"""
