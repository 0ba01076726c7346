"""Rollouts: forks of one trial at several steps, several times each, all run to their verdict.

`plan` decides what to run next, `points` has the steps, `children` reads what earlier runs left, `bounds` the largest
possible cost, and `run` does it. The figures are those of `scoring.interventions.rollouts`.
"""
