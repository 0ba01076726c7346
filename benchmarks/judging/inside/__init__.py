"""The files that run beside the candidate, in its container or on the host.

They are copied there as they are (`benchmarks.judging.bundle`), so they import the standard library, pytest and each
other, and run with Python 3.9 or newer.
"""
