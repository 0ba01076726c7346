"""A task directory in Harbor's format: its files, checked, with those of an overlay in front."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harbor.reading.ignored import NAME as IGNORE_FILE, Ignored
from benchmarks.harbor.reading.refusals import refusals
from benchmarks.harbor.reading.taskfile import TaskFile
from benchmarks.harbor.reading.toml_file import read_toml
from benchmarks.task import taskdir, tree
from benchmarks.task.published.source import TaskSource
from benchmarks.task.task import TaskError
from benchmarks.task.yaml_file import text_of

FILE = "task.toml"
INSTRUCTION = "instruction.md"
ENVIRONMENT = "environment"
TESTS = "tests"
STEPS = "steps"
SCRIPT = "test.sh"
SOLUTION = "solution"
SOLVE = "solve.sh"
SCRIPTS = (f"{TESTS}/{SCRIPT}", f"{SOLUTION}/{SOLVE}")
DOCKERFILE = "Dockerfile"
COMPOSE_FILES = ("docker-compose.yaml", "docker-compose.yml")
_TEXT_BYTES = 1 << 20
_CANARY = re.compile(r"\s*(<!--.*canary.*-->|#.*canary.*)\s*", re.IGNORECASE)


class Source(TaskSource):
    """A task directory with the overlay that mends it."""

    @contextmanager
    def tree(self, name: str) -> Iterator[tree.Tree]:
        """Yield the content of a directory of the task, without what `.harborignore` leaves out.

        Raises: TaskError, OSError if the host's disk is full.
        """
        if self.overlay_folder(name) is None:
            yield _kept(name, self.directory)
            return
        with TemporaryDirectory(prefix="retrace-task-") as folder:
            self.copy(name, Path(folder, name))
            yield _kept(name, Path(folder))


@dataclass(frozen=True)
class HarborTask:
    """A task directory after reading and checking."""

    source: Source
    file: TaskFile
    instruction: str
    unknown: tuple[str, ...] = ()
    """Keys of the file that Harbor does not have and ignores, with their lines."""
    step: str | None = None
    """Name of the step that this is the view of; None for the task itself."""

    @property
    def tests_in_image(self) -> bool:
        """True if the verifier's image has the tests, so that none are put into its container."""
        part = self.file.verifier.environment
        return self.file.verifier.separate and (
            (part is not None and part.docker_image is not None) or self.verifier_dockerfile
        )

    @property
    def verifier_dockerfile(self) -> bool:
        """True if `tests/` is the build context of a separate verifier's image."""
        return self.file.verifier.separate and self.source.file(f"{TESTS}/{DOCKERFILE}").is_file()


def read(source: Source) -> HarborTask:
    """Read a task directory.

    Raises: TaskError with the mistakes of all files.
    """
    path = source.file(FILE)
    problems: list[str] = []
    instruction = ""
    has_steps = source.has_folder(STEPS) and not source.file(INSTRUCTION).is_file()
    try:
        instruction = "" if has_steps else stripped(text_of(source.file(INSTRUCTION), _TEXT_BYTES))
        if not instruction.strip() and not has_steps:
            problems.append(f"{source.file(INSTRUCTION)}: is empty")
    except TaskError as error:
        problems.append(str(error))
    problems += _links(source)
    try:
        toml = read_toml(path, TaskFile)
    except TaskError as error:
        raise TaskError("; ".join([str(error), *problems])) from None
    if has_steps and not toml.content.steps:
        problems.append(f"{source.file(INSTRUCTION)}: is missing, and {FILE} has no [[steps]]")
    problems = [*(f"{path}: {line}" for line in refusals(toml.content)), *problems]
    task = HarborTask(source, toml.content, instruction, toml.unknown)
    problems += _missing(task)
    if problems:
        raise TaskError("; ".join(problems))
    return task


def stripped(instruction: str) -> str:
    """Return an instruction without its leading canary lines and the blank lines after them."""
    lines = instruction.splitlines(keepends=True)
    first = 0
    while first < len(lines) and _CANARY.fullmatch(lines[first]):
        first += 1
    while 0 < first < len(lines) and not lines[first].strip():
        first += 1
    return "".join(lines[first:])


def _missing(task: HarborTask) -> list[str]:
    source, file = task.source, task.file
    problems = []
    composed = any(source.file(f"{ENVIRONMENT}/{name}").is_file() for name in COMPOSE_FILES)
    for name in COMPOSE_FILES:
        if source.file(f"{TESTS}/{name}").is_file():
            problems.append(f"{source.file(f'{TESTS}/{name}')}: services of a verifier cannot be provided")
    own_image = file.verifier.environment is not None and file.verifier.environment.docker_image is not None
    if composed and file.verifier.separate and not own_image and not task.verifier_dockerfile:
        problems.append(
            f"{source.directory / TESTS / DOCKERFILE}: is missing; a separate verifier made of environment/ and its "
            "services cannot be provided"
        )
    has_image = composed or file.environment.docker_image is not None
    if not has_image and not source.file(f"{ENVIRONMENT}/{DOCKERFILE}").is_file():
        problems.append(
            f"{source.directory / ENVIRONMENT / DOCKERFILE}: is missing, and {FILE} has no environment.docker_image"
        )
    if not file.steps and not task.tests_in_image and not source.file(f"{TESTS}/{SCRIPT}").is_file():
        problems.append(f"{source.directory / TESTS / SCRIPT}: is missing")
    scripts = (
        f"{folder}{script}" for folder in ("", *(f"{STEPS}/{step.name}/" for step in file.steps)) for script in SCRIPTS
    )
    ignored = Ignored(source.directory)
    for name in scripts:
        if (source.directory / name).is_file() and ignored.leaves_out(name):
            problems.append(
                f"{source.directory / name}: is left out by a {IGNORE_FILE}, but no trial can do without it"
            )
    return problems


def _links(source: Source) -> list[str]:
    """Return a line for each link in the task's directories that leads outside of them."""
    problems = []
    for root in source.roots:
        top = root.resolve()
        for entry in tree.scan(root, taskdir.CACHES | {b".git"}).entries:
            link = root / os.fsdecode(entry.path)
            if entry.type == "symlink" and not _target(link).is_relative_to(top):
                problems.append(f"{link}: is a link that leads outside of the task's directory")
    return problems


def _target(link: Path) -> Path:
    try:
        return link.resolve()
    except (OSError, RuntimeError):  # a link to itself
        return Path("/")


def _kept(name: str, top: Path) -> tree.Tree:
    files = tree.scan(top / name, taskdir.CACHES)
    return replace(files, entries=Ignored(top).kept(files.entries, name))
