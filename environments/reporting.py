"""Lines about the preparation of an environment, such as the pull of an image: no event holds them."""

from __future__ import annotations

import logging
import sys
from typing import Protocol

_log = logging.getLogger(__name__)


class Reporter(Protocol):
    """Shows a person what an environment does before it has started."""

    def note(self, line: str) -> None:
        """Show a line."""


class LogReporter:
    """A reporter for callers without one of their own: the lines go to the log."""

    def note(self, line: str) -> None:
        """Log a line."""
        _log.info(line)


class PrintReporter:
    """A reporter for scripts: the lines go to standard error."""

    def note(self, line: str) -> None:
        """Print a line."""
        print(line, file=sys.stderr, flush=True)
