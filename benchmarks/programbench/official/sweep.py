"""Removes the containers that one run of the official evaluator left, and the image that it committed, by label.

Needs nothing but Python and a docker CLI. It is also run by path: when the harness dies, `package.py` starts it.
"""

from __future__ import annotations

import subprocess
import sys
import time

LABEL = "retrace.evaluation"
"""Label whose value names one run of the evaluator."""
COMPILED = "programbench-compiled/"
"""Prefix of the names of the images that the evaluator commits."""
CALL_S = 60
"""Time limit of a call of docker, in seconds."""
APPEAR_S = 1.0
"""Seconds during which a container or an image may still appear after its creation was cut off."""


def sweep(docker: str, name: str, *, cut_off: bool) -> int:
    """Remove everything with the label `retrace.evaluation=NAME`; return the number of things. Never raises OSError.

    `cut_off`: the evaluator was killed, so repeat until nothing more appears.
    """
    removed = 0
    while True:
        removed_now = _sweep_once(docker, name)
        removed += removed_now
        if not cut_off:
            return removed
        cut_off = removed_now > 0
        time.sleep(APPEAR_S)


def _sweep_once(docker: str, name: str) -> int:
    label = f"label={LABEL}={name}"
    containers = _lines(docker, "ps", "--all", "--quiet", "--no-trunc", "--filter", label)
    if containers:
        _lines(docker, "rm", "--force", "--volumes", *containers)
    listed = _lines(docker, "images", "--filter", label, "--format", "{{.Repository}}:{{.Tag}} {{.ID}}")
    named = [tuple(line.split(" ", 1)) for line in listed]
    images = [name for name, _ in named if name.startswith(COMPILED)]
    images += [id for name, id in named if name == "<none>:<none>"]  # a named one is somebody else's
    if images:
        _lines(docker, "rmi", "--force", *images)
    return len(containers) + len(images)


def _lines(docker: str, *words: str) -> list[str]:
    """Return the output of a docker command; nothing if it cannot be run."""
    try:
        process = subprocess.run(
            [docker, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=CALL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return process.stdout.splitlines()


if __name__ == "__main__":
    sweep(sys.argv[1], sys.argv[2], cut_off=True)
