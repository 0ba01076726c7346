"""Facts of a record that must stay the same in every later release: `make.py` stores them, the test compares them.

Texts that only people read are left out, so that they may be reworded. Keys that a later release adds are ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import io
import json
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from trajectories import read_events, summarize

HERE = Path(__file__).resolve().parent
STUDY = HERE / "study"
"""The scripts of models, the tasks and the texts with which the records were made."""
PLACE = Path("/srv/study")
"""The directory in which the records were made, and which they name."""
FORMATS = ("mini", "atif", "openai", "asciicast")
_WORDS = ("notes", "method", "source", "label", "against_label")
"""Keys of a score whose values are worded for people."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Facts = dict[str, Any]


@dataclass(frozen=True)
class ReadOnlyResult:
    """One finished `agent` command."""

    status: int
    out: bytes
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@cache
def _main() -> Any:
    return next(iter(importlib.metadata.entry_points(group="console_scripts", name="agent"))).load()


def read_only(*argv: str) -> ReadOnlyResult:
    """Run `agent ARGV`, a command that only reads, in this process, because 300 processes would take minutes."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True), io.StringIO()
    with _signals_kept(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        before, sys.argv = sys.argv, ["agent", *argv]
        try:
            _main()()
            status: object = 0
        except SystemExit as leave:
            status = leave.code or 0
        finally:
            sys.argv = before
    assert isinstance(status, int), status
    assert isinstance(out.buffer, io.BytesIO)
    return ReadOnlyResult(status, out.buffer.getvalue(), err.getvalue())


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def copy_of(version: str, folder: Path, *, moved: bool = False) -> Path:
    """Copy the study and the records of a schema version into a folder; return the directory of the records.

    With `moved`, their first events name the copy instead of PLACE, so that a trial finds its script, task and
    workspace.
    """
    place = folder / "study"
    shutil.copytree(STUDY, place)
    for path in [place, *place.rglob("*")]:  # modes are part of a task, and depend on the umask
        path.chmod(0o755 if path.is_dir() else 0o644)
    runs = Path(shutil.copytree(HERE / version, place / version))
    for path in runs.glob("*/*/events.jsonl") if moved else ():
        first, newline, rest = path.read_bytes().partition(b"\n")
        path.write_bytes(first.replace(f"{PLACE}/".encode(), f"{place}/".encode()) + newline + rest)
    return runs


def trials_of(version: str) -> dict[str, str]:
    """Return the directory of each record, by the name of what the record shows."""
    trials: dict[str, str] = json.loads((HERE / version / "trials.json").read_text())
    return trials


def facts_of(trial: Path, scratch: Path) -> Facts:
    """Return the facts of a record, by commands that only read."""
    events = list(read_events(trial))
    summary = summarize(trial, events).model_dump(mode="json", exclude={"trial"})
    check = read_only("show", str(trial), "--check", "--json")
    findings = [[finding["rule"], finding["warning"]] for finding in check.json["findings"]]
    return {
        "events": dict(Counter(event.type for event in events)),
        "summary": summary,
        "check": {"status": check.status, "finished": check.json["finished"], "findings": findings},
        "exports": {name: exported(trial, name) for name in FORMATS},
        "workspaces": {step: workspace_of(trial, step, scratch) for step in ("0", "1", "last")},
    }


def exported(trial: Path, format: str) -> str:
    """Return the SHA-256 of a trial in another format, or the status with which the export is rejected."""
    result = read_only("export", str(trial), "--format", format)
    return hashlib.sha256(result.out).hexdigest() if result.status == 0 else f"refused with status {result.status}"


def workspace_of(trial: Path, step: str, scratch: Path) -> str:
    """Return the hash of the workspace after a step, or the status with which the checkout is rejected."""
    place = scratch / f"{trial.name}-{step}"
    at = () if step == "last" else ("--step", step)
    result = read_only("checkout", str(trial), str(place), *at)
    return tree_hash(place) if result.status == 0 else f"refused with status {result.status}"


def tree_hash(top: Path) -> str:
    """Return the SHA-256 of all paths below `top`, with their modes and contents."""
    total = hashlib.sha256()
    for folder, folders, files in os.walk(os.fsencode(top)):
        folders.sort()
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            link = os.path.islink(path)
            mode = 0 if link else os.lstat(path).st_mode
            content = (
                os.readlink(path) if link else b"" if os.path.isdir(path) else Path(os.fsdecode(path)).read_bytes()
            )
            relative = os.path.relpath(path, os.fsencode(top))
            total.update(b"%s\0%o\0%d\0%s\0" % (relative, mode, len(content), content))
    return total.hexdigest()


def score_of(trials: list[Path]) -> Any:
    """Return the score of trials of one benchmark, without the texts that only people read."""
    result = read_only("score", *map(str, trials), "--json")
    assert result.status == 0, result.err
    return _without_words(result.json)


def _without_words(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_words(each) for key, each in value.items() if key not in _WORDS}
    return [_without_words(each) for each in value] if isinstance(value, list) else value


def by_benchmark(facts: dict[str, Facts]) -> dict[str, list[str]]:
    """Return the names of records, by the benchmark of their task."""
    groups: dict[str, list[str]] = {}
    for name, facts_of_record in facts.items():
        groups.setdefault(facts_of_record["summary"]["entry"]["benchmark"], []).append(name)
    return groups


def differences(expected: Any, actual: Any, path: str = "") -> list[str]:
    """Return one line for each difference; keys that are not expected are ignored."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        missing = [f"{path}.{key} is missing" for key in expected.keys() - actual.keys()]
        return missing + [
            line
            for key in expected.keys() & actual.keys()
            for line in differences(expected[key], actual[key], f"{path}.{key}")
        ]
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        pairs = enumerate(zip(expected, actual, strict=True))
        return [line for number, (first, second) in pairs for line in differences(first, second, f"{path}[{number}]")]
    return [] if expected == actual else [f"{path}: {expected!r} expected, {actual!r} found"]
