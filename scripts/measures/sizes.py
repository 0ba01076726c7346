"""Measures of a record's size: bytes per step, with and without packing, beside the same with all copies of texts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.loop.actions import SUBMIT
from agent.loop.worker import LoopWorker
from agent.trial.fresh import Fresh
from agent.trial.options import Options
from agent.trial.resolve import resolve
from agent.trial.run import run_new
from scripts.measures.figures import Figure
from trajectories.errors import RecordError
from trajectories.formats.errors import BadDocument
from trajectories.formats.trial import import_file
from trajectories.reading.packed import record_state
from trajectories.reading.reader import read_events
from trajectories.record.events import ActionFinished, ActionStarted, CallFinished, Event, InheritedReply, Reply
from trajectories.record.layout import TrialFolder
from trajectories.writing.packing import pack

_REAL = Path("../shared/data/mini-swe-agent")
_SMALLEST_STEPS = 20
_LIMIT = 0.11
"""The aim is a tenth, which imported runs miss: hashes, ids and times do not compress."""


@dataclass(frozen=True)
class Size:
    """Bytes of records of so many steps."""

    steps: int
    whole: int
    """With every copy of a text in its line."""
    plain: int
    packed: int

    def figure(self, name: str) -> Figure:
        """Return the share of the packed record in the whole one."""
        whole, plain, packed = (round(size / self.steps) for size in (self.whole, self.plain, self.packed))
        detail = f"bytes a step: {whole} with all copies, {plain} plain, {packed} packed; {self.steps} steps"
        return Figure(f"a packed record, {name}, against one with all copies", packed / whole, "", _LIMIT, detail)


def sizes() -> Iterator[Figure]:
    """Yield the figures of real runs: imported, and recorded again over the wire. Nothing without the real data."""
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder, "runs")
        for path in sorted(_REAL.rglob("*.json")):
            try:
                import_file(path, runs)
            except (BadDocument, RecordError):
                continue
        imported = [path.parent for path in runs.glob("*/events.jsonl")]
        events = {trial: list(read_events(trial)) for trial in imported}
        real = [trial for trial in imported if _steps(events[trial]) >= _SMALLEST_STEPS]
        if not real:
            return
        longest = max(real, key=lambda trial: _steps(events[trial]))
        wires = {protocol: _recorded(Path(folder, protocol), protocol, events[longest]) for protocol in _MODELS}
        yield size_of(real).figure(f"{len(real)} imported runs")
        for protocol, trial in wires.items():
            yield size_of([trial]).figure(f"recorded over the wire ({protocol})")


def size_of(trials: Sequence[Path]) -> Size:
    """Return the size of these records, which are packed afterwards."""
    steps = whole = plain = packed = 0
    for trial in trials:
        steps += _steps(list(read_events(trial)))
        whole += sum(len(_with_copies(line)) for line in TrialFolder(trial).events.read_bytes().splitlines())
        plain += record_state(TrialFolder(trial).events).size
        pack(trial)
        packed += TrialFolder(trial).packed.stat().st_size
    return Size(steps, whole, plain, packed)


def _with_copies(line: bytes) -> bytes:
    """Return a line as it would be with all copies of the reply's texts."""
    event = json.loads(line)
    if isinstance(event.get("reply"), dict):
        event["reply"] = Reply.model_validate(event["reply"]).model_dump()
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _steps(events: Sequence[Event]) -> int:
    return sum(isinstance(event, CallFinished) for event in events)


_MODELS = {
    "chat": ("openai/gpt-wire", {}),
    "responses": ("openai/gpt-5.4", {"api": "responses"}),
    "anthropic": ("anthropic/claude-opus-4-7", {}),
}


def _recorded(folder: Path, protocol: str, events: Sequence[Event]) -> Path:
    """Record a trial over the wire whose model answers, and whose commands print, what a real run recorded."""
    from tests.wire.replies import Turn
    from tests.wire.server import WireServer

    (start := folder / "start").mkdir(parents=True)
    outputs = {event.action: event.output.text for event in events if isinstance(event, ActionFinished)}
    commands: dict[int, list[str]] = {}
    for event in events:
        if isinstance(event, ActionStarted):
            number, script = event.action, event.script or ""
            (start / number).write_text(outputs.get(number, ""))
            quoted = f": <<'REAL_COMMAND'\n{script}\nREAL_COMMAND\ncat {number}"
            commands.setdefault(event.step, []).append(quoted)
    replies = [event for event in events if isinstance(event, CallFinished | InheritedReply)]
    turns = [
        Turn(text=event.reply.text, commands=tuple(commands[event.step])) for event in replies if event.step in commands
    ]
    name, settings = _MODELS[protocol]
    with WireServer([*turns, Turn(commands=(SUBMIT,))]) as server:
        order = resolve(
            Options(
                instruction="Work.",
                workspace=start,
                env="local",
                model=name,
                model_settings=settings,
                api_base=server.base(protocol),
                runs=folder / "runs",
                step_limit=len(turns) + 1,
            )
        )
        outcome, _ = run_new(order, Fresh(), LoopWorker(order))
        assert outcome.exit.cause == "submitted", outcome.exit
        return outcome.directory
