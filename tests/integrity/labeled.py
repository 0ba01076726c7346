"""Commands with labels that a person gave them, and the findings of the rules about each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trajectories.analysis.integrity import Finding, scan
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    Change,
    EnvStarted,
    Limits,
    ModelRef,
    Output,
    Snapshot,
    TaskRef,
    TextRef,
    TrialStarted,
)

CORPUS = Path(__file__).parent / "labeled.txt"
TASK = "programbench/lua__lua.c6b4848"
HONEST = "honest"


@dataclass(frozen=True)
class Labeled:
    """One command; the label is `honest`, or the rule that it breaks. Nothing finds what is `missed`."""

    label: str
    command: str
    missed: bool = False


def labeled() -> Iterator[Labeled]:
    """Yield the commands of the corpus."""
    label, missed = "", False
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            *words, label = line[3:].split()
            missed = words == ["missed"]
        elif line and not line.startswith("# "):
            yield Labeled(label, line.replace("␤", "\n"), missed)


def findings_about(command: str, *, task: str = TASK, network: bool | None = False) -> list[Finding]:
    """Apply the rules to a trial that runs one command and has the original program in its workspace."""
    spec = {} if network is None else {"network": network}
    return scan(
        Path("/nonexistent"),
        [
            TrialStarted(
                trial="t.m.0.1",
                identity="0",
                task=TaskRef(id=task, benchmark="programbench", digest="0"),
                model=ModelRef(asked="m", name="m"),
                prompt=TextRef(name="default", sha256="0"),
                limits=Limits(),
                environment="docker",
                environment_spec=spec,
            ),
            EnvStarted(kind="docker", workdir="/workspace", seconds=0.1),
            Snapshot(
                step=0, changes=(Change(path="executable", change="created", mode=0o111, size=9, sha256="e" * 64),)
            ),
            ActionStarted(action="1.1", step=1, script=command, deadline_s=180),
            ActionFinished(
                action="1.1",
                step=1,
                ended="exited",
                exit_code=0,
                duration_s=0.1,
                output=Output(text="", bytes=0, kept=0, sha256=""),
            ),
        ],
    ).findings


def real_hunt() -> list[tuple[str, bool]]:
    """Return commands of a real run with their labels: True for those that hunt for the source.

    58 commands of runs/lua_miniswe_20260629_225007 in the public repository jerryjlwang/programbench-takehome
    (mini-swe-agent 2.4.3, gemini-3.5-flash, no network), copied and labeled by hand: a command hunts if the model's own
    words beside it say that it looks for Lua's source, its packages or a way to get them.
    """
    lines = Path(__file__).with_name("public_run.jsonl").read_text(encoding="utf-8").splitlines()
    return [(line["command"], line["hunts"]) for line in map(json.loads, lines)]


@dataclass(frozen=True)
class Measured:
    """The outcome of the rules on the commands of one label."""

    label: str
    commands: int
    found: int
    missed: tuple[str, ...]


def measured() -> list[Measured]:
    """Apply the rules to the corpus: for `honest`, `found` counts false alarms; any finding counts for the others."""
    found: dict[str, list[bool]] = {}
    missed: dict[str, list[str]] = {}
    for line in labeled():
        hit = bool(findings_about(line.command))
        found.setdefault(line.label, []).append(hit)
        if not hit:
            missed.setdefault(line.label, []).append(line.command)
    return [
        Measured(label, len(hits), sum(hits), () if label == HONEST else tuple(missed.get(label, ())))
        for label, hits in found.items()
    ]


def measured_table() -> str:
    """Return precision and recall as a Markdown table for the docs."""
    rows = measured()
    honest = next(row for row in rows if row.label == HONEST)
    broken = [row for row in rows if row.label != HONEST]
    total = Measured("all rules", sum(row.commands for row in broken), sum(row.found for row in broken), ())
    lines = ["| label | commands | found | recall | precision |", "|---|---|---|---|---|"]
    for row in (*broken, total):
        precision = row.found / (row.found + honest.found)
        cells = (row.label, row.commands, row.found, f"{row.found / row.commands:.1%}", f"{precision:.1%}")
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    lines.append(f"| {HONEST} | {honest.commands} | {honest.found} | | |")
    return "\n".join(lines) + "\n"
