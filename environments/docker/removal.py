"""Removal of the container of an environment, also of one that is only just being made."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from environments.docker import daemon

if TYPE_CHECKING:
    from docker import APIClient

REMOVE_S = 10.0
_log = logging.getLogger(__name__)


def remove(api: APIClient, name: str, *, keep: bool, appear_s: float) -> None:
    """Remove a container, or only end it if it is kept; it may still appear for `appear_s`."""
    until = time.monotonic() + REMOVE_S
    appears = time.monotonic() + appear_s
    while time.monotonic() < until:
        try:
            with daemon.patience(api, daemon.QUICK_S):
                if keep:
                    api.kill(name)
                else:
                    api.remove_container(name, force=True, v=True)
            return
        except daemon.not_found():
            if time.monotonic() > appears:
                return
            time.sleep(0.05)
        except OSError as error:
            if keep and daemon.is_conflict(error):
                return  # it does not run
            time.sleep(0.01)  # it is being removed at this very moment, or the daemon is slow
    _log.warning("container %s could not be removed in %g s; agent clean will find it", name, REMOVE_S)
