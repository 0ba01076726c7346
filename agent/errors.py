"""Errors that the command line turns into one line and an exit status.

Everything a user can mend is a `UserError`; the message names the thing, the value and the way out.
"""

from __future__ import annotations


class UserError(Exception):
    """The user's mistake: exit status 2."""
