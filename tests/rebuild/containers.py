"""The image of the figlet task, built once for all tests, and its containers through the plain Docker client."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.judging import bundle, junit
from benchmarks.task import taskdir
from tests.solve.command import CommandResult, agent
from trajectories.record.verdict import CaseStatus

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
TASK = BENCHMARKS / "demos" / "tasks" / "figlet"
JUDGE = "/retrace-judge"


def make_rebuild(step: str, *arguments: str, folder: Path = ROOT) -> CommandResult:
    """Run `agent tasks make rebuild STEP` in a folder."""
    return agent(folder, "tasks", "make", "rebuild", step, *arguments, timeout=170)


def run(image: str, command: str, *, user: str = "agent", stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a shell command in a fresh container."""
    docker = [
        "docker",
        "run",
        "--rm",
        "--interactive",
        "--network",
        "none",
        "--user",
        user,
        image,
        "bash",
        "-c",
        command,
    ]
    return subprocess.run(docker, input=stdin, capture_output=True, text=True, timeout=120)


@contextmanager
def container(image: str) -> Iterator[str]:
    """Start a container that waits for `docker exec`, as root."""
    command = ["docker", "run", "--rm", "--detach", "--init", "--network", "none", "--user", "0", image, "sleep", "300"]
    name = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    try:
        yield name
    finally:
        subprocess.run(["docker", "kill", name], capture_output=True)


def judged(image: str, programs: dict[str, str | None]) -> dict[str, dict[str, CaseStatus]]:
    """Run the hidden suite against each program (a text to install, or None for the original); statuses by case."""
    task = taskdir.read(TASK, BENCHMARKS)
    assert task.file.evaluation is not None
    assert task.suite is not None
    verdicts = {}
    with container(image) as name:
        inside = ["docker", "exec", "--interactive", name]
        subprocess.run([*inside, "mkdir", "--mode=700", JUDGE], check=True)
        for title, text in programs.items():
            program = "{workspace}/executable"
            if text is not None:
                program = f"/opt/{title}/executable"
                install = f"mkdir -p {Path(program).parent} && cat >{program} && chmod 755 {program}"
                subprocess.run([*inside, "sh", "-c", install], input=text, text=True, check=True)
            configuration = bundle.configuration(
                replace_program(task.file.evaluation, program),
                workdir="/workspace",
                workspace="/workspace",
                directory=JUDGE,
                runs="/retrace-runs",
                env={},
                user="agent",
            )
            archive = bundle.archive(task.suite, {"config.json": configuration}).read()
            subprocess.run(["docker", "cp", "--quiet", "-", f"{name}:{JUDGE}"], input=archive, check=True)
            drive = subprocess.run(
                [*inside, "python3", "-I", f"{JUDGE}/drive.py", f"{JUDGE}/config.json"], capture_output=True
            )
            assert drive.returncode in (0, 1), drive.stdout.decode() + drive.stderr.decode()
            xml = subprocess.run([*inside, "cat", f"{JUDGE}/out/results.xml"], capture_output=True, check=True).stdout
            verdicts[title] = {
                f"{classname}[{name}": result.status for (classname, name), result in junit.parse(xml).items()
            }
    return verdicts


def replace_program(evaluation, program: str):
    return evaluation.model_copy(update={"program": (program,)})


def cases() -> dict[str, list[dict]]:
    """Return the committed cases, by group."""
    return {file.parent.name: json.loads(file.read_text()) for file in sorted((TASK / "tests").glob("*/cases.json"))}


def task_image() -> str:
    """Build the task's image as a trial does, unless it exists; return its name."""
    from environments.docker import daemon, images
    from environments.reporting import LogReporter

    spec = taskdir.load(TASK, benchmark="demo", root=BENCHMARKS).spec
    api = daemon.connect()
    try:
        return images.make_available(api, spec, LogReporter()).reference
    finally:
        api.close()
