"""Workers on the nodes of a Ray cluster (`--engine ray`, extra `ray`).

The coordinator is Ray's driver. On each node an actor (`actor`) starts the ordinary worker process in a folder of the
node, carries its messages, and ships its records (`shipping`); the driver writes them into the batch folder
(`intake`). `relay` looks after all of that in a thread of its own, and `engine.RayEngine` is what the coordinator sees.

Ray's own retries are off. Only the coordinator decides what is done again, after a look at the record.
"""
