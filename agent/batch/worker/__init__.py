"""The process that runs trials of a batch in threads, told by its coordinator what to do next.

`process` is its main thread, `unit` runs one unit, `gates` asks the coordinator before calls and evaluations.
"""
