"""Writing our own task directories in Harbor's format: `agent tasks export`.

`harbor` writes the task, `dockerfile` its image. `inside/judge.py` runs in Harbor's verifier: it prepares a submission
and runs the hidden suite as `benchmarks.judging.suite_container` does.
"""
