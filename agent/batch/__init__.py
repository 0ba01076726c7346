"""Batches: a grid of trials under one coordinator, one budget and one command.

`grid` reads and resolves a spec; `coordinator` decides who works on what; `worker` is the process that runs trials;
`engines` start workers on this machine or on a Ray cluster. What a batch leaves on disk is `trajectories.batches`.
"""
