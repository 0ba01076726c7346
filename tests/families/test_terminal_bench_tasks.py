"""The sample tasks of terminal-bench, judged in the container they were solved in, or in its image."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.task.submission import Archive, Image, Live
from environments.docker import daemon
from environments.protocol import Checkpointing
from tests.families.terminalbench_samples import TERMINAL_BENCH, loaded, oracle, varied, verdict_on, worked
from tests.solve.command import agent

pytestmark = pytest.mark.docker


@pytest.mark.parametrize("id", ["count-lines", "greeting-server", "own-command"])
def test_the_oracle_solves_a_task_of_terminal_bench_in_its_container(id: str, tmp_path: Path) -> None:
    task = loaded(TERMINAL_BENCH / id)
    with worked(task, *oracle(task)) as (environment, started):
        verdict = verdict_on(task, Live(environment, started, "unused"), tmp_path)
    assert (verdict.status, verdict.passed, verdict.quality) == ("scored", True, 1.0), verdict
    assert (verdict.result, verdict.submission, verdict.processes_kept, verdict.comparable) == (
        "system",
        "live",
        True,
        True,
    )
    assert verdict.exposed


@pytest.mark.parametrize(
    ("id", "script", "quality"),
    [
        ("count-lines", "true", 1 / 3),
        ("count-lines", "echo 3 >out.txt", 2 / 3),
        ("greeting-server", "true", 0.0),
        ("greeting-server", "mkdir -p /srv/site; echo hello >/srv/site/index.html", 0.5),
        ("own-command", "true", 0.0),
    ],
)
def test_what_is_missing_in_the_system_is_not_passed(id: str, script: str, quality: float, tmp_path: Path) -> None:
    task = loaded(TERMINAL_BENCH / id)
    with worked(task, script) as (environment, started):
        verdict = verdict_on(task, Live(environment, started, "unused"), tmp_path)
    assert (verdict.status, verdict.passed, verdict.quality) == ("scored", False, pytest.approx(quality)), verdict


def test_a_committed_image_is_judged_without_the_server_that_ran(tmp_path: Path) -> None:
    task = loaded(TERMINAL_BENCH / "greeting-server")
    name = f"sample-{tmp_path.name.lower()}"
    with worked(task, *oracle(task)) as (environment, _):
        assert isinstance(environment, Checkpointing)
        image = environment.checkpoint(name)
    try:
        verdict = verdict_on(task, Image(image), tmp_path)
    finally:
        api = daemon.connect()
        api.remove_image(image)
        api.close()
    assert (verdict.passed, verdict.quality, verdict.submission) == (False, 0.5, "image")
    assert (verdict.processes_kept, verdict.comparable) == (False, False)


def test_tests_that_the_agent_left_are_replaced(tmp_path: Path) -> None:
    task = loaded(TERMINAL_BENCH / "count-lines")
    plant = (
        "mkdir /tests; echo 'def test_all(): pass' >/tests/test_outputs.py; echo 'exit 0' >/tests/run-tests.sh\n"
        "printf 'import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_call(item): item.runtest = int\n' "
        ">/tests/conftest.py"
    )
    with worked(task, plant) as (environment, started):
        verdict = verdict_on(task, Live(environment, started, "unused"), tmp_path)
    assert (verdict.passed, verdict.quality) == (False, pytest.approx(1 / 3)), verdict


def test_an_archive_of_a_system_task_is_refused(tmp_path: Path) -> None:
    task = loaded(TERMINAL_BENCH / "count-lines")
    verdict = verdict_on(task, Archive(tmp_path / "none"), tmp_path)
    assert verdict.status == "error"
    assert "is judged as live or image, not as archive" in verdict.error


def test_tests_in_the_same_shell_see_its_state(tmp_path: Path) -> None:
    settings = (TERMINAL_BENCH / "own-command/task.yaml").read_text() + "run_tests_in_same_shell: true\n"
    script = (
        "result=FAILED; [ $MARK-$PWD-$TEST_DIR = 7-/tmp-/tests ] && result=PASSED\n"
        "echo SWEBench results starts here; echo $result; echo SWEBench results ends here\n"
    )
    task = loaded(varied(TERMINAL_BENCH / "own-command", tmp_path, {"task.yaml": settings, "run-tests.sh": script}))
    assert task.shell == "persistent"
    task = replace(task, spec=replace(task.spec, shell="persistent"))
    with worked(task, "export MARK=7; cd /tmp") as (environment, started):
        verdict = verdict_on(task, Live(environment, started, "unused"), tmp_path)
    assert verdict.passed is True, verdict


def test_a_task_about_the_agent_s_shell_needs_a_persistent_one(tmp_path: Path) -> None:
    settings = (TERMINAL_BENCH / "own-command/task.yaml").read_text() + "run_tests_in_same_shell: true\n"
    directory = varied(TERMINAL_BENCH / "own-command", tmp_path, {"task.yaml": settings})
    result = agent(tmp_path, "solve", "--task", str(directory), "--model", "nop")
    assert (result.status, len(result.err.splitlines())) == (2, 1)
    assert "run in the agent's own shell; give --shell persistent" in result.err
