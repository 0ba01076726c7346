"""Measures of the record: a step, reading, a snapshot of many files, checkout, replay, a list of many trials."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from agent.loop.actions import SUBMIT
from agent.replay.replay import Replay
from agent.replay.start import replay_start
from agent.trial.snapshots import Snapshots
from scripts.measures.environments import started, step as true
from scripts.measures.figures import Figure, command, interleaved, timed, watched
from scripts.measures.sizes import sizes
from scripts.measures.trial import solve
from trajectories.reading.reader import first_event, read_events
from trajectories.record.conversation import Conversation
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    CallFinished,
    CallStarted,
    Exited,
    Message,
    Reply,
    Snapshot,
)
from trajectories.record.layout import EVENTS, POOL, SUMMARY
from trajectories.record.usage import Usage
from trajectories.workspace.checkout import check_out
from trajectories.workspace.snapshot_writer import SnapshotWriter
from trajectories.workspace.states import state_at
from trajectories.writing.recorder import Recorder

STEPS = 10_000
FILES = 5_000
TRIALS = 1_000
MANY_TRIALS = 10_000
OUTPUT = b"".join(b"%04d a line of some output\n" % number for number in range(20))


def measure() -> Iterator[Figure]:
    """Yield all figures."""
    with tempfile.TemporaryDirectory() as folder:
        trial = solve(folder, f"script:{_script(folder, 300)}", "--no-evaluate")
        yield from steps_and_reading(Path(folder), trial)
        yield from checkout_time(Path(folder), trial)
        yield replay_rate(trial)
        yield from list_measures(Path(folder), trial)
    yield from snapshot_time()
    yield from sizes()


class Long:
    """A record that grows by whole steps, as a trial writes them; `synced_s` are the times of waiting for the disk."""

    def __init__(self, directory: Path, template: Path) -> None:
        directory.mkdir(parents=True)
        self.recorder = Recorder(directory, pool=directory.parent / POOL)
        self.recorder.append(first_event(template))
        self._conversation = Conversation()
        self._messages = 0
        self.steps = 0
        self.synced_s: list[float] = []
        self.own_s: list[float] = []
        self._take_in("What to do.", None)

    def step(self) -> None:
        """Record one call with one action and its results."""
        began, synced = time.perf_counter(), len(self.synced_s)
        recorder, number = self.recorder, self.steps + 1
        ids = self._conversation.take_new_ids()
        recorder.append(
            CallStarted(
                step=number, message_ids=ids, messages=self._messages, messages_sha256=self._conversation.sha256
            )
        )
        self._sync()
        reply = Reply(text=f"I look at file {number}.\n```bash\ncat {number}.c | head -20\n```")
        self._messages += 1
        finished = recorder.append(
            CallFinished(
                step=number,
                id=f"m{self._messages}",
                reply=reply,
                usage=Usage(input=number, output=40),
                model_requested="m",
                latency_s=1.0,
            )
        )
        self._conversation.add(finished)
        action = f"{number}.1"
        recorder.append(ActionStarted(action=action, step=number, script=f"cat {number}.c | head -20", deadline_s=60))
        self._sync()
        recorder.append(
            ActionFinished(
                action=action,
                step=number,
                ended="exited",
                exit_code=0,
                duration_s=0.01,
                output=recorder.output(OUTPUT, len(OUTPUT)),
            )
        )
        self._take_in(OUTPUT.decode(), action)
        recorder.append(Snapshot(step=number, changes=()))
        self.steps = number
        self.own_s.append(time.perf_counter() - began - sum(self.synced_s[synced:]))

    def _take_in(self, content: str, action: str | None) -> None:
        self._messages += 1
        why = "observation" if action else "task"
        message = Message(id=f"m{self._messages}", role="user", content=content, why=why, action=action)
        self._conversation.add(self.recorder.append(message))

    def _sync(self) -> None:
        began = time.perf_counter()
        self.recorder.sync()
        self.synced_s.append(time.perf_counter() - began)


def steps_and_reading(folder: Path, template: Path) -> Iterator[Figure]:
    """Compare a step at the end of a long record with one at its beginning; read the record."""
    tenth = STEPS // 10
    old, fresh = (Long(folder / "long" / name, template) for name in ("old", "fresh"))
    for _ in range(STEPS - tenth):
        old.step()
    late, early = interleaved(old.step, fresh.step, runs=tenth)
    detail = f"{1000 * late:.2f} ms against {1000 * early:.2f} ms, disk included, timed in turn"
    yield Figure(f"last tenth of {STEPS} recorded steps over the first", late / early, "", 1.1, detail)
    own_s, synced_s = statistics.median(old.own_s), 2 * statistics.median(old.synced_s)
    detail = f"six events; the two fdatasync take {1000 * synced_s:.2f} ms"
    yield Figure("a recorded step beside fsync", 1000 * own_s, "ms", 2, detail)
    old.recorder.close()
    fresh.recorder.close()
    events = _read_lines(folder / "long" / "old", folder / "short", 10_000)
    lines = (folder / "short" / EVENTS).read_bytes().splitlines()
    took_s, plain_s = interleaved(
        lambda: list(read_events(folder / "short")), lambda: [json.loads(line) for line in lines], runs=5
    )
    yield Figure("reading 10,000 events", took_s, "s", 1, f"json.loads of {events} lines takes {plain_s:.2f} s")


def _read_lines(trial: Path, to: Path, count: int) -> int:
    """Make a record of the first events of another one; return their number."""
    to.mkdir()
    lines = (trial / EVENTS).read_bytes().splitlines(keepends=True)[:count]
    (to / EVENTS).write_bytes(b"".join(lines))
    return len(lines)


def checkout_time(folder: Path, template: Path) -> Iterator[Figure]:
    """Check out steps of a record of 1,000 steps that each changed one file of many."""
    long = Long(folder / "snapshots" / "trial", template)
    recorder = long.recorder
    with SnapshotWriter(recorder, 0) as writer:
        for directory in range(50):
            writer.changed(b"%d" % directory, "created", "directory", mode=0o755)
        for number in range(FILES):
            content = b"file %d\n" % number * 20
            path = b"%d/%d.c" % (number % 50, number)
            writer.changed(path, "created", "file", mode=0o644, mtime_ns=10**18, content=[content])
        writer.finish()
    took: list[float] = []
    for number in range(1, 1001):
        recorder.append(ActionStarted(action=f"{number}.1", step=number, script="true", deadline_s=60))
        began = time.perf_counter()
        with SnapshotWriter(recorder, number) as writer:
            path = b"%d/%d.c" % (number % 50, number)
            writer.changed(path, "modified", "file", mode=0o644, mtime_ns=10**18, content=[b"now %d\n" % number])
            writer.finish()
        took.append(time.perf_counter() - began)
    recorder.close()
    trial = recorder.directory
    disk_s, plain_s = interleaved(
        lambda: _check_out(trial, 500, folder), lambda: _write_plainly(folder / "plain"), runs=1
    )
    detail = f"slowest of steps 0, 1, 500, 1000 with {FILES} files, to memory; to this disk {disk_s:.2f} s, "
    detail += f"plain writing of as many there {plain_s:.2f} s (ext4 is slow to give out file numbers just freed)"
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else folder) as memory:
        times = [timed(partial(_check_out, trial, number, Path(memory)), 1) for number in (0, 1, 500, 1000)]
    yield Figure("checkout of a step", max(times), "s", 1, detail)
    detail = "content hashed, compressed, synced, named; then the event"
    yield Figure("recording one changed file", 1000 * statistics.median(took), "ms", 3, detail)


def _check_out(trial: Path, step: int, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as to:
        assert check_out(state_at(trial, step), Path(to)).files == FILES


def _write_plainly(to: Path) -> None:
    for number in range(50):
        (to / str(number)).mkdir(parents=True)
    for number in range(FILES):
        (to / str(number % 50) / f"{number}.c").write_bytes(b"file")
    shutil.rmtree(to)


def replay_rate(trial: Path) -> Figure:
    """Measure the replayed steps per second in Docker, by the difference of a long and a short replay."""
    count = sum(isinstance(event, ActionStarted) for event in read_events(trial))
    first = first_event(trial)

    def run(to: int) -> float:
        began = time.perf_counter()
        report = Replay(trial, replay_start(trial, first), lambda _: None).run(to)
        assert report.returncodes_equal == report.actions == to
        return time.perf_counter() - began

    run(1)
    short = statistics.median(run(1) for _ in range(3))
    took_s = run(count) - short
    with started("docker") as (docker, _):
        bare = timed(partial(true, docker), 100, warm_up=5)
    step_s = took_s / (count - 1)
    detail = f"{1000 * step_s:.1f} ms against {1000 * bare:.1f} ms, {1 / step_s:.0f} steps/s; start {short:.1f} s"
    return Figure("a replayed step in Docker, against the command `true` alone", step_s / bare, "", 2.5, detail)


def list_measures(folder: Path, trial: Path) -> Iterator[Figure]:
    """Run `agent trials` over many finished trials."""
    assert any(isinstance(event, Exited) for event in read_events(trial))
    few, many = folder / "few", folder / "many"
    _copies(trial, few, TRIALS)
    _copies(trial, many, MANY_TRIALS)
    agent = str(Path(sys.executable).with_name("agent"))
    took_s = timed(lambda: command(agent, "trials", "--json", "--runs", str(few)), runs=5)
    bare_s = timed(lambda: command(agent, "--help"), runs=5)
    yield Figure(f"`agent trials` of {TRIALS}", took_s, "s", 1, f"`agent --help` takes {bare_s:.2f} s")
    table = watched(agent, "trials", "--runs", str(many))
    listed = watched(agent, "trials", "--json", "--runs", str(many))
    conditions = ("--task", "*", "--model", "*", "--since", "2026-01-01")
    selected = watched(agent, "trials", "*", *conditions, "--runs", str(many))
    assert len(json.loads(listed.output)["trials"]) == len(table.output.splitlines()) - 1 == MANY_TRIALS
    assert len(selected.output.splitlines()) - 1 == MANY_TRIALS
    peak_mb = max(table.peak_mb, listed.peak_mb, selected.peak_mb)
    detail = (
        f"the whole process; table {table.peak_mb:.0f} MB, --json {listed.peak_mb:.0f} MB, "
        f"selected by four conditions {selected.peak_mb:.0f} MB"
    )
    yield Figure(f"`agent trials` of {MANY_TRIALS}: peak memory", peak_mb, "MB", 60, detail)
    ratio, detail = selected.cpu_s / table.cpu_s, f"processor time {selected.cpu_s:.1f} s against {table.cpu_s:.1f} s"
    yield Figure("the same, all selected by four conditions, against the plain table", ratio, "", 1.7, detail)


def _copies(trial: Path, runs: Path, count: int) -> None:
    """Make many trials of one; they share its files."""
    for number in range(count):
        to = runs / f"batch-{number % 10}" / f"{trial.name}-{number}"
        to.mkdir(parents=True)
        for name in (EVENTS, SUMMARY):
            os.link(trial / name, to / name)


def snapshot_time() -> Iterator[Figure]:
    """Compare the snapshot of a step that changed one file of many, in Docker, with a plain `find -printf`."""
    with started("docker") as (docker, _), tempfile.TemporaryDirectory() as folder:
        trial = Path(folder, "batch", "trial")
        trial.mkdir(parents=True)
        recorder = Recorder(trial, pool=trial.parent / POOL)
        snapshots = Snapshots(docker, recorder)
        make = "for d in {1..50}; do mkdir $d; for f in {1..100}; do echo $d.$f >$d/$f; done; done"
        assert docker.execute(make, deadline_s=120).exit_code == 0
        snapshots.keep_first()
        ours, plain, empty = [], [], []
        for number in range(1, 61):
            docker.execute(f"echo {number} >>{number % 50 + 1}/7", deadline_s=30)
            began = time.perf_counter()
            snapshots.after_step(2 * number)
            ours.append(time.perf_counter() - began)
            printed = docker.execute(PLAIN, deadline_s=30).output
            plain.append(int(bytes(printed)) / 1e6)
            began = time.perf_counter()
            snapshots.after_step(2 * number + 1)
            empty.append(time.perf_counter() - began)
        recorder.close()
    took_s, beside_s = statistics.median(ours), statistics.median(plain)
    detail = f"{1000 * took_s:.1f} ms against {1000 * beside_s:.1f} ms; quickest {1000 * min(ours):.1f}"
    name = f"a snapshot in Docker, one of {FILES} files changed, against plain `find -printf`"
    yield Figure(name, took_s / beside_s, "", 2, detail)
    empty_s = statistics.median(empty)
    detail = f"{1000 * empty_s:.1f} ms; quickest {1000 * min(empty):.1f}"
    yield Figure("the same, nothing changed", empty_s / beside_s, "", 1.5, detail)


PLAIN = r"""
began=$EPOCHREALTIME
find . -printf '%y%m %s %i %C@ %P\0' >/dev/null
ended=$EPOCHREALTIME
echo $((${ended/./} - ${began/./}))"""


def _script(folder: str, count: int) -> Path:
    script = Path(folder, "script.json")
    script.write_text(json.dumps(["true"] * count + [SUBMIT]))
    return script
