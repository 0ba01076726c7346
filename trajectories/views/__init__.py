"""Views of records in the terminal. They read events and write nothing to disk.

Imports only `trajectories` and rich.
"""
