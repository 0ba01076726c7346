"""What the daemon tells of containers and images, asked without our own code that makes or removes them."""

from __future__ import annotations

import os
import time

from benchmarks.programbench.official import sweep
from environments.docker import daemon
from environments.leftovers import owner


def containers_made(since: float) -> list[str]:
    """Names of images that this process had containers made of, since then."""
    api = daemon.connect()
    try:
        mine = {"type": "container", "event": "create", "label": f"{owner.PID}={os.getpid()}"}
        seen = api.events(since=since, until=time.time(), filters=mine, decode=True)
        return [event["from"] for event in seen]
    finally:
        api.close()


def left(label: str) -> list[str]:
    """Containers of ours and of the evaluator's, and images that it committed, with this label.

    An image that this process built has its owner's labels, too, and so has any container of it: those do not count.
    """
    api = daemon.connect()
    try:
        names = {one["Names"][0]: one["Id"] for one in api.containers(all=True, filters={"label": label})}
        images = api.images(filters={"label": [label, sweep.LABEL]})
        return [id for name, id in names.items() if name.startswith(("/retrace-", "/programbench-"))] + [
            one["Id"] for one in images
        ]
    finally:
        api.close()
