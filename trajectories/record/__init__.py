"""The format of a record, and nothing else: events, their parts, and the names of files.

Imports nothing of Retrace but the errors. A reader of the code begins here, with `events`.
"""
