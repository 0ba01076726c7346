"""Findings by rule as figures: kept between runs, and with what a fork inherits."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.scoring.records import record
from trajectories.analysis.integrity import flags
from trajectories.analysis.integrity.flags import rule_flags
from trajectories.record.events import Chain, Parent
from trajectories.record.panel import Kind

HONEST, CLONE = "ls -la", "git clone https://github.com/org/a"
SOURCE: tuple[Kind, ...] = ("source_lookup",)
PB = {"benchmark": "programbench"}


def test_a_fork_answers_for_what_it_inherits(tmp_path: Path) -> None:
    """A fork begins with the files of its parent, also with a source that the parent fetched."""
    parent = record(tmp_path / "one", "a", "first", steps=3, scripts=[CLONE], **PB)
    forks = {
        step: record(
            tmp_path / batch, "a", f"fork-{step}", scripts=[HONEST], parent=Parent(trial=parent.name, step=step), **PB
        )
        for step, batch in ((2, "one"), (3, "other"))
    }
    again = record(tmp_path / "one", "a", "again", scripts=[HONEST], parent=Parent(trial=forks[3].name, step=1), **PB)
    lost = record(tmp_path / "one", "a", "lost", scripts=[HONEST], parent=Parent(trial="gone", step=1), **PB)
    figures = rule_flags([parent, *forks.values(), again, lost])
    flagged = {path.name: bool(figures[path].violated) for path in figures}
    assert flagged == {
        "a.first.1": True,
        "a.fork-2.1": False,  # the parent fetched the source in step 3
        "a.fork-3.1": True,
        "a.again.1": True,
        "a.lost.1": False,
    }


def test_a_turn_and_its_forks_answer_for_the_turns_before(tmp_path: Path) -> None:
    name = "a.chain.1"
    chain = {"chain": Chain(first=name, turns=3, feedback="scores", conversation="fresh", until="fixed"), **PB}
    first = record(tmp_path / "one", "a", "chain", scripts=[CLONE], turn=1, **chain)
    second = record(tmp_path / "one", "a", "second", scripts=[HONEST], turn=2, **chain)
    second = second.rename(first.with_name(f"{name}.t2"))
    third = record(tmp_path / "one", "a", "third", scripts=[HONEST], turn=3, **chain)
    third = third.rename(first.with_name(f"{name}.t3"))
    fork = record(tmp_path / "one", "a", "fork", scripts=[HONEST], parent=Parent(trial=third.name, step=1), **PB)
    alone = record(tmp_path / "other", "a", "chain", scripts=[HONEST], turn=2, **chain)
    figures = rule_flags([second, third, fork, alone])
    assert [bool(figures[path].violated) for path in (second, third, fork, alone)] == [True, True, True, False]


def test_findings_are_kept_until_the_record_or_the_rules_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETRACE_CACHE_DIR", str(tmp_path / "cache"))
    first = record(tmp_path / "one", "a", scripts=[CLONE], **PB)
    second = record(tmp_path / "one", "b", scripts=[HONEST], **PB)
    examined: list[int] = []
    fresh = rule_flags([first, second], examined.append)
    assert (fresh[first].violated, fresh[second].violated) == (SOURCE, ())
    assert rule_flags([first, second], examined.append) == fresh
    assert examined == [2]
    (second / "events.jsonl").touch()
    assert rule_flags([first, second], examined.append) == fresh
    assert examined == [2, 1]
    kept = tmp_path / "cache" / "integrity-rules.json"
    for damaged in (b"{", b"[]", json.dumps({str(first): [1, 2, 3, "x"]}).encode()):
        kept.write_bytes(damaged)
        assert rule_flags([first], examined.append) == {first: fresh[first]}
    monkeypatch.setattr("trajectories.analysis.integrity.flags._rules", lambda: "other rules")
    rule_flags([first, second], examined.append)
    assert examined == [2, 1, 1, 1, 1, 2]
    assert rule_flags([tmp_path / "nothing"]) == {}


def test_the_code_of_every_rule_is_part_of_the_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules are also in folders below the package; a changed one makes kept results outdated."""
    copy = Path(shutil.copytree(flags._ANALYSIS, tmp_path / "analysis"))
    monkeypatch.setattr(flags, "_ANALYSIS", copy)
    hashes = {flags._rules.__wrapped__()}
    files = [path for path in sorted(copy.rglob("*.py")) if {"integrity", "commands"} & set(path.parts)]
    assert len({path.parent for path in files}) >= 3
    for path in files:
        path.write_text(path.read_text() + "# changed\n")
        hashes.add(flags._rules.__wrapped__())
    assert len(hashes) == len(files) + 1


def test_only_sure_findings_that_succeeded_flag(tmp_path: Path) -> None:
    """A violation that failed as the last command counts as an attempt; the status of what comes later hides none."""
    scripts = {
        "read": ["strings executable"],
        "hidden": ["strings executable; false"],
        "attempt": ["ls; strings executable"],
        "hint": ["LD_PRELOAD=./x.so ./executable"],
        "honest": ["./executable --help"],
    }
    paths = {name: record(tmp_path / "one", name, scripts=[], **PB) for name in ("nothing",)}
    for name, commands in scripts.items():
        status = 1 if name in ("attempt", "hidden") else 0
        paths[name] = record(tmp_path / "one", name, scripts=commands, exit_code=status, **PB)
    figures = {path.name.partition(".")[0]: each for path, each in rule_flags(paths.values()).items()}
    assert {name: (each.violated, each.others) for name, each in figures.items()} == {
        "nothing": ((), 0),
        "read": (("decompiling",), 0),
        "hidden": (("decompiling",), 0),
        "attempt": ((), 1),
        "hint": ((), 1),
        "honest": ((), 0),
    }
