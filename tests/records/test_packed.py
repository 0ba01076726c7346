"""Every record reads the same packed, by every command, and what continues a record unpacks it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.records.compared import (
    STUDY,
    by_benchmark,
    copy_of,
    differences,
    facts_of,
    read_only,
    score_of,
    trials_of,
)
from tests.records.test_compatibility import EXPECTED, RECORDS, VERSIONS, WHOLE, files_of
from tests.solve.command import agent
from trajectories.writing.packing import pack

COMMANDS = {
    "trials": ("trials", "--runs", "{}"),
    "analyze": ("analyze", "{}/single"),
    "integrity": ("analyze", "{}/{judged}", "--integrity"),
    "show": ("show", "{}/{solved-local}"),
    "step": ("show", "{}/{forked}", "--step", "1"),
    "diff": ("diff", "{}/{solved-local}", "{}/{forked}"),
}


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Directories of packed records, by schema version; `agent gc --pack` leaves those that may be resumed."""
    copies = {version: copy_of(version, tmp_path_factory.mktemp(version)) for version in VERSIONS}
    for copy in copies.values():  # records of plans, in `plans`, are no trials and are left as they are
        count = len(list(copy.glob("[!p]*/*/events.jsonl")))
        result = read_only("gc", "--pack", "--runs", str(copy), "--json")
        assert result.status == 0, result.err
        assert result.json["packed"]["unfinished"] == len(list(copy.glob("[!p]*/*/events.jsonl")))
        assert result.json["packed"]["trials"] == len(list(copy.glob("*/*/events.jsonl.zst")))
        assert result.json["packed"]["trials"] + result.json["packed"]["unfinished"] == count
        for path in copy.glob("[!p]*/*/events.jsonl"):
            pack(path.parent)
    before = {version: files_of(copy) for version, copy in copies.items()}
    yield copies
    assert {version: files_of(copy) for version, copy in copies.items()} == before


@pytest.mark.parametrize(("version", "name"), RECORDS)
def test_the_facts_of_a_packed_record_are_unchanged(
    packed: dict[str, Path], tmp_path: Path, version: str, name: str
) -> None:
    trial = packed[version] / trials_of(version)[name]
    assert not (trial / "events.jsonl").exists()
    facts = facts_of(trial, tmp_path)
    assert differences(EXPECTED[version]["records"][name], json.loads(json.dumps(facts))) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_packed_records_are_scored_as_before(packed: dict[str, Path], version: str) -> None:
    trials = {name: packed[version] / trial for name, trial in trials_of(version).items()}
    for benchmark, names in by_benchmark(EXPECTED[version]["records"]).items():
        score = score_of([trials[name] for name in names])
        assert differences(EXPECTED[version]["scores"][benchmark], score, benchmark) == []


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("version", WHOLE)
def test_a_command_prints_the_same_of_packed_records(
    packed: dict[str, Path], tmp_path: Path, version: str, command: str
) -> None:
    outputs = []
    for runs in (packed[version], copy_of(version, tmp_path)):
        argv = [each.format(runs, **trials_of(version)) for each in COMMANDS[command]]
        result = read_only(*argv, "--json")
        assert result.status == 0, result.err
        outputs.append(result.out.decode().replace(str(runs.parent), ""))
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("name", "argv", "grows"),
    [
        ("interrupted-only", ("resume", "{}"), True),
        ("evaluated-twice", ("evaluate", "{}"), True),
        ("solved-local", ("resume", "{}"), False),
        ("solved-local", ("replay", "{}"), False),
        ("solved-local", ("fork", "{}", "--at", "1", "--model", f"script:{STUDY}/models/fork.json"), False),
        ("solved-local", ("show", "{}", "--rebuild"), False),
        ("imported", ("import", "imported.traj.json"), False),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_what_continues_a_packed_record_unpacks_it(
    tmp_path: Path, name: str, argv: tuple[str, ...], grows: bool
) -> None:
    version = [version for version in VERSIONS if name in trials_of(version)][-1]
    runs = copy_of(version, tmp_path, moved=True)
    trial = runs / trials_of(version)[name]
    before = (trial / "events.jsonl").read_bytes()
    pack(trial)
    runs_option = () if argv[0] in ("replay", "show", "resume", "evaluate") else ("--runs", str(runs))
    result = agent(runs.parent, *(each.format(trial) for each in argv), *runs_option)
    assert result.status == 0, result.err
    assert (trial / "events.jsonl").exists() is grows
    assert (trial / "events.jsonl.zst").exists() is not grows
    if grows:
        after = (trial / "events.jsonl").read_bytes()
        assert after.startswith(before)
        assert len(after) > len(before)
    assert read_only("show", str(trial), "--check").status == 0
