"""Measures of `agent score` over trials of a clean room: the integrity rules the first time, and from the cache."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.measures.figures import Figure, Watched, watched
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    CallFinished,
    CallStarted,
    Exited,
    Limits,
    ModelRef,
    Reply,
    TaskRef,
    TextRef,
    TrialStarted,
)
from trajectories.record.exits import Exit
from trajectories.writing.derived import write_conveniences
from trajectories.writing.recorder import Recorder

TRIALS, COMMANDS = 200, 100
_SCRIPTS = (
    "cd /workspace && ls -la && git status --short | head -20",
    "cat > src/main.rs <<'EOF'\nfn main() {\n    println!(\"{}\", std::env::args().count());\n}\nEOF\ncargo build -q",
    'for f in a b c; do ./executable --width 80 "$f" > out/$f.txt 2>&1 || echo "failed: $f"; done',
    "sed -i 's/old/new/g; 1,10s/a/b/' src/lib.rs && grep -rn 'fn parse' src | cut -d: -f1 | sort | uniq -c",
    "diff <(./executable -h) <(./mine -h) | head -50; echo $?",
)


def measure_rules() -> Iterator[Figure]:
    """Yield the figures."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(TRIALS):
            _write(Path(folder, "batch", f"t{number}"))
        os.environ["RETRACE_CACHE_DIR"] = f"{folder}/cache"
        try:
            without = _scored(folder, "--integrity-by", "panel")
            first = _scored(folder)
            again = _scored(folder)
        finally:
            del os.environ["RETRACE_CACHE_DIR"]
    rules_s = (first.cpu_s - without.cpu_s) / (TRIALS * COMMANDS) * 1000
    name = f"agent score of {TRIALS} trials with {COMMANDS} commands each: integrity rules, processor time"
    yield Figure(f"{name} for 1,000 commands", rules_s, "s", 1.0, f"the first time; {first.cpu_s:.1f} s in all")
    detail = f"{again.cpu_s:.2f} s and {without.cpu_s:.2f} s"
    yield Figure("the second time, against a score without rules", again.cpu_s / without.cpu_s, "times", 1.3, detail)


def _scored(folder: str, *options: str) -> Watched:
    command = ("-m", "agent.cli.main", "score", f"{folder}/batch", "--replicates", "10", "--json", *options)
    return watched(sys.executable, *command)


def _write(directory: Path) -> None:
    directory.mkdir(parents=True)
    recorder = Recorder(directory)
    recorder.append(
        TrialStarted(
            trial=directory.name,
            identity=directory.name,
            task=TaskRef(id=f"programbench/{directory.name}", benchmark="programbench", digest="0"),
            model=ModelRef(asked="m", name="maker/m"),
            prompt=TextRef(name="default", sha256="0"),
            limits=Limits(),
            environment="docker",
        )
    )
    for step in range(1, COMMANDS + 1):
        recorder.append(CallStarted(step=step, message_ids=(), messages=0, messages_sha256="0"))
        reply = CallFinished(step=step, id=f"r{step}", reply=Reply(text="x"), model_requested="m", latency_s=0.1)
        recorder.append(reply)
        action, script = f"{step}.1", _SCRIPTS[step % len(_SCRIPTS)]
        recorder.append(ActionStarted(action=action, step=step, script=script, deadline_s=9))
        output = recorder.output(b"some output\n", 12)
        recorder.append(
            ActionFinished(action=action, step=step, ended="exited", exit_code=0, duration_s=0.1, output=output)
        )
    recorder.append(Exited(exit=Exit.of("submitted"), steps=COMMANDS))
    recorder.close()
    write_conveniences(directory)
