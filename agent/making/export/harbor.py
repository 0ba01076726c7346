"""Write one of our own task directories as a task in Harbor's format.

The verifier runs in a container of its own. A command of the task packs the workspace when the agent has ended, and
that archive is all that the verifier sees. What Harbor cannot express and a result depends on is refused by its key;
what only steers our own agent is left out and named.
"""

from __future__ import annotations

import json
import math
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from agent.errors import UserError
from agent.making.export import dockerfile
from benchmarks.judging import bundle
from benchmarks.judging.suite_container import DIRECTORY, RUNS
from benchmarks.task import taskdir
from benchmarks.task.formats import of_task
from benchmarks.task.task import TASK_FILE, Task
from benchmarks.task.taskdir import TaskDirectory
from benchmarks.task.taskfile import EvaluationPart, LimitsPart, ResourcesPart
from environments.leftovers.owner import Owner, State, this_process
from environments.leftovers.removal import remove_tree
from trajectories.record.parts import Limits

JUDGE = Path(__file__).with_name("inside") / "judge.py"
SUBMISSION = "/retrace-workspace.tar"
"""The packed workspace, in a directory in which only root can write."""
_STAGING = ".export-"
"""Beginning of the name of the directory in which a task is written before it gets its own name."""
_GRACE_S = 300.0
"""Seconds that the verifier may take beside the build and the suite."""


def export(task: Task, to: Path) -> tuple[str, ...]:
    """Write the task into an empty or new directory; return the keys of its `task.yaml` that are left out.

    Raises: UserError, TaskError, OSError.
    """
    if task.directory is None or of_task(task) != "retrace":
        raise UserError(f"{task.id}: is not a task directory in our own format, so it cannot be exported")
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise UserError(f"{to}: is not an empty directory; name a new one")
    source = taskdir.read(task.directory, Path("/"))  # loading the task checked where its parts may lie
    evaluation = _checked(source)
    beside = to.resolve().parent
    beside.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(beside)
    with tempfile.TemporaryDirectory(prefix=_STAGING + this_process().prefix, dir=beside) as staging:
        _write(source, evaluation, Path(staging))
        to.mkdir(exist_ok=True)
        for part in sorted(Path(staging).iterdir()):
            part.rename(to / part.name)
    return _left_out(source)


def _remove_leftovers(folder: Path) -> None:
    """Remove what exports into this folder have left whose process was killed."""
    for staging in folder.glob(f"{_STAGING}*"):
        owner = Owner.of_directory(staging.name.removeprefix(_STAGING))
        if owner is not None and owner.judged()[0] is State.DEAD:
            remove_tree(staging)


def _write(source: TaskDirectory, evaluation: EvaluationPart, to: Path) -> None:
    dockerfile.write_context(source, to / "environment")
    _write_tests(source, evaluation, to / "tests")
    (to / "instruction.md").write_text(source.instruction, encoding="utf-8")
    if source.solution is not None:
        shutil.copytree(source.solution, to / "solution" / "files", symlinks=True)
        _write_script(to / "solution" / "solve.sh", f"cp -R /solution/files/. {shlex.quote(source.file.workdir)}/")
    (to / "task.toml").write_text(_toml(source, evaluation), encoding="utf-8")


def _checked(source: TaskDirectory) -> EvaluationPart:
    """Return the evaluation of a task that Harbor can express.

    Raises: UserError naming each key that it cannot.
    """
    file, path = source.file, source.path / TASK_FILE
    problems = []
    if "docker" not in file.environments:
        problems.append("environments: Harbor needs docker, which the task does not allow")
    if file.evaluation is None or source.suite is None:
        problems.append("evaluation: the task has none, and Harbor needs a verifier")
    if file.resources.shm is not None:
        problems.append("resources.shm: Harbor has no such setting")
    if file.resources.ulimits:
        problems.append("resources.ulimits: Harbor has no such setting")
    if ".." in source.path.name or not source.path.name[-1].isalnum():
        problems.append(f"{source.path.name}: cannot be the name of a task of Harbor")
    problems += [f"env.{name}: Harbor replaces ${{...}}" for name, value in file.env.items() if value.startswith("${")]
    if problems:
        raise UserError(f"{path}: cannot be expressed in Harbor's format: {'; '.join(problems)}")
    assert file.evaluation is not None
    return file.evaluation


