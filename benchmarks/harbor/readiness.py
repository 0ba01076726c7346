"""Preparing a container before someone works in it: log directories, skills, and a successful health check."""

from __future__ import annotations

import shlex
import time

from benchmarks.harbor.reading.task_directory import ENVIRONMENT, HarborTask
from benchmarks.harbor.reading.taskfile import HealthcheckPart
from benchmarks.task import tree
from benchmarks.task.task import TaskError
from environments.protocol import Environment, Spooled
from trajectories.waiting import sleep

LOGS = ("/logs/agent", "/logs/verifier", "/logs/artifacts")
"""Directories that Harbor's containers have."""
SKILLS = "skills"
_STEP_S = 60.0


def make_ready(harbor: HarborTask, environment: Environment, healthcheck: HealthcheckPart | None) -> None:
    """Make the log directories, put skills where the task says, and wait for the health check.

    Raises: TaskError, EnvironmentLost.
    """
    logs = " ".join(LOGS)
    execution = environment.execute(f"mkdir -p {logs} && chmod 777 {logs}", deadline_s=_STEP_S, cwd="/", as_root=True)
    if execution.exit_code != 0:
        raise TaskError(f"{harbor.source.directory}: {logs} cannot be made in the image: {_last(execution.output)}")
    _put_skills(harbor, environment)
    if healthcheck is not None:
        wait_until_healthy(harbor, environment, healthcheck)


def _put_skills(harbor: HarborTask, environment: Environment) -> None:
    """Put the folder `environment/skills` where the task says if the image has nothing there."""
    directory = harbor.file.environment.skills_dir
    if directory is None:
        return
    script = f"test -d {shlex.quote(directory)}"
    if environment.execute(script, deadline_s=_STEP_S, cwd="/", as_root=True).exit_code == 0:
        return
    folder = f"{ENVIRONMENT}/{SKILLS}"
    if not (harbor.source.directory / folder).is_dir():
        raise TaskError(
            f"{harbor.source.directory}: environment.skills_dir: the image has no {directory}, and the task no {folder}"
        )
    with harbor.source.tree(folder) as files, tree.packed(files, plain_modes=True) as archive:
        environment.put(archive, directory)


def wait_until_healthy(harbor: HarborTask, environment: Environment, check: HealthcheckPart) -> None:
    """Run the check until it succeeds. Failures within the start period do not count.

    Raises: TaskError after too many failures in a row, EnvironmentLost.
    """
    begun = time.monotonic()
    failures = 0
    while True:
        execution = environment.execute(check.command, deadline_s=check.timeout_sec)
        if execution.ended == "exited" and execution.exit_code == 0:
            return
        starting = time.monotonic() - begun < check.start_period_sec
        failures += not starting
        if failures > check.retries:
            raise TaskError(
                f"{harbor.source.directory}: environment.healthcheck: failed {failures} times in a row, the last time "
                f"with: {_last(execution.output)}"
            )
        sleep(check.start_interval_sec if starting else check.interval_sec)


def _last(output: bytes | Spooled) -> str:
    lines = bytes(output).decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip()[:300] if lines else "no output"
