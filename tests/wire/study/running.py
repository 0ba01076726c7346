"""A study's provider in a process of its own, as a test or a measure uses it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.wire.study.bill import Line

ROOT = Path(__file__).parents[3]


class Running:
    """A provider in a `with`: `Running("--faults", "429=0.1")`, with options of `python -m tests.wire.study`."""

    def __init__(self, *words: str, key: str = "sk-study") -> None:
        self._words, self._key = words, key
        self.api_base = ""

    def __enter__(self) -> Running:
        command = [sys.executable, "-m", "tests.wire.study", *self._words]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.api_base = self._process.stdout.readline().strip()
        if not self.api_base:
            raise RuntimeError(f"the provider ended with {self._process.wait()}")
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    @property
    def pid(self) -> int:
        """Return the id of the process."""
        return self._process.pid

    def environment(self) -> dict[str, str]:
        """Return the variables with which a process reaches this provider."""
        return {"OPENAI_API_BASE": self.api_base, "OPENAI_API_KEY": self._key}

    def bill(self) -> list[Line]:
        """Return the lines of the bill."""
        return [Line(**line) for line in self._get("/bill")]

    def state(self) -> dict[str, Any]:
        """Return `requests`, `usd`, `tokens`, `in_flight`, `peak`."""
        state: dict[str, Any] = self._get("/state")
        return state

    def change(self, **changes: Any) -> None:
        """Change `faults` (as text), `latency_s` or `at_once` from now on."""
        self._get("/change", json.dumps(changes).encode())

    def _get(self, path: str, data: bytes | None = None) -> Any:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.api_base.removesuffix("/v1") + path, data, timeout=60) as answer:
            return json.load(answer)
