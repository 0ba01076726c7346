"""Errors that the command line turns into one line and an exit status.

A `UserError` is a mistake in the request that the user can correct; a `MachineError` is a failure of the machine or
the provider. The message names the thing, the value and the way out.
"""

from __future__ import annotations


class UserError(Exception):
    """The request is wrong: exit status 2."""


class MachineError(Exception):
    """The machine or the provider failed: exit status 1."""
