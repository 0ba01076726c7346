"""A process of its own that removes a group when its harness dies without doing that.

A service's program is not ours, so it cannot notice that the harness is gone. This process reads a pipe from the
harness. A line means that the harness has removed the group; an end without a line means that the harness died. It has
a session of its own, so that neither Ctrl-C nor the end of a terminal reaches it. If it is killed too, `agent clean`
finds the group.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

LEAVE_S = 5.0
"""Seconds that the process may take to leave when it is told that the group is gone."""


class Reaper:
    """The process, as the harness sees it."""

    def __init__(self, group: str) -> None:
        # -P: the current directory, which may be anybody's, holds no modules of ours
        command = [sys.executable, "-P", "-m", "environments.docker.services.reaper", group]
        null = subprocess.DEVNULL
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=null, stderr=null, cwd="/", start_new_session=True
        )

    def dismiss(self) -> None:
        """End the process, because the group has been removed."""
        with suppress(OSError, subprocess.TimeoutExpired):
            self._process.communicate(b"removed\n", timeout=LEAVE_S)


def main(group: str) -> None:
    """Wait until the pipe ends, and remove the group unless the harness has done that."""
    if sys.stdin.buffer.read():
        return
    from environments.docker import daemon
    from environments.docker.services.removal import remove_group

    api = daemon.connect()
    try:
        remove_group(api, group, appear_s=2.0)
    finally:
        api.close()


if __name__ == "__main__":
    main(sys.argv[1])
