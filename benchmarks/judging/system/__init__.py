"""Judging with a benchmark's own, unchanged test scripts, in a container where code of the submission may run.

`opening` opens a submission as the environment to judge in. `running` puts the tests there, runs their script as root
and reads the files that it leaves. `script_run` has the types. What a result means is up to the benchmark family.
"""
