"""The recorded shell, directory and variables of a trial's commands, and notes on what a replay cannot give them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import PurePosixPath

from environments.protocol import Kind
from trajectories.formats.detect import MINI
from trajectories.record.events import EnvStarted, Event, TrialStarted

_LONGEST_SCRIPT = 100_000
"""Bytes of a script that is given to a shell as an argument. Linux accepts 128 KiB, and quoting adds to it."""
_SHELL = re.compile(r"(?:/(?:usr/)?bin/)?(?:bash|sh|dash)(?: -[leux]{1,3})* -[leux]{0,3}c")
_POWERFUL = re.compile(
    r"(?:BASH_ENV|ENV|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|IFS|PS4|PATH|LD_\w+|PYTHON(?:PATH|HOME|STARTUP|INSPECT)|GIT_\w*DIR"
    r"|GIT_CONFIG\w*|GIT_EXTERNAL_DIFF|NODE_OPTIONS|PERL5\w+|RUBYOPT|RUBYLIB)$"
)
_SYSTEM = frozenset({"", "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys"})
"""Top directories that belong to the system of a sandbox, `/usr` and the root itself aside."""


def recorded_shell(first: TrialStarted) -> tuple[str, ...] | None:
    """Return the shell of an imported trial's commands, such as `bash -c`; None if its file names no known shell.

    The file could name any program, and that would decide what every command prints.
    """
    named = _named_shell(first)
    known = named is not None and _SHELL.fullmatch(" ".join(named)) is not None
    return named if known else None


def streams_apart(first: TrialStarted) -> bool:
    """Report if the recorder of an import got standard output and standard error apart, as behind `docker exec`."""
    imported = first.imported
    return imported is not None and imported.format == MINI and first.environment == "docker"


def for_shell(script: str, shell: tuple[str, ...] | None) -> str:
    """Return a script that runs another one in its recorded shell, as an argument; None leaves it as it is."""
    if shell is None or len(script.encode("utf-8", "surrogatepass")) > _LONGEST_SCRIPT:
        return script
    return f"exec {shlex.join([*shell, script])}"


def directory_for(recorded: object, kind: Kind, otherwise: PurePosixPath | None) -> PurePosixPath | None:
    """Return the directory for the commands: the recorded one if an environment of this kind can have it."""
    if not isinstance(recorded, str) or not recorded.startswith("/"):
        return otherwise
    path = PurePosixPath(recorded)
    if kind == "local" or (kind == "sandbox" and (len(path.parts) < 2 or path.parts[1] in _SYSTEM | {"usr"})):
        return otherwise
    return path


def recorded_directory(first: TrialStarted, events: Iterable[Event]) -> str | None:
    """Return the directory in which the recorded commands began; None if the record does not hold it."""
    started = next((event.workdir for event in events if isinstance(event, EnvStarted)), None)
    named = first.environment_spec.get("workdir")
    return started or (named if isinstance(named, str) and named.startswith("/") else None)


def notes_on_place(first: TrialStarted) -> list[str]:
    """Return a line for each part of the recorded place that a replay of an import cannot give its commands."""
    if first.imported is None:
        return []
    notes = []
    if recorded_shell(first) is None:
        named = _named_shell(first)
        does = "does not name the shell of its commands" if named is None else f"names {shlex.join(named)} as its shell"
        notes.append(f"the file {does}: they run in a login shell (bash -l)")
    variables = first.environment_spec.get("env")
    powerful = sorted(name for name in variables if _POWERFUL.match(name)) if isinstance(variables, dict) else []
    if powerful:
        notes.append(f"variables of the file may change what any command does: {', '.join(powerful)}")
    forwarded = _settings(first).get("forward_env")
    if isinstance(forwarded, list) and forwarded:
        names = ", ".join(str(name) for name in forwarded)
        notes.append(f"variables that were forwarded from the recording machine are unknown: {names}")
    return notes


def _named_shell(first: TrialStarted) -> tuple[str, ...] | None:
    named = _settings(first).get("interpreter")
    if isinstance(named, list) and named and all(isinstance(word, str) and word for word in named):
        return tuple(named)
    return None


def _settings(first: TrialStarted) -> dict[str, object]:
    settings: object = first.options.get("mini_config")
    environment = settings.get("environment") if isinstance(settings, dict) else None
    return environment if isinstance(environment, dict) else {}
