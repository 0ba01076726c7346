"""Making tasks: `agent tasks new`, `agent tasks export` and `agent tasks make`.

`rebuild` makes tasks of the kind "rebuild this program" from executables of Debian packages. Only `agent.cli` imports
this package. It imports benchmarks, environments and `agent.errors`, and nothing that runs a trial.
"""
