"""Messages that the environments log, shown in the view of a trial.

No event can tell that an image of gigabytes is pulled or built before the environment has started; its lines are
messages of the logger `environments`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from agent.cli.progress.view import ProgressView
from trajectories.record.text import printable

_LOGGER = logging.getLogger("environments")


class _ViewHandler(logging.Handler):
    def __init__(self, view: ProgressView) -> None:
        super().__init__()
        self._view = view

    def emit(self, record: logging.LogRecord) -> None:
        self._view.note(printable(record.getMessage()))


@contextmanager
def environment_log(view: ProgressView) -> Iterator[None]:
    """Pass the messages of the environments to the view."""
    handler, level = _ViewHandler(view), _LOGGER.level
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        _LOGGER.setLevel(level)
        _LOGGER.removeHandler(handler)
