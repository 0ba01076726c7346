"""Parents and forks in the output of `agent show` and `agent trials`, and the losses of resumed trials."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from agent.loop.actions import SUBMIT
from tests.pace import plain_python_s
from tests.solve.command import agent, script
from trajectories.reading.family import family


def solve(work: Path, *turns: str) -> Path:
    """Solve with a script of these turns; return the trial."""
    (work / "start").mkdir(exist_ok=True)
    argv = ["--instruction", "x", "--workspace", str(work / "start"), "--env", "local"]
    result = agent(work, "solve", *argv, "--model", script(work, *turns, SUBMIT), "--json")
    assert result.status == 0, result.err
    return result.trial


def fork(work: Path, parent: Path, at: int, *turns: str) -> Path:
    result = agent(work, "fork", str(parent), "--at", str(at), "--model", script(work, *turns, SUBMIT), "--json")
    assert result.status == 0, result.err
    return result.trial


def test_a_trial_is_shown_with_the_tree_of_its_forks(tmp_path: Path) -> None:
    first = solve(tmp_path, "echo 1", "echo 2")
    second = fork(tmp_path, first, 1, "-", "echo other way")
    third = fork(tmp_path, second, 1, "-", "-", "echo third way")
    page = agent(tmp_path, "show", str(second)).out
    assert f"forked from {first.name} at step 1" in page
    assert "inherited step 1 of the parent" in page
    assert "inherited tool: observation" in page
    tree = page[page.rindex(first.name) :]
    assert tree.index(f"at step 1: {second.name}") < tree.index(f"at step 1: {third.name}")
    summary = agent(tmp_path, "show", str(second), "--json").json
    assert summary["parent"] == {"trial": first.name, "step": 1}
    assert summary["forks"] == [{"trial": str(third.absolute()), "step": 1}]
    assert agent(tmp_path, "show", str(first), "--json").json["parent"] is None
    listed = agent(tmp_path, "trials", COLUMNS="400").out
    assert "fork of" in listed.splitlines()[0]
    assert f"{first.name} at 1" in listed
    shutil.rmtree(first)
    assert f"{first.name} (not found)" in agent(tmp_path, "show", str(second)).out


def test_records_that_name_each_other_as_parents_do_not_break_the_tree(tmp_path: Path) -> None:
    for name, parent in (("a", "b"), ("b", "a"), ("c", "c")):
        (tmp_path / "batch" / name).mkdir(parents=True)
        (tmp_path / "batch" / name / "events.jsonl").write_text(f'{{"parent":{{"trial":"{parent}","step":1}}}}\n')
    (tmp_path / "batch" / "d").mkdir()
    (tmp_path / "batch" / "d" / "events.jsonl").write_bytes(b'{"parent":{"trial"\xff\n')
    for name in "abcd":
        assert family(tmp_path / "batch" / name)[1].name == name


def test_a_thousand_trials_are_listed_quickly(tmp_path: Path) -> None:
    line = '{"type":"trial_started","pad":"' + "x" * 3000 + '","parent":{"trial":"t0","step":1}}\n'
    for number in range(1000):
        (tmp_path / "batch" / f"t{number}").mkdir(parents=True)
        (tmp_path / "batch" / f"t{number}" / "events.jsonl").write_text(line if number else "{}\n")
    began = time.process_time()
    root, _ = family(tmp_path / "batch" / "t5")
    assert time.process_time() - began < 10 * plain_python_s()
    assert len(root.children) == 999
