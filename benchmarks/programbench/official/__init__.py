"""The benchmark's own evaluator, from the package `programbench`, and everything needed to run it safely.

`evaluator.evaluate` is public: it turns an exported workspace into a verdict. `package.py`, `sweep.py` and
`docker-labelled` run as processes of their own. Only `benchmarks.programbench` imports this package.
"""
