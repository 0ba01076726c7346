"""The application: one trial from top to bottom, its loop, its models, its command line.

On top of the house: imports everything, imported by nothing. `agent.solve` tells the story,
`agent.loop` is the machine, `agent.cli` names the verbs.
"""
