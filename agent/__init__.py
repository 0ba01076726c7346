"""The application: one trial from top to bottom, its loop, its models, its command line.

On top of the house: imports everything, imported by nothing. `agent.trial.run` tells the story,
`agent.loop.loop` is the machine, `agent.cli` names the verbs.
"""
