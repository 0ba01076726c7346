"""The study of Table 4: its provider, its table, and its bill after kills."""

from __future__ import annotations

import importlib.util
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from scripts.study_test import STUDY, Run, study_test


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"table4_{name}", STUDY / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


provider = load("provider")
LEDGER, CRONWHEN = provider.TASKS


def faults(task: Any, *told: str) -> int:
    return len(provider.faults_left(task, "\n".join((task.sign, *told))))


def test_each_intervention_changes_what_the_worker_writes() -> None:
    plan, answer = (provider.reply_to(request(role, CRONWHEN, 1))["content"] for role in ("planner", "expert"))
    assert faults(CRONWHEN) == 3
    assert faults(CRONWHEN, plan) == faults(CRONWHEN, answer) == 2
    assert faults(CRONWHEN, plan, answer) == 1
    results = "\n".join(f"FAILED test_fix.py::{fault.tests} - no" for fault in CRONWHEN.faults)
    assert faults(CRONWHEN, provider.FEEDBACK, results) == 2
    assert faults(CRONWHEN, provider.FEEDBACK, "60 passed") == 0


@pytest.mark.parametrize("task", provider.TASKS, ids=lambda task: task.name)
def test_each_fault_is_one_of_the_solution(task: Any) -> None:
    whole = provider.written(task, [])
    assert len({whole, *(provider.written(task, [fault]) for fault in task.faults)}) == 1 + len(task.faults)


@pytest.mark.parametrize("role", ["planner", "expert"])
def test_careless_first_replies_break_the_rule_and_the_later_ones_keep_it(role: str) -> None:
    from agent.guidance.no_code import check

    for task, language in ((LEDGER, "any"), (CRONWHEN, "Python")):
        solution = provider.DEMOS / task.name / "solution"
        first, later = (provider.reply_to(request(role, task, replies))["content"] for replies in (0, 1))
        assert (check(first, language=language, solution=solution) is not None) == bool(task.careless)
        assert check(later, language=language, solution=solution) is None


def request(role: str, task: Any, replies: int) -> dict[str, Any]:
    messages = [{"role": "user", "content": task.sign}] + [{"role": "assistant", "content": "x"}] * replies
    return {"model": role, "messages": messages}


@pytest.fixture(scope="module")
def killed() -> Iterator[Run]:
    """One guided trial that was killed twice, and continued."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # pytest's own are closed to a sandbox
        Path(folder).chmod(0o755)
        arguments = ["--tasks", "cronwhen", "--modes", "interactive"]
        run = Run(Path(folder) / "killed", arguments, random.Random(4), longest_s=0.3)
        run.to_end(2, print)
        yield run


@pytest.mark.sandbox
def test_a_trial_that_was_killed_twice_has_its_result_and_its_whole_bill(killed: Run) -> None:
    outcome = killed.outcome
    assert outcome.troubles == []
    assert outcome.kills == 2
    (facts,) = outcome.facts.values()
    assert facts["steps"] == 5
    assert facts["interventions"]["questions"] == 1
    assert facts["interventions"]["refused"] == 1
    assert 0.9 < facts["quality"] < 1


@pytest.mark.sandbox
def test_a_request_that_is_in_no_record_or_in_two_is_found(killed: Run, tmp_path: Path) -> None:
    study = tmp_path / "study"
    shutil.copytree(killed.study, study)
    bill = study / "bill.jsonl"
    lines = bill.read_text().splitlines()
    bill.write_text("\n".join([*lines, json.dumps({**json.loads(lines[-1]), "request": 99})]) + "\n")
    assert "request 99 of worker is in no record" in reckoning(study)
    bill.write_text("\n".join(lines) + "\n")
    assert "billed $" in reckoning(study)
    assert "trouble" not in reckoning(study)
    trial = next((study / "runs" / "interactive").glob("*/events.jsonl")).parent
    shutil.copytree(trial, trial.with_name("twice"))
    assert "is recorded 2 times" in reckoning(study)


def reckoning(study: Path) -> str:
    return subprocess.run([sys.executable, STUDY / "calls.py", study], capture_output=True, text=True).stdout


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.timeout(3000)
def test_the_study_killed_at_twenty_moments_gives_the_same_table() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        _, _, troubles = study_test(Path(folder), 20, [], seed=1)
    assert troubles == []
