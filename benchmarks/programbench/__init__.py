"""ProgramBench: rebuild a program from its documentation and its executable, judged by the official evaluator.

Task data and the evaluator are those of the package `programbench`; here is what stands between it and a trial.
https://programbench.com, arXiv 2605.03546
"""
