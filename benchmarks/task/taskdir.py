"""Our task directory: `task.yaml`, `instruction.md`, `workspace/` (initial files), a hidden suite, `solution/`.

Reads one into a Task and checks that what it names is there. The format's keys are in `taskfile`. `solution/` may be
left out: files that solve the task once they are put into the workspace, over what is there; `--model oracle` does
that, and nothing else reads them. No workspace, image or suite may hold them, and they do not count in the task's
digest: no other trial can depend on them, and a better solution must not make recorded trials trials of another task.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from benchmarks.task import tree
from benchmarks.task.task import TASK_FILE as TASK_FILE, Task, TaskError
from benchmarks.task.taskfile import LimitsPart, TaskFile, read_yaml, text_of
from environments.protocol import Build, EnvironmentSpec
from trajectories.record.events import Limits

INSTRUCTION = "instruction.md"
WORKSPACE = "workspace"
SOLUTION = "solution"
CACHES = frozenset((b"__pycache__", b".pytest_cache"))
"""Names that are no content of a task: running its tests leaves them behind."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_INSTRUCTION_BYTES = 1 << 20


@dataclass(frozen=True)
class TaskDirectory:
    """A task directory that was read and checked; paths are absolute."""

    path: Path
    file: TaskFile
    instruction: str
    workspace: Path | None
    suite: Path | None
    build: Build | None
    solution: Path | None = None


def read(directory: Path, root: Path | None = None) -> TaskDirectory:
    """Read a task directory. What it names must lie inside `root`, by default the directory itself.

    Raises: TaskError (file, key, reason).
    """
    directory = directory.resolve()
    root = (root or directory).resolve()
    if not directory.is_dir():
        raise TaskError(f"{directory}: is no task directory")
    if not _NAME.fullmatch(directory.name):
        raise TaskError(f"{directory}: a task's directory is named with letters, digits, '.', '_' and '-'")
    path = directory / TASK_FILE
    file = read_yaml(path, TaskFile)
    instruction = text_of(directory / INSTRUCTION, _INSTRUCTION_BYTES)
    if not instruction.strip():
        raise TaskError(f"{directory / INSTRUCTION}: is empty")
    workspace, solution = _own(directory, WORKSPACE), _own(directory, SOLUTION)
    if solution is not None and not any(solution.iterdir()):
        raise TaskError(f"{solution}: is empty; leave it out")
    suite = None
    if file.evaluation is not None:
        suite = _inside(directory, file.evaluation.suite, directory, f"{path}: evaluation.suite")
        if not any(suite.rglob("test_*.py")):
            raise TaskError(f"{path}: evaluation.suite: no test_*.py in {suite}")
        if _overlap(suite, solution):
            raise TaskError(f"{path}: evaluation.suite: {file.evaluation.suite!r} and {SOLUTION} hold each other")
    return TaskDirectory(
        path=directory,
        file=file,
        instruction=instruction,
        workspace=workspace,
        suite=suite,
        build=_build(directory, file, root, suite, solution),
        solution=solution,
    )


def load(directory: Path, *, benchmark: str, root: Path | None = None) -> Task:
    """The task in a directory.

    Raises: TaskError.
    """
    found = read(directory, root)
    file = found.file
    outside = found.build.context if found.build and not found.build.context.is_relative_to(found.path) else None
    resources = file.resources
    facts = {"kind": file.kind}
    if file.evaluation is not None and file.evaluation.cases is not None:
        facts["tests"] = str(file.evaluation.cases)
    return Task(
        id=f"{benchmark}/{found.path.name}",
        benchmark=benchmark,
        title=file.title,
        instruction=found.instruction,
        digest=content_digest(found.path, outside),
        kinds=file.environments,
        spec=EnvironmentSpec(
            kind=file.environments[0],
            image=_reference(found),
            build=found.build,
            workdir=PurePosixPath(file.workdir),
            user=file.user,
            env=file.env,
            network=file.network,
            cpus=resources.cpus,
            memory_bytes=resources.memory,
            pids=resources.pids,
            disk_bytes=resources.disk,
            shm_bytes=resources.shm,
            ulimits=resources.ulimits,
        ),
        limits=_limits(file.limits),
        prompt=file.prompt,
        language=file.language,
        facts=facts,
        evaluable=file.evaluation is not None,
        directory=found.path,
        solution=found.solution,
    )


def content_digest(directory: Path, outside: Path | None = None) -> str:
    """sha256 over a directory's content but for its solution, and over a build context outside of it.

    Raises: TaskError.
    """
    found = tree.scan(directory, CACHES)
    solution = SOLUTION.encode()
    counted = tuple(entry for entry in found.entries if entry.path.partition(b"/")[0] != solution)
    digest = tree.digest(replace(found, entries=counted))
    if outside is None:
        return digest
    return hashlib.sha256(f"{digest}\n{tree.digest(tree.scan(outside, CACHES))}\n".encode()).hexdigest()


def _own(directory: Path, name: str) -> Path | None:
    """The part of that name; None if the task has none.

    Raises: TaskError if it is anything but a directory, also for a link to one.
    """
    part = directory / name
    if part.is_symlink() or (part.exists() and not part.is_dir()):
        raise TaskError(f"{part}: is not a directory")
    return part if part.is_dir() else None


def _overlap(one: Path, other: Path | None) -> bool:
    return other is not None and (one.is_relative_to(other) or other.is_relative_to(one))


def _build(directory: Path, file: TaskFile, root: Path, suite: Path | None, solution: Path | None) -> Build | None:
    if file.image is None or file.image.build is None:
        return None
    part = file.image.build
    key = f"{directory / TASK_FILE}: image.build"
    context = _inside(directory, part.context, root, f"{key}.context")
    for hidden, what in ((suite, "the hidden suite"), (solution, "the solution")):
        if _overlap(context, hidden):
            raise TaskError(f"{key}.context: {part.context!r} holds {what}; give the image a directory of its own")
    dockerfile = (context / part.dockerfile).resolve()
    if not dockerfile.is_file() or not dockerfile.is_relative_to(context):
        raise TaskError(f"{key}.dockerfile: no {part.dockerfile!r} in {context}")
    return Build(context=context, dockerfile=part.dockerfile, args=part.args)


def _inside(directory: Path, path: str, root: Path, key: str) -> Path:
    found = (directory / path).resolve()
    if not found.is_relative_to(root):
        raise TaskError(f"{key}: {path!r} lies outside of {root}")
    if not found.is_dir():
        raise TaskError(f"{key}: {path!r} is no directory in {directory}")
    return found


def _reference(found: TaskDirectory) -> str | None:
    """The declared image, else a name that follows from what the image is built from."""
    if found.file.image is None:
        return None
    if found.file.image.reference is not None:
        return found.file.image.reference
    build = found.build
    assert build is not None  # ImagePart asks for one of the two
    content = tree.digest(tree.scan(build.context, CACHES))
    parts = [content, build.dockerfile, *(f"{key}={value}" for key, value in sorted(build.args.items()))]
    tag = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
    name = found.path.name if build.context.is_relative_to(found.path) else build.context.name
    return f"retrace-{name.lower().strip('._-') or 'task'}:{tag}"


def _limits(part: LimitsPart) -> Limits:
    said = {
        "steps": part.steps,
        "time_s": part.time,
        "tokens": part.tokens,
        "cost_usd": part.cost,
        "command_s": part.command,
    }
    return Limits.model_validate({key: value for key, value in said.items() if value is not None})
