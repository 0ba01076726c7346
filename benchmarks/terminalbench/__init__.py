"""Task directories of terminal-bench 1 and of its fork LongCLI-Bench, as they are published.

`adapter` is the benchmark of a folder of such directories. `task_file`, `compose_file`, `solution` and `task_directory`
read one. `evaluation` runs its tests; `parsers`, `test_sets` and `scores` read what they leave.
"""
