"""The package's own evaluator gives the verdict; whatever goes wrong around it is an error and never a score."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from benchmarks.programbench import instances, official, sweep
from environments import cleaning, daemon, owner
from tests.alone import alone
from tests.programbench import clean_room
from tests.programbench.clean_room import ADDS, CALCULATOR, CALCULATOR_BRANCH, COMPILE, calculator
from trajectories.verdict import Verdict

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("offline")]

Files = Mapping[str, str | bytes]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def judge(workspace: Callable[[Files], Path], tmp_path: Path) -> Callable[..., Verdict]:
    """Evaluates a workspace of these files; logs and results are in `tmp_path / "evaluation"`."""
    return lambda files, **changes: official.evaluate(
        instances.instance(CALCULATOR), workspace(files), tmp_path / "evaluation", **changes
    )


def events(since: float) -> list[str]:
    """Names of images that this process had containers made of, since then."""
    api = daemon.connect()
    try:
        mine = {"type": "container", "event": "create", "label": f"{owner.PID}={os.getpid()}"}
        seen = api.events(since=since, until=time.time(), filters=mine, decode=True)
        return [event["from"] for event in seen]
    finally:
        api.close()


def left(label: str) -> list[str]:
    """Containers and images with this label."""
    api = daemon.connect()
    try:
        found = api.containers(all=True, filters={"label": label}) + api.images(filters={"label": label})
        return [one["Id"] for one in found]
    finally:
        api.close()


def statuses(verdict: Verdict) -> dict[str, str]:
    return {case.id.rpartition("_")[2]: case.status for case in verdict.cases}


# --- scores ----------------------------------------------------------------------------------------------


def test_a_right_program_is_resolved_and_the_verdict_says_how_it_came_about(
    judge: Callable[..., Verdict], tmp_path: Path, calculator_image: clean_room.CleanRoom
) -> None:
    verdict = judge(calculator())
    assert (verdict.status, verdict.passed, verdict.quality) == ("scored", True, 1.0)
    assert verdict.metrics == {"resolved": 1.0, "almost": 1.0, "tests": 3.0}
    assert {case.group for case in verdict.cases} == {CALCULATOR_BRANCH}
    assert verdict.cases[0].id == f"{CALCULATOR_BRANCH}/tests.test_calculator.test_addition"
    inputs = verdict.evaluator.inputs
    assert verdict.evaluator.version == version("programbench")
    assert inputs["image"] == calculator_image.reference
    assert inputs["image_digest"].startswith("sha256:")
    assert inputs["tests"].startswith("local:")
    assert inputs["docker_cpus"] == str(min(10, os.cpu_count() or 1))
    assert (inputs["reruns"], inputs["official"]) == ("no", "no")
    assert any("local, with no registry's digest" in note for note in verdict.notes)
    assert sorted(path.name for path in (tmp_path / "evaluation").iterdir()) == [
        "compile.log", "prepared.json", "programbench.log", "submission.tar.gz", f"{CALCULATOR}.eval.json",
    ]  # fmt: skip
    assert not left(f"{owner.PID}={os.getpid()}")


def test_a_part_of_it_scores_in_between_and_says_what_failed(judge: Callable[..., Verdict]) -> None:
    verdict = judge(calculator(ADDS))
    assert (verdict.passed, verdict.quality) == (False, 1 / 3)
    assert statuses(verdict) == {"addition": "passed", "subtraction": "failed", "multiplication": "failed"}
    assert verdict.cases[1].message.startswith("AssertionError: assert '' == '7'")


@pytest.mark.parametrize(
    ("files", "code", "said"),
    [
        ({}, "compile_failed", "cannot access './compile.sh'"),
        (calculator(compile_sh="#!/bin/sh\necho no such compiler; exit 1\n"), "compile_failed", "no such compiler"),
        ({"compile.sh": "#!/bin/sh\nchmod +x executable\n", "executable": "#!/bin/sh\n"}, "compile_failed", "chmod"),
        (calculator(compile_sh="#!/bin/sh\n"), "copy_executable_failed", "executable"),
    ],
    ids=["nothing", "does not compile", "brings a built program", "makes no executable"],
)
def test_what_cannot_be_built_scores_nothing_by_the_official_word(
    judge: Callable[..., Verdict], files: Files, code: str, said: str
) -> None:
    verdict = judge(files)
    assert (verdict.status, verdict.passed, verdict.quality) == ("scored", False, 0.0)
    assert statuses(verdict) == {"addition": "missing", "subtraction": "missing", "multiplication": "missing"}
    (note,) = [note for note in verdict.notes if note.startswith(code)]
    assert said in note


def test_a_build_that_hangs_scores_nothing_without_being_asked_for_again(judge: Callable[..., Verdict]) -> None:
    began = time.time()
    verdict = judge(calculator(compile_sh="#!/bin/sh\nsleep 1000\n"), check_s=1)
    assert (verdict.status, verdict.quality, len(verdict.cases)) == ("scored", 0.0, 3)
    assert "had not finished after 1 s; the official evaluator" in verdict.notes[0]
    assert len(events(began)) == 1


def test_output_that_is_no_utf8_counts_as_on_the_leaderboard(judge: Callable[..., Verdict], tmp_path: Path) -> None:
    """The official evaluator dies of it without a result, which counts 0; the program itself is right."""
    verdict = judge(calculator(compile_sh=f"{COMPILE}printf '\\377'\n"))
    assert not (tmp_path / "evaluation" / f"{CALCULATOR}.eval.json").exists()
    assert (verdict.status, verdict.quality, len(verdict.cases)) == ("scored", 0.0, 3)
    assert "not UTF-8" in verdict.notes[0]
    assert "UnicodeDecodeError" in verdict.notes[0]


def test_the_original_under_another_name_is_left_out(
    judge: Callable[..., Verdict], calculator_image: clean_room.CleanRoom
) -> None:
    """Renamed with a quote in it, where the evaluator's own removal stops; the task's data names no hash here."""
    command = ["docker", "run", "--rm", "--network", "none", calculator_image.reference, "cat", "/workspace/executable"]
    program = subprocess.run(command, capture_output=True, check=True).stdout
    cheat = {"it's data.bin": program, "compile.sh": '#!/bin/sh\ncp "it\'s data.bin" executable\n'}
    verdict = judge(cheat)
    assert (verdict.status, verdict.quality) == ("scored", 0.0)
    assert any(note.startswith("left out of the submission") and "it's data.bin" in note for note in verdict.notes)


# --- errors ----------------------------------------------------------------------------------------------


def test_missing_tests_are_told_before_anything_is_started(
    judge: Callable[..., Verdict], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PROGRAMBENCH_BLOB_DIR", str(tmp_path))
    began = time.time()
    verdict = judge(calculator())
    assert (verdict.status, verdict.quality) == ("error", None)
    assert f"there is no {tmp_path}/{CALCULATOR}/tests/{CALCULATOR_BRANCH}.tar.gz" in verdict.error
    assert events(began) == []


def test_tests_that_cannot_be_downloaded_are_told_in_one_line(
    judge: Callable[..., Verdict], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PROGRAMBENCH_BLOB_DIR")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "nothing cached"))
    verdict = judge(calculator())
    assert verdict.status == "error"
    assert "cannot be downloaded" in verdict.error
    assert "LocalEntryNotFoundError" in verdict.error
    assert "\n" not in verdict.error


def test_an_evaluator_that_cannot_start_a_container_is_an_error_with_the_daemon_s_words(
    judge: Callable[..., Verdict], tmp_path: Path
) -> None:
    verdict = judge(calculator(), cpus=1000)
    assert (verdict.status, verdict.passed, verdict.quality) == ("error", None, None)
    assert "RuntimeError: Failed to start container" in verdict.error
    assert "Range of CPUs" in verdict.error
    assert "Traceback" in (tmp_path / "evaluation" / official.LOG).read_text()


def test_without_the_image_it_is_an_error(judge: Callable[..., Verdict], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROGRAMBENCH_DOCKER_ORG", "127.0.0.1:1/nobody")
    verdict = judge(calculator())
    assert verdict.status == "error"
    assert "pulling 127.0.0.1:1/nobody/testorg_1776_calculator" in verdict.error


# --- once more -------------------------------------------------------------------------------------------


def test_what_was_evaluated_is_not_evaluated_again_and_another_submission_is(
    judge: Callable[..., Verdict], tmp_path: Path
) -> None:
    first = judge(calculator(ADDS))
    began = time.time()
    second = judge(calculator(ADDS))
    assert events(began) == []
    assert (second.cases, second.evaluator, second.notes) == (first.cases, first.evaluator, first.notes)
    # Torn by a crash: it is not taken for a result, and what is known of the submission is still known.
    result = tmp_path / "evaluation" / f"{CALCULATOR}.eval.json"
    result.write_bytes(result.read_bytes()[:500])
    began = time.time()
    assert judge(calculator(ADDS)).cases[0].status == "passed"
    assert len(events(began)) == 2  # the evaluator's: one that compiles, one for the branch
    assert statuses(judge({})) == {"addition": "missing", "subtraction": "missing", "multiplication": "missing"}


# --- nothing is left -------------------------------------------------------------------------------------

HANGING = """if True:
    import sys
    from pathlib import Path
    from benchmarks.programbench import instances, official
    from trajectories import interrupts
    interrupts.install()
    with interrupts.interruptible():
        official.evaluate(instances.instance(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
    """


@pytest.fixture
def evaluating(workspace: Callable[[Files], Path], tmp_path: Path):
    """A process in the middle of an evaluation: the tests of a branch run, in an image that was committed for it."""
    blobs = tmp_path / "hanging"
    clean_room.branch_archive(blobs, CALCULATOR, CALCULATOR_BRANCH, {"eval/run.sh": "#!/bin/sh\nsleep 1000\n"})
    command = [sys.executable, "-c", HANGING, CALCULATOR, workspace(calculator()), tmp_path / "evaluation"]
    process = subprocess.Popen(
        command, env={**os.environ, "PROGRAMBENCH_BLOB_DIR": str(blobs), "PYTHONPATH": str(ROOT)}
    )
    label = f"{owner.PID}={process.pid}"
    try:
        until = time.monotonic() + 60
        while not _hangs(label):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.2)
        yield process
    finally:
        process.kill()
        process.wait()
        api = daemon.connect()
        for one in api.containers(all=True, filters={"label": label}):
            api.remove_container(one["Id"], force=True)
        for one in api.images(filters={"label": [label, sweep.LABEL]}):
            api.remove_image(one["Id"], force=True)
        api.close()


def _hangs(label: str) -> bool:
    """Whether a container of an image that was committed runs the tests."""
    api = daemon.connect()
    try:
        found = api.containers(filters={"label": label})
        return any(
            one["Image"].startswith(sweep.COMPILED) and "sleep 1000" in str(api.top(one["Id"])["Processes"])
            for one in found
        )
    finally:
        api.close()


def gone(label: str, within_s: float) -> bool:
    until = time.monotonic() + within_s
    while left(label):
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True


def test_an_interrupt_ends_it_at_once_and_leaves_nothing(evaluating: subprocess.Popen[bytes]) -> None:
    """The package itself would wait for the branch that is running, up to an hour."""
    began = time.monotonic()
    evaluating.send_signal(signal.SIGINT)
    assert evaluating.wait(30) != 0
    assert time.monotonic() - began < 15
    assert left(f"{owner.PID}={evaluating.pid}") == []


def test_when_the_harness_is_killed_its_evaluator_ends_and_takes_its_containers_along(
    evaluating: subprocess.Popen[bytes],
) -> None:
    evaluating.kill()
    evaluating.wait()
    assert gone(f"{owner.PID}={evaluating.pid}", 15)


def test_what_a_power_cut_would_leave_is_found_by_agent_clean(evaluating: subprocess.Popen[bytes]) -> None:
    """The branch's container has all labels of its image, which we made as well; both are ours to remove."""
    label = f"{owner.PID}={evaluating.pid}"
    (evaluator,) = _children(evaluating.pid)
    os.killpg(evaluator, signal.SIGSTOP)  # so that it cannot tidy up
    evaluating.kill()
    evaluating.wait()
    os.killpg(evaluator, signal.SIGKILL)
    assert len(left(label)) == 2
    with alone():
        done = cleaning.clean()
    assert {"container", "image"} <= {one.kind for one in done.removed if one.owner and one.owner.pid == evaluating.pid}
    assert left(label) == []


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_docker_of_the_user_s_own_is_what_the_evaluator_gets(
    judge: Callable[..., Verdict], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    mine = tmp_path / "my docker"
    mine.write_text(f'#!/bin/sh\necho "$@" >>"{told}"\necho my docker will not >&2\nexit 1\n')
    mine.chmod(0o755)
    monkeypatch.setenv("PROGRAMBENCH_DOCKER_EXECUTABLE", str(mine))
    verdict = judge(calculator())
    assert verdict.error.startswith("programbench eval failed: RuntimeError: Failed to start container: my docker will")
    (run,) = [line for line in told.read_text().splitlines() if line.startswith("run ")]
    assert f"--label {owner.PID}={os.getpid()} " in run
    assert f"--label {sweep.LABEL}=" in run


# --- one's own instances -----------------------------------------------------------------------------------


def test_own_instances_are_known_to_the_evaluator_and_replace_none_of_the_package_s(
    judge: Callable[..., Verdict],
    workspace: Callable[[Files], Path],
    tmp_path: Path,
    offline: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    id = "retrace-test__calculator.0000001"
    source = instances.instance(CALCULATOR).directory
    shutil.copytree(source, tmp_path / "tasks" / id)
    shutil.copytree(source, tmp_path / "tasks" / CALCULATOR)
    (tmp_path / "tasks" / CALCULATOR / "tests.json").write_text('{"branches": {}}')
    shutil.copytree(offline / CALCULATOR, tmp_path / "blobs" / id)
    shutil.copytree(offline / CALCULATOR, tmp_path / "blobs" / CALCULATOR)
    image = clean_room.clean_room(id, {"README.md": clean_room.CALCULATOR_HELP}, clean_room.IMAGE / "calculator.c")
    monkeypatch.setenv("PROGRAMBENCH_DOCKER_ORG", image.organisation)
    monkeypatch.setenv("PROGRAMBENCH_BLOB_DIR", str(tmp_path / "blobs"))
    monkeypatch.setenv(instances.TASKS_VARIABLE, str(tmp_path / "tasks"))
    verdict = official.evaluate(instances.instance(id), workspace(calculator()), tmp_path / "own")
    assert (verdict.status, verdict.quality, verdict.passed) == ("scored", 1.0, True), verdict.error
    assert any(f"{id} is not one of the benchmark's" in note for note in verdict.notes)
    verdict = judge({})
    assert (verdict.status, len(verdict.cases)) == ("scored", 3), verdict.error
