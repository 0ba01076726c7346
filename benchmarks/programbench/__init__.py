"""ProgramBench: rebuild a program from its documentation and its executable, judged by the official evaluator.

Task data and the evaluator come from the package `programbench`; this package connects them with a trial. Public:
`adapter.ProgramBench` (for `benchmarks.task.registry`), `instances` (for `agent doctor`) and `run_directory` (for
`agent export`). Imports `benchmarks.task`, `environments` and `trajectories`, never another benchmark family.
https://programbench.com, arXiv 2605.03546
"""
