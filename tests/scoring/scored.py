"""Runs `agent score`, also where packages and the network are out of reach."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.solve.command import Done, agent

OFFLINE = """
import socket, sys
for name in {names!r}:
    sys.modules[name] = None
def refused(*args, **kwargs):
    raise OSError("no network here")
socket.socket.connect = refused
"""


def score(folder: Path, *argv: str, **extra: str) -> Any:
    done = agent(folder, "score", *(argv or ("one",)), "--json", **extra)
    assert done.status == 0, done.err
    return done.json


def blocked(folder: Path, *names: str) -> dict[str, str]:
    """Variables for a command that can import none of these packages and connect to nothing."""
    place = folder / "blocked"
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(OFFLINE.format(names=names))
    return {"PYTHONPATH": f"{place}{os.pathsep}{Path(__file__).parents[2]}"}


def refused(done: Done) -> str:
    assert (done.status, done.out) == (2, ""), done.out or done.err
    assert done.err.count("\n") == 1
    return done.err
