"""The version and the digest of the installed code: a worker with other code gets no work."""

from __future__ import annotations

import hashlib
import importlib.metadata
from functools import cache
from pathlib import Path

from agent.batch.messages import Hello

_PACKAGES = ("agent", "benchmarks", "environments", "prompts", "scoring", "trajectories")


def version() -> str:
    """Return the version of Retrace."""
    return importlib.metadata.version("retrace-agent")


@cache
def code_digest() -> str:
    """Return the sha256 in hex over the source files of Retrace. It takes about 40 ms."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def mismatch(hello: Hello) -> str:
    """Return the reason for which a worker with other code cannot work for this coordinator; empty if it can."""
    if hello.version != version():
        return f"{hello.host} has Retrace {hello.version}, and the coordinator {version()}: install the same version"
    if hello.digest != code_digest():
        return (
            f"{hello.host} has other code of Retrace {hello.version} (digest {hello.digest[:12]}, the coordinator's "
            f"{code_digest()[:12]}): install the same one"
        )
    return ""
