"""Our task directory: `task.yaml`, `instruction.md`, `workspace/` (initial files), a hidden suite, `solution/`.

Reads one into a Task and checks that the files it names exist. The keys of `task.yaml` are in `taskfile`.

`solution/` is optional: files that solve the task once they are put into the workspace, replacing files of the same
name. Only `--model oracle` reads them. No workspace, image or suite may contain them, and the task's digest leaves them
out: no other trial can depend on them, and with a better solution recorded trials are still trials of the same task.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TypeVar

from benchmarks.task import tree
from benchmarks.task.feedback import FORMS, SCORES_ONLY, other_forms
from benchmarks.task.task import TASK_FILE, Row, Task, TaskError
from benchmarks.task.taskfile import EvaluationPart, LimitsPart, TaskFile
from benchmarks.task.yaml_file import read_yaml, text_of
from environments.protocol import Build, EnvironmentSpec
from trajectories.record.events import FeedbackForm, Limits
from trajectories.yaml_mistakes import Mistake, Place, located

INSTRUCTION = "instruction.md"
WORKSPACE = "workspace"
SOLUTION = "solution"
CACHES = frozenset((b"__pycache__", b".pytest_cache"))
"""Names that are not content of a task: running its tests leaves them behind."""
Part = TypeVar("Part")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_INSTRUCTION_BYTES = 1 << 20


@dataclass(frozen=True)
class TaskDirectory:
    """A task directory after reading and checking; its paths are absolute."""

    path: Path
    file: TaskFile
    instruction: str
    workspace: Path | None
    suite: Path | None
    build: Build | None
    solution: Path | None = None


def read(directory: Path, root: Path | None = None) -> TaskDirectory:
    """Read a task directory. Paths in it must lie inside `root`, by default the directory itself.

    Raises: TaskError (file, key, reason).
    """
    directory = directory.resolve()
    root = (root or directory).resolve()
    if not directory.is_dir():
        raise TaskError(f"{directory}: is not a directory")
    if not _NAME.fullmatch(directory.name):
        raise TaskError(f"{directory}: the name of a task directory may have letters, digits, '.', '_' and '-' only")
    path = directory / TASK_FILE
    if not path.is_file():
        raise TaskError(f"{path}: is missing")
    problems = _Problems()
    file = problems.of(lambda: read_yaml(path, TaskFile))
    instruction = problems.of(lambda: _instruction(directory))
    workspace = problems.of(lambda: _own(directory, WORKSPACE))
    solution = problems.of(lambda: _solution(directory))
    suite = problems.of(lambda: _suite(directory, file, solution)) if file else None
    build = problems.of(lambda: _build(directory, file, root, suite, solution)) if file else None
    problems.report()
    assert file is not None
    assert instruction is not None
    return TaskDirectory(
        path=directory,
        file=file,
        instruction=instruction,
        workspace=workspace,
        suite=suite,
        build=build,
        solution=solution,
    )


class _Problems:
    """The mistakes in the parts of a task directory, collected to be reported together."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def of(self, read: Callable[[], Part | None]) -> Part | None:
        """Return the part that is read, or None if it has a mistake."""
        try:
            return read()
        except TaskError as error:
            self._lines.append(str(error))
            return None

    def report(self) -> None:
        """Raise a TaskError that names all mistakes, if there are any."""
        if self._lines:
            raise TaskError("; ".join(self._lines))


def _instruction(directory: Path) -> str:
    instruction = text_of(directory / INSTRUCTION, _INSTRUCTION_BYTES)
    if not instruction.strip():
        raise TaskError(f"{directory / INSTRUCTION}: is empty")
    return instruction


def _solution(directory: Path) -> Path | None:
    solution = _own(directory, SOLUTION)
    if solution is not None and not any(solution.iterdir()):
        raise TaskError(f"{solution}: is empty; remove it")
    return solution


def _suite(directory: Path, file: TaskFile, solution: Path | None) -> Path | None:
    if file.evaluation is None:
        return None
    key = ("evaluation", "suite")
    suite = _inside(directory, file.evaluation.suite, directory, key)
    if not any(suite.rglob("test_*.py")):
        raise _error(directory, key, f"{suite} has no test_*.py")
    if _overlap(suite, solution):
        raise _error(directory, key, f"{file.evaluation.suite!r} overlaps with {SOLUTION}")
    return suite


def _error(directory: Path, place: Place, reason: str) -> TaskError:
    """Return the error for a value of the task's file, with the file, the line (if it is no default) and the key."""
    path = directory / TASK_FILE
    return TaskError(f"{path}: {located(text_of(path), [Mistake(place, reason)])}")


