"""Errors that the command line turns into one line and an exit status.

What a user can mend in what was asked is a `UserError`, what the machine or a provider lacks a `MachineError`.
The message names the thing, the value and the way out.
"""

from __future__ import annotations


class UserError(Exception):
    """The user's mistake: exit status 2."""


class MachineError(Exception):
    """A reason of the machine or the provider: exit status 1."""
