"""Ablations change a task and its identity, and are kept by later commands."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from benchmarks.programbench import instances
from benchmarks.task.registry import benchmark, resolve_task
from benchmarks.task.task import TaskError
from tests.programbench.own import make_instance
from tests.solve.command import agent, script
from trajectories.record.events import TrialStarted
from trajectories.record.identity import configuration_hash

NAMES = ("internet", "other-language")
SETS = [chosen for number in range(3) for chosen in combinations(NAMES, number)]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return a directory with an instance of the user's own, `us/tool`, whose original is in C++."""
    make_instance(tmp_path / "tasks", "us/tool", language="cpp")
    return tmp_path


def variables(work: Path) -> dict[str, str]:
    return {instances.TASKS_VARIABLE: str(work / "tasks"), "PROGRAMBENCH_DOCKER_ORG": "retrace-test"}


@pytest.mark.parametrize("chosen", SETS)
def test_each_variant_changes_its_part_of_the_task(chosen: tuple[str, ...]) -> None:
    benchmark, plain = resolve_task("ffmpeg")
    task = benchmark.vary(plain, chosen)
    assert task.variant == "+".join(chosen)
    assert task.spec.network == ("internet" in chosen)
    assert ("another programming language" in task.instruction) == ("other-language" in chosen)
    assert ("yours to choose" in task.instruction) == ("other-language" not in chosen)
    assert task.digest == plain.digest, "the hidden tests are the same"
    assert benchmark.vary(plain, tuple(reversed(chosen)) * 2) == task, "order and repetition do not matter"


def test_no_instruction_names_the_program() -> None:
    """All instances with the same original language have the same text, so nothing in it can name one."""
    adapter = benchmark("programbench")
    tasks = [adapter.load(id) for id in adapter.ids()]
    assert len(tasks) >= 200
    assert len({task.instruction for task in tasks}) == 1
    other = {(task.language, adapter.vary(task, ("other-language",)).instruction) for task in tasks}
    assert len(other) == len({task.language for task in tasks})


@pytest.mark.parametrize(
    ("name", "language"), [("ffmpeg", "C"), ("sharkdp/bat", "Rust"), ("pandoc", "Haskell"), ("calculator", "Bash")]
)
def test_the_forbidden_language_is_named(name: str, language: str) -> None:
    benchmark, task = resolve_task(name)
    assert language in task.variants["other-language"].split()
    instruction = benchmark.vary(task, ("other-language",)).instruction
    assert f"The original is written in {language}." in instruction
    assert f"no part of it may be in {language}," in instruction


def test_the_error_for_an_unknown_variant_lists_the_existing_ones(work: Path) -> None:
    benchmark, task = resolve_task("ffmpeg")
    with pytest.raises(
        TaskError, match=r"ffmpeg__ffmpeg.* has no variant 'gpu'; the variants are internet and other-language"
    ):
        benchmark.vary(task, ("internet", "gpu"))
    for argv in (["--task", "ffmpeg"], ["--task", "demo/ledger"], ["--instruction", "x", "--workspace", str(work)]):
        result = agent(work, "solve", *argv, "--model", script(work, SUBMIT), "--variant", "gpu")
        assert (result.status, result.out) == (2, "")
        (line,) = result.err.splitlines()
        assert "has no variant 'gpu'" in line


def started(**changes: object) -> TrialStarted:
    from agent.trial.options import Options
    from agent.trial.resolve import resolve

    options = Options(model="nothing", task="us/tool")
    return resolve(Options.of({**options.recorded(), **changes})).trial_started()


@pytest.mark.docker
def test_each_set_of_variants_is_another_identity(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in variables(work).items():
        monkeypatch.setenv(name, value)
    model = script(work, SUBMIT)
    starts = [started(model=model, variants=list(chosen)) for chosen in SETS]
    assert [start.variant for start in starts] == [None, "internet", "other-language", "internet+other-language"]
    assert {start.task.language for start in starts} == {"cpp"}
    assert len({configuration_hash(start) for start in starts}) == len(SETS)
    again = started(model=model, variants=["other-language", "internet", "internet"])
    assert configuration_hash(again) == configuration_hash(starts[-1])


@pytest.mark.docker
def test_a_dry_run_shows_the_variants(work: Path) -> None:
    argv = ["solve", "--task", "us/tool", "--model", script(work, SUBMIT), "--dry-run"]
    chosen = ["--variant", "other-language", "--variant", "internet"]
    result = agent(work, *argv, *chosen, "--json", **variables(work))
    assert result.json["variant"] == "internet+other-language"
    assert result.json["environment_spec"]["network"] is True
    assert result.json["prompt"]["name"] == "programbench-2"
    assert "variant: internet+other-language\n" in agent(work, *argv, *chosen, **variables(work)).out
    assert agent(work, *argv, "--json", **variables(work)).json["variant"] is None
