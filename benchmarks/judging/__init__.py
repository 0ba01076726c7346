"""Judging of an exported workspace by a hidden pytest suite, for the benchmark families whose tests are of that form.

`suite.evaluate` is public: it runs the suite in a container, in the sandbox or on the host (`suite_container`,
`suite_host`), reads its JUnit XML and returns the verdict. The files of `inside` run beside the candidate, as a user
that the candidate cannot become. Imports `benchmarks.task`, `environments` and `trajectories`, never a family.
"""
