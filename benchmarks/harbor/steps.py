"""The steps of a task as its stages: what each brings, and what the container needs before an agent works at it.

As in Harbor, a step inherits from the task's tables `agent` and `verifier`: the agent's time limit, the users, and the
verifier's mode, variables and commands that collect. The time limit of the verifier is the step's own, or 600 s.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harbor.readiness import wait_until_healthy
from benchmarks.harbor.reading.refusals import refusals
from benchmarks.harbor.reading.task_directory import INSTRUCTION, SCRIPT, STEPS, TESTS, HarborTask, stripped
from benchmarks.task import tree
from benchmarks.task.task import TaskError
from benchmarks.task.yaml_file import text_of
from environments.protocol import Environment

_WORKDIR = "workdir"
_SETUP = "setup.sh"
_SETUP_S = 600.0
_STEP_S = 60.0
_EMPTY = """\
for d in /tests /logs/verifier /logs/agent; do
    if [ -L "$d" ]; then rm -f "$d"; fi
    rm -rf "$d"/* "$d"/.[!.]* "$d"/..?*
    for left in "$d"/* "$d"/.[!.]* "$d"/..?*; do
        if [ -e "$left" ] || [ -L "$left" ]; then echo "$left is still there"; exit 1; fi
    done
done
"""
"""Needs no program beside rm. A link is removed first, so that nothing is deleted where it leads."""


def at_step(task: HarborTask, number: int | None) -> HarborTask:
    """Return the task as one of its steps sees it; the task itself without a number.

    Raises: TaskError if the instruction of the step cannot be read.
    """
    if number is None:
        return task
    part = task.file.steps[number - 1]
    agent, verifier = task.file.agent, task.file.verifier
    of_agent: dict[str, object] = {
        "timeout_sec": agent.timeout_sec if part.agent.timeout_sec is None else part.agent.timeout_sec,
        "user": agent.user if part.agent.user is None else part.agent.user,
    }
    of_verifier: dict[str, object] = {
        "timeout_sec": part.verifier.timeout_sec,
        "user": verifier.user if part.verifier.user is None else part.verifier.user,
        "env": {**verifier.env, **part.verifier.env},
        "collect": (*verifier.collect, *part.verifier.collect),
    }
    if part.verifier.separate or part.verifier.environment_mode is not None:
        of_verifier["environment_mode"] = part.verifier.environment_mode
        of_verifier["environment"] = part.verifier.environment
    file = task.file.model_copy(
        update={
            "agent": agent.model_copy(update=of_agent),
            "verifier": verifier.model_copy(update=of_verifier),
            "artifacts": (*task.file.artifacts, *part.artifacts),
        }
    )
    path = task.source.file(f"{STEPS}/{part.name}/{INSTRUCTION}")
    return replace(task, file=file, instruction=stripped(text_of(path, 1 << 20)), step=part.name)


@contextmanager
def tests_of(task: HarborTask) -> Iterator[tree.Tree]:
    """Yield the tests of a task; those of a step lie over the common ones.

    Raises: TaskError.
    """
    if task.step is None:
        with task.source.tree(TESTS) as files:
            yield files
        return
    with TemporaryDirectory(prefix="retrace-step-") as folder:
        for name in (TESTS, f"{STEPS}/{task.step}/{TESTS}"):
            if not task.source.has_folder(name):
                continue
            with task.source.tree(name) as files:
                _copy(files, Path(folder))
        yield tree.scan(Path(folder))


def begin_step(task: HarborTask, number: int, environment: Environment) -> None:
    """Empty what the verifier of the step before left, put the step's files, run its set-up, and wait for its check.

    Raises: TaskError, EnvironmentLost.
    """
    part = task.file.steps[number - 1]
    execution = environment.execute(_EMPTY, deadline_s=_STEP_S, cwd="/", as_root=True)
    if execution.ended != "exited" or execution.exit_code != 0:
        last = bytes(execution.output).decode(errors="replace").splitlines()[-1:] or [execution.ended]
        raise TaskError(
            f"{task.source.file('task.toml')}: step {part.name!r}: the tests of the step before cannot be removed "
            f"({last[0][-200:]})"
        )
    folder = f"{STEPS}/{part.name}/{_WORKDIR}"
    if task.source.has_folder(folder):
        with task.source.tree(folder) as files, tree.packed(files, plain_modes=True) as archive:
            environment.put(archive, ".")
            has_setup = any(entry.path == _SETUP.encode() for entry in files.entries)
        if has_setup:
            execution = environment.execute(f"bash ./{_SETUP}", deadline_s=_SETUP_S)
            if execution.ended != "exited" or execution.exit_code != 0:
                raise TaskError(
                    f"{task.source.file(f'{folder}/{_SETUP}')}: the set-up of the step failed "
                    f"({execution.ended}, exit status {execution.exit_code})"
                )
    if part.healthcheck is not None:
        wait_until_healthy(task, environment, part.healthcheck)


def problems_of_steps(task: HarborTask) -> list[str]:
    """Return what is missing in the steps of a task, and what they ask for that cannot be provided."""
    problems, users = [], set()
    for number, part in enumerate(task.file.steps, start=1):
        where = f"{task.source.file('task.toml')}: step {part.name!r}:"
        folder = f"{STEPS}/{part.name}"
        try:
            step = at_step(task, number)
        except TaskError as error:
            problems.append(str(error))
            continue
        if not step.instruction.strip():
            problems.append(f"{task.source.file(f'{folder}/{INSTRUCTION}')}: is empty")
        problems += [f"{where} {line}" for line in refusals(step.file)]
        users.add(step.file.agent.user)
        if not any(task.source.file(f"{at}/{SCRIPT}").is_file() for at in (f"{folder}/{TESTS}", TESTS)):
            problems.append(f"{task.source.file(f'{folder}/{TESTS}/{SCRIPT}')}: is missing")
        if step.file.verifier.separate:
            problems.append(f"{where} a verifier in a container of its own cannot be provided for a step")
        phases = (part.agent, part.verifier)
        if any(phase.network_mode is not None or phase.allowed_hosts is not None for phase in phases):
            problems.append(f"{where} a network of its own cannot be provided for a step, only that of the environment")
        if task.source.file(f"{folder}/trajectory.json").is_file():
            problems.append(f"{where} trajectory.json: a conversation to begin with cannot be provided")
    if len(users) > 1:
        names = ", ".join(sorted("that of the image" if user is None else repr(user) for user in users))
        problems.append(f"{task.source.file('task.toml')}: agent.user: all steps must have one user, not {names}")
    return problems


def _copy(files: tree.Tree, to: Path) -> None:
    """Copy the files, links and directories of a tree over what is there."""
    for entry in files.entries:
        name = os.fsdecode(entry.path)
        source, target = files.root / name, to / name
        if entry.type == "directory":
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink() or target.exists():
            target.unlink()
        shutil.copy2(source, target, follow_symlinks=False)
