"""The daemon's own list of containers and images, read without our code that creates or removes them."""

from __future__ import annotations

import os
import time

from benchmarks.programbench.official import sweep
from environments.docker import daemon
from environments.leftovers import owner


def containers_made(since: float) -> list[str]:
    """Return the names of the images of containers that this process created since then."""
    api = daemon.connect()
    try:
        mine = {"type": "container", "event": "create", "label": f"{owner.PID}={os.getpid()}"}
        seen = api.events(since=since, until=time.time(), filters=mine, decode=True)
        return [event["from"] for event in seen]
    finally:
        api.close()


def left(label: str) -> list[str]:
    """Return the containers, ours and the evaluator's, and the committed images that have this label.

    An image that this process built has its owner's labels, and so does any container of it: those do not count.
    """
    api = daemon.connect()
    try:
        names = {
            container["Names"][0]: container["Id"] for container in api.containers(all=True, filters={"label": label})
        }
        images = api.images(filters={"label": [label, sweep.LABEL]})
        return [id for name, id in names.items() if name.startswith(("/retrace-", "/programbench-"))] + [
            image["Id"] for image in images
        ]
    finally:
        api.close()
