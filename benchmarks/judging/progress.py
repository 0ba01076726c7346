"""Progress of a suite that runs: a thread counts the finished tests from outside, and tells a person.

A count is for people only. It decides nothing, and a failure to count is silent.
"""

from __future__ import annotations

import io
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import BaseModel

from environments.docker import daemon
from environments.protocol import EnvironmentFault
from environments.reporting import Reporter

EVERY_S = 5.0
"""Seconds between two lines."""
FINISHED = "finished"
"""File in the suite's directory for results that has one byte for each finished test."""
COLLECTED = "collected.json"


class _Cases(BaseModel):
    cases: tuple[str, ...]


@contextmanager
def watched(look: Callable[[], str], reporter: Reporter) -> Iterator[None]:
    """Note every few seconds what `look` returns, if that is new, until the end of the `with`.

    Nobody waits for `look`: one that hangs changes nothing.
    """
    ended = threading.Event()

    def watch() -> None:
        last = ""
        while not ended.wait(EVERY_S):
            text = look()
            if text and text != last and not ended.is_set():
                reporter.note(text)
                last = text

    threading.Thread(target=watch, name="evaluation progress", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def of_directory(out: Path) -> Callable[[], str]:
    """Return a look at the suite's directory for results on the host."""
    return lambda: _counted(lambda name: (out / name).read_bytes())


def of_container(container: str, out: str) -> Callable[[], str]:
    """Return a look at the suite's directory for results in a container."""

    def read(name: str) -> bytes:
        api = daemon.connect(daemon.QUICK_S)
        try:
            with daemon.reported("reading the progress of the suite"):
                chunks, _ = api.get_archive(container, f"{out}/{name}")
                with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as tar:
                    file = tar.extractfile(name)
                    return file.read() if file else b""
        finally:
            api.close()

    return lambda: _counted(read)


def _counted(read: Callable[[str], bytes]) -> str:
    with suppress(OSError, EnvironmentFault, ValueError, KeyError, tarfile.TarError):
        finished = len(read(FINISHED))
        return f"evaluation: {finished} of {len(_Cases.model_validate_json(read(COLLECTED)).cases)} tests have run"
    return ""
