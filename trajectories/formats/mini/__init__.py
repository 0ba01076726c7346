"""mini-swe-agent's trajectories: five layouts in, one out.

`read` turns a document into a `Run`, message by message: the layout is told by each message's shape, never by
the label, so that mixed files read too. `write` makes a document of a trial.
"""
