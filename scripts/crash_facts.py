"""The script that the trials of `scripts/crash-test` follow, and the facts by which they are compared."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.loop.solution import solution_of
from agent.models.free.oracle import commands
from benchmarks.task.registry import resolve_task
from trajectories.reading.reader import read_events
from trajectories.reading.summary import summarize
from trajectories.record.events import CallFinished, Evaluated, Message
from trajectories.record.layout import TrialFolder
from trajectories.workspace.exported import archive_manifest
from trajectories.workspace.states import state_at

_PIDS = re.compile(r" \(PIDs? [\d, .]+\)")
"""Process ids in an observation, which another run of the same commands does not have."""


@dataclass
class Facts:
    """Everything about a finished trial that must not depend on whether it was killed on its way."""

    steps: int
    usage: dict[str, Any]
    replies: list[str]
    observations: dict[str, str]
    workspace: dict[str, tuple[Any, ...]]
    exported: dict[str, tuple[Any, ...]]
    verdict: dict[str, str]
    exit: str

    def differences(self, other: Facts) -> list[str]:
        """Return one line for each fact that differs, with both values, shortened."""
        pairs = ((name, getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__)
        return [f"{name}: {str(a)[:200]} undisturbed, {str(b)[:200]} here" for name, a, b in pairs if a != b]


def script(path: Path) -> Path:
    """Write a script that solves demo/ledger in a dozen steps, all with effects that must not occur twice."""
    _, task = resolve_task("demo/ledger")
    lines = "\n".join(commands(solution_of(task).archive))
    turns: list[Any] = [
        ["echo looked >>log", "ls"],
        {"commands": ["echo slow >>log; sleep 0.4; echo slower >>log"], "reply_delay_s": 0.2},
        "mkdir -p many; for n in $(seq 400); do echo $n >many/$n; done",
        {"fail": {"error": "rate_limit", "retry_after_s": 0.1}},
        [lines, "echo solved >>log"],
        "head -c 6000000 /dev/zero | tr '\\0' 'x' >large; chmod 600 large; ln -s large link",
        ["sleep 0.2; false", "echo 1 >>log", "sleep 0.2; echo 2 >>log", "cat log"],
        {"text": "no command at all", "reply_delay_s": 0.2},
        "rm -r many/1*; mv large larger; rm link; mkdir -p a/b; touch -d @0 a/b/old",
        {"commands": ["(sleep 300 >/dev/null 2>&1 &); echo 3 >>log; wc -l log"], "reply_delay_s": 0.1},
        "rm -rf many larger a; sleep 0.2",
        ["cat log", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"],
    ]
    used = ({"input": 100 * n + 1, "cache_read": 7 * n, "output": 10 * n + 3, "reasoning": n} for n in range(1, 99))
    full = [turn if isinstance(turn, dict) else {"commands": turn} for turn in turns]
    path.write_text(json.dumps([turn if "fail" in turn else {**turn, "usage": next(used)} for turn in full]))
    return path


def facts_of(trial: Path) -> Facts:
    """Return the facts of a finished trial.

    Raises: RecordError.
    """
    events = list(read_events(trial))
    summary = summarize(trial, events)
    verdicts = [event.verdict for event in events if isinstance(event, Evaluated) and event.verdict]
    return Facts(
        steps=summary.steps,
        usage=summary.usage.model_dump(),
        replies=[event.reply.model_dump_json() for event in events if isinstance(event, CallFinished)],
        observations={
            event.action: _PIDS.sub("", event.content)
            for event in events
            if isinstance(event, Message) and event.action is not None
        },
        workspace={
            path: (entry.type, entry.mode, entry.size, entry.link, entry.sha256)
            for path, entry in state_at(trial).manifest.items()
        },
        exported={
            path: (entry.type, entry.mode, entry.size, entry.link, entry.sha256)
            for path, entry in archive_manifest(TrialFolder(trial).workspace).items()
        },
        verdict={case.id: case.status for verdict in verdicts[-1:] for case in verdict.cases},
        exit=str(summary.exit.cause if summary.exit else None),
    )
