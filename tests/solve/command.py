"""Run the real `agent` command in its own process, away from the user's files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trajectories.reading.reader import read_events
from trajectories.record.events import Event

AGENT = (sys.executable, "-m", "agent.cli.main")
_KEYS = ("_API_KEY", "_TOKEN", "_SECRET")


@dataclass(frozen=True)
class CommandResult:
    """The exit status and the output of a finished command, and the trial that its JSON names."""

    folder: Path
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def trial(self) -> Path:
        return self.folder / self.json["trial"]

    @property
    def events(self) -> list[Event]:
        return list(read_events(self.trial))


def environment(folder: Path, **extra: str) -> dict[str, str]:
    """Return the variables of a test's command: without keys and without the user's configuration."""
    plain = {name: value for name, value in os.environ.items() if not name.endswith(_KEYS)}
    root = str(Path(__file__).parents[2])
    return {**plain, "PYTHONPATH": root, "RETRACE_CONFIG_DIR": str(folder / "config"), "COLUMNS": "200", **extra}


def agent(folder: Path, *argv: str, timeout: float = 120, **extra: str) -> CommandResult:
    """Run `agent ARGV` in `folder`; its trials go to `folder/runs`."""
    result = subprocess.run(
        [*AGENT, *argv],
        cwd=folder,
        env=environment(folder, **extra),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    return CommandResult(folder, result.returncode, result.stdout, result.stderr)


def script(folder: Path, *turns: Any) -> str:
    """Write a script with these turns; return it as a value of `--model`."""
    path = folder / f"script-{len(list(folder.glob('script-*.json')))}.json"
    path.write_text(json.dumps(turns))
    return f"script:{path}"
