"""The grid of a batch: its spec, the configurations that it stands for, and what is frozen of them for its workers.

`spec` reads the file that the user writes, `resolve` makes configurations of it, `freeze` writes them into the batch's
folder, and `orders` makes orders of them again, in a process that has only that folder.
"""