def load(directory: Path, *, benchmark: str, root: Path | None = None) -> Task:
    """Return the task in a directory.

    Raises: TaskError.
    """
    source = read(directory, root)
    file = source.file
    outside = source.build.context if source.build and not source.build.context.is_relative_to(source.path) else None
    resources = file.resources
    facts = {"kind": file.kind}
    if file.evaluation is not None and file.evaluation.cases is not None:
        facts["tests"] = str(file.evaluation.cases)
    feedback = _feedback(file.evaluation)
    return Task(
        id=f"{benchmark}/{source.path.name}",
        benchmark=benchmark,
        title=file.title,
        instruction=source.instruction,
        digest=content_digest(source.path, outside),
        kinds=file.environments,
        spec=EnvironmentSpec(
            kind=file.environments[0],
            image=_reference(source),
            build=source.build,
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
        directory=source.path,
        solution=source.solution,
        feedback=feedback,
        feedback_revealing=other_forms(feedback) if file.evaluation is not None else (),
    )


def row(directory: Path, *, benchmark: str, root: Path | None = None) -> Row:
    """Return the line of a task in a list.

    Raises: TaskError.
    """
    file = read(directory, root).file
    return {
        "id": f"{benchmark}/{directory.name}",
        "title": file.title,
        "kind": file.kind,
        "language": file.language,
        "difficulty": "",
        "environments": list(file.environments),
        "tests": file.evaluation.cases if file.evaluation is not None else None,
    }


def _feedback(evaluation: EvaluationPart | None) -> tuple[FeedbackForm, ...]:
    """Return the forms of feedback that a task allows.

    The tests of a program that is to be rebuilt compare it with the original: their names and messages tell what the
    agent should find out by itself. Such a task is recognized by the files that it withholds.
    """
    if evaluation is None:
        return ()
    if evaluation.feedback is not None:
        return evaluation.feedback
    return SCORES_ONLY if evaluation.withheld else FORMS


def content_digest(directory: Path, outside: Path | None = None) -> str:
    """Return the sha256 over a directory's content without its solution, and over a build context outside of it.

    Raises: TaskError.
    """
    content = tree.scan(directory, CACHES)
    solution = SOLUTION.encode()
    counted = tuple(entry for entry in content.entries if entry.path.partition(b"/")[0] != solution)
    digest = tree.digest(replace(content, entries=counted))
    if outside is None:
        return digest
    return hashlib.sha256(f"{digest}\n{tree.digest(tree.scan(outside, CACHES))}\n".encode()).hexdigest()


def _own(directory: Path, name: str) -> Path | None:
    """Return the part of the task with that name; None if the task has none.

    Raises: TaskError if it is not a directory, or a link to one.
    """
    part = directory / name
    if part.is_symlink() or (part.exists() and not part.is_dir()):
        raise TaskError(f"{part}: is not a directory")
    return part if part.is_dir() else None


def _overlap(first: Path, second: Path | None) -> bool:
    return second is not None and (first.is_relative_to(second) or second.is_relative_to(first))


def _build(directory: Path, file: TaskFile, root: Path, suite: Path | None, solution: Path | None) -> Build | None:
    if file.image is None or file.image.build is None:
        return None
    part = file.image.build
    context_key = ("image", "build", "context")
    context = _inside(directory, part.context, root, context_key)
    for hidden, title in ((suite, "the hidden suite"), (solution, "the solution")):
        if _overlap(context, hidden):
            reason = f"{part.context!r} contains {title}; give the image a directory of its own"
            raise _error(directory, context_key, reason)
    dockerfile = (context / part.dockerfile).resolve()
    if not dockerfile.is_file() or not dockerfile.is_relative_to(context):
        raise _error(directory, ("image", "build", "dockerfile"), f"{context} has no {part.dockerfile!r}")
    return Build(context=context, dockerfile=part.dockerfile, args=part.args)


def _inside(directory: Path, path: str, root: Path, key: Place) -> Path:
    target = (directory / path).resolve()
    if not target.is_relative_to(root):
        raise _error(directory, key, f"{path!r} lies outside of {root}")
    if not target.is_dir():
        raise _error(directory, key, f"{path!r} is not a directory in {directory}")
    return target


def _reference(source: TaskDirectory) -> str | None:
    """Return the declared image, or a name that follows from the content that the image is built from."""
    if source.file.image is None:
        return None
    if source.file.image.reference is not None:
        return source.file.image.reference
    build = source.build
    assert build is not None  # ImagePart demands one of the two
    content = tree.digest(tree.scan(build.context, CACHES))
    parts = [content, build.dockerfile, *(f"{key}={value}" for key, value in sorted(build.args.items()))]
    tag = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
    name = source.path.name if build.context.is_relative_to(source.path) else build.context.name
    return f"retrace-{name.lower().strip('._-') or 'task'}:{tag}"


def _limits(part: LimitsPart) -> Limits:
    values = {
        "steps": part.steps,
        "time_s": part.time,
        "tokens": part.tokens,
        "cost_usd": part.cost,
        "command_s": part.command,
    }
    return Limits.model_validate({key: value for key, value in values.items() if value is not None})