def _left_out(source: TaskDirectory) -> tuple[str, ...]:
    """Return the keys that the task's file gives and that only steer our own agent."""
    file = source.file
    given = [f"limits.{name}" for name in LimitsPart.model_fields if name != "time" and getattr(file.limits, name)]
    if file.resources.pids != ResourcesPart().pids:
        given.append("resources.pids")
    if "prompt" in file.model_fields_set:
        given.append("prompt")
    if file.evaluation is not None and file.evaluation.feedback is not None:
        given.append("evaluation.feedback")
    return tuple(given)


def _write_tests(source: TaskDirectory, evaluation: EvaluationPart, to: Path) -> None:
    """Write the test script, the judge, the programs that run beside the candidate, and the hidden suite."""
    assert source.suite is not None
    file = source.file
    user = file.user.partition(":")[0]
    judge = to / "judge"
    shutil.copytree(source.suite, judge / "suite", ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    for part in bundle.PARTS:
        shutil.copyfile(part, judge / part.name)
    for name, collect_only in (("config.json", False), ("collect.json", True)):
        configuration = bundle.configuration(
            evaluation,
            workdir=file.workdir,
            workspace=file.workdir,
            directory=DIRECTORY,
            runs=RUNS,
            env=file.env,
            user=user,
            collect_only=collect_only,
        )
        (judge / name).write_bytes(configuration)
    settings = {
        "judge": DIRECTORY,
        "workspace": file.workdir,
        "submission": SUBMISSION,
        "user": user,
        "cases": evaluation.cases,
        "withheld": evaluation.withheld,
        "remove": evaluation.remove,
        "build": evaluation.build,
        "build_timeout": evaluation.build_timeout,
        "timeout": evaluation.timeout,
    }
    (to / "settings.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    shutil.copyfile(JUDGE, to / "judge.py")
    _write_script(
        to / "test.sh", "# The reward is written to reward.json.\nexec python3 -I /tests/judge.py /tests/settings.json"
    )


def _write_script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def _toml(source: TaskDirectory, evaluation: EvaluationPart) -> str:
    file = source.file
    resources = file.resources
    environment: dict[str, object] = {
        "network_mode": "public" if file.network else "no-network",
        "workdir": file.workdir,
        "cpus": resources.cpus,
        "memory_mb": _mebibytes(resources.memory),
        "storage_mb": _mebibytes(resources.disk),
        "env": dict(file.env),
    }
    tables: dict[str, Mapping[str, object]] = {
        "task": {"name": f"retrace/{source.path.name}", "description": file.title},
        "metadata": {"kind": file.kind, "language": file.language},
        "agent": {"timeout_sec": file.limits.time or Limits().time_s, "user": file.user.partition(":")[0]},
        "verifier": {
            "timeout_sec": evaluation.build_timeout + evaluation.timeout + _GRACE_S,
            "environment_mode": "separate",
            "network_mode": "no-network" if file.network else None,
            "user": "root",
        },
        "[verifier.collect]": {
            "command": f"rm -rf {SUBMISSION} && tar -C {shlex.quote(file.workdir)} -cf {SUBMISSION} .",
            "timeout_sec": _GRACE_S,
            "user": "root",
        },
        "environment": environment,
    }
    lines = ['schema_version = "1.4"', f"artifacts = [{_value(SUBMISSION)}]"]
    for title, table in tables.items():
        lines += ["", f"[{title}]", *(f"{key} = {_value(value)}" for key, value in table.items() if value)]
    return "\n".join(lines) + "\n"


def _mebibytes(size: int | None) -> int | None:
    return None if size is None else math.ceil(size / (1 << 20))


def _value(value: object) -> str:
    """Return a value of TOML; its strings are those of JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_value(key)} = {_value(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
