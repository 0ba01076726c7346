"""How people see a record: in the terminal. Reads events, writes nothing.

Imports only `trajectories` and rich.
"""
