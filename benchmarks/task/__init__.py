"""Tasks, and the work of a benchmark family: every family implements the protocol of `task.Benchmark`.

Public: `task` (Task, Benchmark, TaskError), `registry` (the task that a name means, lists of tasks), `adhoc` (a task of
an instruction and an image or directory), `formats` (formats of task directories), `taskdir` and `directory` (our own
format), `tree` (a directory as content), and `quantities` (durations and sizes). Every package of `benchmarks`, and
`agent`, may import this one; it imports `environments` and `trajectories`, and `benchmarks.judging` only to evaluate a
task directory.
"""
