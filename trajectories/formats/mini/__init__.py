"""mini-swe-agent's trajectories: five layouts can be read and one is written.

`read` turns a document into a `ForeignRun`, message by message. The shape of each message determines the layout, not
the label, so mixed files can be read too. `write` makes a document of a trial.
"""
