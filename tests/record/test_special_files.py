"""Pipes, sockets and devices in the folder of a record are refused and never opened; zeros in a blob stay zeros."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from agent.loop.actions import SUBMIT
from tests.solve.command import CommandResult, agent, script
from trajectories.formats.export import export
from trajectories.formats.source import EXPORTED_BYTES
from trajectories.reading.reader import read_events
from trajectories.record.events import ActionFinished

FILES = (
    "events.jsonl",
    "trial.json",
    "verdict.json",
    "score.json",
    "steps.jsonl",
    "workspace.tar.zst",
    "lock",
    ".reserve",
    "blobs",
)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


def device(path: Path) -> None:
    os.symlink("/dev/zero", path)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("original")
    (work / "start").mkdir()
    (work / "start" / "file").write_text("x")
    model = script(work, "head -c 20000 /dev/urandom; echo 1 >one", "echo two", SUBMIT)
    result = agent(
        work,
        "solve",
        *("--instruction", "Work hard.", "--workspace", "start", "--env", "local", "--model", model, "--json"),
    )
    assert result.status == 0, result.err
    return result.trial


def copied(original: Path, to: Path) -> Path:
    trial = to / "runs" / "single" / original.name
    shutil.copytree(original, trial)
    return trial


def put(trial: Path, name: str, make: Callable[[Path], None]) -> None:
    if name == "blobs":
        for blob in list((trial / name).rglob("*.zst")):
            blob.unlink()
            make(blob)
        return
    (trial / name).unlink(missing_ok=True)
    make(trial / name)


def run(work: Path, *argv: str) -> CommandResult:
    """Run a command. It must end, without a traceback."""
    result = agent(work, *argv, timeout=60)
    assert "Traceback" not in result.err
    assert "internal error" not in result.err
    assert result.status in (0, 1, 2), result.err
    return result


@pytest.mark.parametrize(
    ("name", "make"),
    [
        *((name, pipe) for name in FILES),
        ("events.jsonl", unix_socket),
        ("trial.json", device),
        ("workspace.tar.zst", device),
        ("blobs", device),
    ],
)
def test_every_reader_ends_at_a_special_file(
    original: Path, tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    trial = copied(original, tmp_path)
    put(trial, name, make)
    shown = run(tmp_path, "show", str(trial), "--check")
    if name not in ("lock", ".reserve", "verdict.json", "steps.jsonl"):  # an index that is no file is made again
        assert shown.status != 0 or "warning" in shown.out, shown.out
    run(tmp_path, "trials")
    run(tmp_path, "show", str(trial), "--follow")
    run(tmp_path, "analyze", str(trial))
    run(tmp_path, "export", str(trial), "--format", "asciicast", "-o", "exported")
    run(tmp_path, "score", "runs")
    run(tmp_path, "checkout", str(trial), "out", "--step", "1")
    run(tmp_path, "evaluate", str(trial))
    run(tmp_path, "show", str(trial), "--rebuild")


@pytest.mark.parametrize("name", ["events.jsonl", "lock", ".reserve", "trial.new", "blobs"])
def test_a_trial_with_a_pipe_is_continued_or_refused(original: Path, tmp_path: Path, name: str) -> None:
    trial = copied(original, tmp_path)
    lines = (trial / "events.jsonl").read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if '"type":"exit"' in line)
    (trial / "events.jsonl").write_text("".join(lines[: at - 3]))
    put(trial, name, pipe)
    result = run(tmp_path, "resume", str(trial), "--json")
    refused = name in ("events.jsonl", "lock", "blobs")
    assert result.status == (2 if refused and name != "lock" else 1 if refused else 0), (result.status, result.err)
    run(tmp_path, "replay", str(trial), "--json")
    run(tmp_path, "fork", str(trial), "--at", "1", "--model", script(tmp_path, "-", SUBMIT), "--json")


def test_a_pipe_is_not_imported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.traj.json")
    result = run(tmp_path, "import", "run.traj.json")
    assert (result.status, "is not a regular file" in result.err) == (2, True)


def bomb(original: Path, to: Path, size: int) -> Path:
    """Return a copy whose first output is a blob of zeros."""
    trial = copied(original, to)
    lines = (trial / "events.jsonl").read_text().splitlines(keepends=True)
    output = next(event.output for event in read_events(trial) if isinstance(event, ActionFinished))
    assert output.blob
    path = trial / "blobs" / output.blob[:2] / f"{output.blob[2:]}.zst"
    path.unlink()
    with zstandard.open(path, "wb") as file:
        for _ in range(size >> 20):
            file.write(bytes(1 << 20))
    assert path.stat().st_size < size >> 10
    hashed = hashlib.sha256()
    for _ in range(size >> 20):
        hashed.update(bytes(1 << 20))
    named = trial / "blobs" / hashed.hexdigest()[:2] / f"{hashed.hexdigest()[2:]}.zst"
    named.parent.mkdir(exist_ok=True)
    path.rename(named)
    text = "".join(lines).replace('"kept":20000', f'"kept":{size}').replace(output.blob, hashed.hexdigest())
    (trial / "events.jsonl").write_text(text)
    return trial


@pytest.mark.parametrize("size", [3 << 20, 16 << 20, 512 << 20])
@pytest.mark.parametrize("format", ["mini", "atif", "openai", "asciicast"])
def test_a_blob_bomb_costs_an_export_no_more_than_100_mib(
    original: Path, tmp_path: Path, format: str, size: int
) -> None:
    trial = bomb(original, tmp_path, size)
    tracemalloc.start()
    data = export(trial, format)  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 << 20
    assert len(data) < EXPORTED_BYTES + (1 << 20)
    if format == "asciicast":
        assert (b"left out here" in data) == (size > EXPORTED_BYTES // 6)


@pytest.mark.parametrize("arguments", ['{"command": "ls", "n": NaN}', '{"command": "ls", "n": [-Infinity, 1e999]}'])
def test_a_number_that_json_lacks_in_the_arguments_of_a_tool_is_exported_as_it_was_sent(
    original: Path, tmp_path: Path, arguments: str
) -> None:
    trial = copied(original, tmp_path)
    lines = (trial / "events.jsonl").read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if '"type":"call_finished"' in line)
    event = json.loads(lines[at])
    event["reply"]["tool_calls"] = [{"id": "call_1", "name": "bash", "arguments": arguments}]
    lines[at] = json.dumps(event, separators=(",", ":")) + "\n"
    (trial / "events.jsonl").write_text("".join(lines))
    for format in ("mini", "atif", "openai"):
        exported = json.loads(export(trial, format).splitlines()[0] if format == "openai" else export(trial, format))
        if format != "openai":  # which leaves out a call without an answer
            assert arguments in json.dumps(exported).replace('\\"', '"')


def test_a_trial_is_resumed_with_the_instruction_of_its_record(tmp_path: Path) -> None:
    """A text of one word was a file's content, and may be the name of another file by now."""
    (tmp_path / "start").mkdir()
    (tmp_path / "task.md").write_text("notes.md")
    model = script(tmp_path, "echo one", SUBMIT)
    options = ("--workspace", "start", "--env", "local", "--model", model, "--json")
    result = agent(tmp_path, "solve", "--instruction", "task.md", *options)
    assert result.status == 0, result.err
    lines = (result.trial / "events.jsonl").read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if '"type":"message"' in line)
    for present in (False, True):
        (result.trial / "events.jsonl").write_text("".join(lines[:at]))
        if present:
            (tmp_path / "notes.md").write_text("Do something else entirely.")
        resumed = agent(tmp_path, "resume", str(result.trial), "--json")
        assert resumed.status == 0, resumed.err
        messages = [event.content for event in resumed.events if event.type == "message"]
        assert any("notes.md" in content for content in messages)
        assert not any("something else" in content for content in messages)
