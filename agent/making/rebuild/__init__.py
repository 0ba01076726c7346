"""The steps of making a "rebuild this program" task: its image, its hidden suite, and an instance of ProgramBench.

`image` builds the image, from the directory `benchmarks/rebuild`. `cases` reads the list of inputs, `suite` runs the
original on them, and `programbench` makes an instance. `original` is the container in which the original runs. The
files in `inside` run in containers and are copied as they are: their bytes are part of what is made.
"""
