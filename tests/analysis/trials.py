"""Trials made with the real recorder from a list of steps, each with commands, contents and usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trajectories.blobs.store import BlobStore
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    CallFinished,
    CallStarted,
    Change,
    EnvStarted,
    Exited,
    Limits,
    Message,
    ModelRef,
    Reply,
    Snapshot,
    TaskRef,
    TextRef,
    TrialStarted,
)
from trajectories.record.exits import Exit
from trajectories.record.usage import Usage
from trajectories.writing.recorder import Recorder


@dataclass(frozen=True)
class Did:
    """One action and its result."""

    script: str
    printed: str = ""
    exit_code: int | None = 0
    ended: str = "exited"
    duration_s: float = 1.0


@dataclass(frozen=True)
class Step:
    """One step: its actions, the files that it changes (None deletes) and the usage of its call."""

    did: Sequence[Did] = ()
    files: Mapping[str, str | bytes | None] = field(default_factory=dict)
    usage: Usage | None = None


def started(task: str = "demo/x") -> TrialStarted:
    return TrialStarted(
        trial="t.m.0.1",
        identity="0",
        task=TaskRef(id=task, benchmark="demo", digest="0"),
        model=ModelRef(asked="m", name="m"),
        prompt=TextRef(name="default", sha256="0"),
        limits=Limits(),
        environment="local",
    )


def record(
    directory: Path,
    steps: Sequence[Step],
    *,
    initial: Mapping[str, tuple[bytes, int]] | None = None,
    snapshots: bool = True,
    closed: bool = True,
) -> Path:
    """Record a trial; `initial` is the workspace of step 0 with modes."""
    directory.mkdir(parents=True, exist_ok=True)
    recorder, blobs = Recorder(directory), BlobStore(directory / "blobs")
    recorder.append(started())
    recorder.append(EnvStarted(kind="docker", workdir="/workspace", seconds=0.1))
    there: set[str] = set()

    def snapshot(step: int, files: Mapping[str, str | bytes | None], modes: Mapping[str, int]) -> None:
        changes = []
        for path, content in files.items():
            if content is None:
                there.discard(path)
                changes.append(Change(path=path, change="deleted"))
                continue
            data = content.encode() if isinstance(content, str) else content
            change = "modified" if path in there else "created"
            there.add(path)
            mode, digest = modes.get(path, 0o644), blobs.put(data)
            changes.append(Change(path=path, change=change, mode=mode, size=len(data), sha256=digest))
        recorder.append(Snapshot(step=step, changes=tuple(changes)))

    if snapshots:
        initial = initial or {}
        snapshot(
            0, {path: data for path, (data, _) in initial.items()}, {path: mode for path, (_, mode) in initial.items()}
        )
    number = 0
    for k, step in enumerate(steps, start=1):
        recorder.append(CallStarted(step=k, message_ids=(), messages=0, messages_sha256="x"))
        recorder.append(
            CallFinished(step=k, id=f"r{k}", reply=Reply(), usage=step.usage, model_requested="m", latency_s=0.1)
        )
        for i, did in enumerate(step.did, start=1):
            recorder.append(ActionStarted(action=f"{k}.{i}", step=k, script=did.script, deadline_s=180))
            output = recorder.output(did.printed.encode(), len(did.printed))
            recorder.append(
                ActionFinished(
                    action=f"{k}.{i}",
                    step=k,
                    ended=did.ended,  # type: ignore[arg-type]
                    exit_code=did.exit_code,
                    duration_s=did.duration_s,
                    output=output,
                )
            )
        for i, did in enumerate(step.did, start=1):
            number += 1
            text = f"<returncode>{did.exit_code}</returncode>\n{did.printed}"
            recorder.append(Message(id=f"m{number}", role="tool", content=text, why="observation", action=f"{k}.{i}"))
        if snapshots and step.files:
            snapshot(k, step.files, {})
    if closed:
        recorder.append(Exited(exit=Exit.of("submitted"), steps=len(steps)))
    recorder.close()
    return directory
