"""Remove what one run of the official evaluator left: containers, and the image that it committed, by label.

Needs nothing but Python and a docker CLI, and is run by path too: when the harness dies, `package.py` starts it.
"""

from __future__ import annotations

import subprocess
import sys
import time

LABEL = "retrace.evaluation"
"""Carries what names one run of the evaluator."""
COMPILED = "programbench-compiled/"
"""How the names of the images begin that the evaluator commits."""
CALL_S = 60
APPEAR_S = 1.0
"""A container or an image whose making was cut off may still turn up for so long."""


def sweep(docker: str, name: str, *, cut_off: bool) -> int:
    """Remove everything that carries `retrace.evaluation=NAME`; how many things there were. Never raises OSError.

    `cut_off`: the evaluator was killed, so look again until nothing more appears.
    """
    removed = 0
    while True:
        found = _sweep_once(docker, name)
        removed += found
        if not cut_off:
            return removed
        cut_off = found > 0
        time.sleep(APPEAR_S)


def _sweep_once(docker: str, name: str) -> int:
    label = f"label={LABEL}={name}"
    containers = _said(docker, "ps", "--all", "--quiet", "--no-trunc", "--filter", label)
    if containers:
        _said(docker, "rm", "--force", "--volumes", *containers)
    listed = _said(docker, "images", "--filter", label, "--format", "{{.Repository}}:{{.Tag}} {{.ID}}")
    named = [tuple(line.split(" ", 1)) for line in listed]
    images = [name for name, _ in named if name.startswith(COMPILED)]
    images += [id for name, id in named if name == "<none>:<none>"]  # somebody else's name on it is somebody else's
    if images:
        _said(docker, "rmi", "--force", *images)
    return len(containers) + len(images)


def _said(docker: str, *words: str) -> list[str]:
    try:
        done = subprocess.run(
            [docker, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=CALL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines()


if __name__ == "__main__":
    sweep(sys.argv[1], sys.argv[2], cut_off=True)
