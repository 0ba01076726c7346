"""Finished trials of ProgramBench's instances, written by the real recorder: no model, no container."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.programbench import instances
from tests.programbench.archives import PROGRAM, member, packed, tar_of
from trajectories.reading.reader import read_events
from trajectories.record.conversation import Conversation
from trajectories.record.events import (
    CallFinished,
    CallStarted,
    Evaluated,
    EvaluationStarted,
    Exited,
    Feedback,
    FeedbackSource,
    Limits,
    Message,
    ModelRef,
    Reply,
    Skipped,
    Submission,
    TaskRef,
    TextRef,
    TrialStarted,
    WorkspaceExported,
)
from trajectories.record.exits import Cause, Exit
from trajectories.record.usage import Costs, Usage
from trajectories.record.verdict import Evaluator, Verdict
from trajectories.workspace.snapshot_writer import SnapshotWriter
from trajectories.writing.recorder import Recorder

IDS = ("ffmpeg__ffmpeg.360a402", "jqlang__jq.b33a763")
FILES = {"./compile.sh": b"#!/bin/sh\n", "./.git/HEAD": b"ref: refs/heads/master\n", "./copy": PROGRAM}

COSTS = Costs(computed=0.5, billed=0.75)
NO_CHAIN: Mapping[str, Any] = {}


def finished(
    batch: Path,
    instance: str,
    attempt: int = 1,
    *,
    cause: Cause | None = "submitted",
    benchmark: str = "programbench",
    files: Mapping[str, bytes] = FILES,
    usages: tuple[Usage | None, ...] = (Usage(input=10, output=7), Usage(input=20, output=5)),
    costs: Costs = COSTS,
    exported: bool = True,
    skipped: tuple[Skipped, ...] = (),
    variant: str | None = None,
    model: str = "m",
    chain: Mapping[str, Any] = NO_CHAIN,
    feedback: bool = False,
) -> Path:
    """Write a trial with a call for each usage; its workspace starts with the original program at `executable`."""
    directory = batch / f"{instance.partition('.')[0]}.{model}.0.{attempt}"
    directory.mkdir(parents=True)
    recorder = Recorder(directory, pool=batch / ".pool")
    recorder.append(
        TrialStarted(
            trial=directory.name,
            identity=str(attempt),
            attempt=attempt,
            task=TaskRef(id=f"{benchmark}/{instance}", benchmark=benchmark, digest="0"),
            model=ModelRef(asked=model, name=model),
            prompt=TextRef(name="programbench", sha256="0"),
            limits=Limits(),
            environment="docker",
            variant=variant,
            **chain,
        )
    )
    conversation = Conversation()
    conversation.add(recorder.append(Message(id="m1", role="user", content="rebuild it", why="task")))
    if feedback:
        source = FeedbackSource(trial="t", evaluation=1)
        recorder.append(Feedback(turn=1, form="scores", source=source))
    with SnapshotWriter(recorder, 0) as writer:
        writer.changed(b"executable", "created", "file", mode=0o111, mtime_ns=1, content=[PROGRAM])
        writer.finish()
    for step, usage in enumerate(usages, 1):
        ids, sha = conversation.take_new_ids(), conversation.sha256
        recorder.append(CallStarted(step=step, message_ids=ids, messages=step, messages_sha256=sha))
        conversation.add(
            recorder.append(
                CallFinished(
                    step=step,
                    id=f"r{step}",
                    reply=Reply(text="thinking"),
                    usage=usage,
                    costs=costs,
                    model_requested="m",
                    latency_s=0.1,
                )
            )
        )
    if cause is not None:
        recorder.append(Exited(exit=Exit.of(cause), steps=len(usages)))
    if exported:
        root = member("./")
        root[0].type, root[0].mode = b"5", 0o755
        archive = packed(
            tar_of([root, *(member(name, data) for name, data in files.items())]), directory / "workspace.tar.zst"
        )
        data = archive.read_bytes()
        recorder.append(
            WorkspaceExported(
                path=archive.name,
                bytes=len(data),
                sha256=hashlib.sha256(data).hexdigest(),
                entries=len(files) + 1,
                skipped=skipped,
            )
        )
    recorder.close()
    return directory


def evaluated(
    trial: Path,
    *,
    passing: float = 1.0,
    submission: bytes | None = None,
    recorded_sha256: str | None = None,
    error: str = "",
) -> dict[str, Any]:
    """Add an evaluation with the package's own test names, of which this share pass; return its eval.json.

    `submission` is the file that it leaves, `recorded_sha256` the hash of it in the verdict.
    """
    first, *_, last = read_events(trial)
    assert isinstance(first, TrialStarted)
    instance = instances.instance(first.task.id.partition("/")[2])
    result = eval_json(instance, passing)
    folder = trial / "evaluation"
    folder.mkdir(exist_ok=True)
    (folder / f"{instance.id}.eval.json").write_text(json.dumps(result, indent=2))
    if submission is not None:
        (folder / "submission.tar.gz").write_bytes(submission)
    sha256 = hashlib.sha256((trial / "workspace.tar.zst").read_bytes()).hexdigest()
    inputs = {} if recorded_sha256 is None else {"submission": recorded_sha256}
    evaluator = Evaluator(name="programbench", version="1.2.5", inputs=inputs)
    outcome = (
        {"status": "error", "error": error} if error else {"status": "scored", "quality": passing, "passed": False}
    )
    verdict = Verdict(**outcome, evaluator=evaluator, isolation="docker")
    recorder = Recorder(trial, after=last)
    submission = Submission(kind="archive", sha256=sha256)
    recorder.append(EvaluationStarted(evaluation=1, evaluator="programbench", submission=submission))
    recorder.append(Evaluated(verdict=verdict))
    recorder.close()
    return result


def eval_json(instance: instances.Instance, passing: float) -> dict[str, Any]:
    """Return a result as `programbench eval` writes it, with ignored tests, messages of failures and a log."""
    branches = json.loads((instance.directory / "tests.json").read_bytes())["branches"]
    names = [(branch, name) for branch, content in branches.items() for name in content["tests"]]
    results: list[dict[str, Any]] = []
    for number, (branch, name) in enumerate(names):
        passes = number < passing * len(names)
        extra: dict[str, Any] = {"time": 0.01} | ({} if passes else {"message": "assert", "text": "E   no"})
        results.append({"name": name, "branch": branch, "status": "passed" if passes else "failure", "extra": extra})
    step = {"step": "compile", "command": "./compile.sh", "wall_time": 1.0, "output": "made", "returncode": 0}
    return {
        "test_results": results,
        "error_code": None,
        "error_details": None,
        "log": [{**step, "exception_info": ""}],
        "solution_branch": "submission",
        "test_branches": list(branches),
        "test_branch_errors": {},
        "executable_hash": "0" * 64,
        "warnings": [],
    }
