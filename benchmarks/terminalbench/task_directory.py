"""One task directory of terminal-bench or LongCLI-Bench, read into a Task.

An overlay is a directory with the same layout whose files come first, so a broken task can be mended without a change.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from benchmarks.containers.compose import Containers, Folder
from benchmarks.task import taskdir, tree
from benchmarks.task.feedback import FORMS, SCORES_ONLY, other_forms
from benchmarks.task.published.source import TaskSource
from benchmarks.task.settings import TaskSettings
from benchmarks.task.task import TASK_FILE, Row, Task, TaskError
from benchmarks.task.yaml_file import text_of
from benchmarks.terminalbench import compose_file, task_file
from benchmarks.terminalbench.solution import solve_script
from benchmarks.terminalbench.task_file import TerminalBenchFile
from environments.protocol import EnvironmentSpec, Kind
from trajectories.record.events import FeedbackForm, Limits

REQUIREMENT = "INSTRUCTION.md"
"""File with the requirement of a task of LongCLI-Bench, whose prompt only points to it."""
RUN_TESTS = "run-tests.sh"
TESTS = "tests"
_KINDS: tuple[Kind, ...] = ("docker",)
_TEXT_BYTES = 1 << 20
_TITLE_CHARACTERS = 60


class Source(TaskSource):
    """A task directory with the overlay that mends it."""

    @contextmanager
    def tests(self) -> Iterator[tree.Tree]:
        """Yield the content of the directory of the tests in the container: `tests/` and the script.

        Raises: TaskError, OSError if the host's disk is full.
        """
        with TemporaryDirectory(prefix="retrace-tests-") as folder:
            content = Path(folder, TESTS)
            self.copy(TESTS, content)
            shutil.copy2(self.file(RUN_TESTS), content / RUN_TESTS)
            yield tree.scan(content)


def load(directory: Path, *, benchmark: str, settings: TaskSettings) -> Task:
    """Return the task in a directory.

    Raises: TaskError (files, keys, reasons).
    """
    source = Source.of(directory, settings)
    directory = source.directory
    file, containers, requirement = _read(source, settings)
    client, folder = containers.main, Folder(source, ".", settings)
    id = f"{benchmark}/{directory.name}"
    if file.is_longcli and settings.isolated:
        raise TaskError(f"--isolated-verifier does not apply to {id}, whose workspace is judged; leave it out")
    solve, solve_problem = None, ""
    try:
        solve = solve_script(directory)
    except TaskError as error:
        solve_problem = str(error)
    feedback: tuple[FeedbackForm, ...] = _LONGCLI_FORMS if file.is_longcli else SCORES_ONLY
    return Task(
        id=id,
        benchmark=benchmark,
        title=_title(file, requirement),
        instruction=file.instruction,
        digest=source.digest(tree.digest(tree.scan(directory, taskdir.CACHES))),
        kinds=_KINDS,
        spec=EnvironmentSpec(
            kind="docker",
            image=folder.image(client),
            build=None if client.build is None else folder.build(client.build),
            platform=client.platform,
            workdir=None if client.working_dir is None else PurePosixPath(client.working_dir),
            user=client.user,
            env={"TEST_DIR": compose_file.TEST_DIR, **client.environment},
            network=containers.network,
            cpus=client.cpus or client.deploy.resources.limits.cpus,
            memory_bytes=client.memory_bytes,
            shm_bytes=client.shm_size,
            services=containers.services,
            member=containers.member,
        ),
        limits=Limits(time_s=file.max_agent_timeout_sec),
        facts=_facts(file, requirement),
        directory=directory,
        solve=solve,
        solve_problem=solve_problem,
        feedback=feedback,
        feedback_revealing=other_forms(feedback),
        result="workspace" if file.is_longcli else "system",
        submissions=("archive",) if file.is_longcli else ("image",) if settings.isolated else ("live", "image"),
        settings=settings,
        shell="persistent" if file.run_tests_in_same_shell else None,
    )


_LONGCLI_FORMS: tuple[FeedbackForm, ...] = ("paths", *(form for form in FORMS if form != "paths"))
"""The authors show the output of the tests; without another wish they name the files that hold it."""


def row(directory: Path, benchmark: str) -> Row:
    """Return the line of a task in a list, without a look at its compose file and its tests.

    Raises: TaskError.
    """
    source = Source(directory)
    if not source.file(RUN_TESTS).is_file():
        raise TaskError(f"{directory / RUN_TESTS}: is missing")
    file = task_file.read(directory / TASK_FILE)
    return {
        "id": f"{benchmark}/{directory.name}",
        "title": _title(file, _requirement(source)),
        "kind": file.category,
        "language": "",
        "difficulty": _tier(file),
        "environments": list(_KINDS),
        "tests": None,
    }


def _read(source: Source, settings: TaskSettings) -> tuple[TerminalBenchFile, Containers, str]:
    """Return task.yaml, the containers of the compose file, and the requirement (empty if there is no such file).

    Raises: TaskError with the mistakes of all files.
    """
    problems = [*_outside(source)]
    file, containers, requirement = None, None, ""
    try:
        file = task_file.read(source.file(TASK_FILE))
    except TaskError as error:
        problems.append(str(error))
    try:
        containers = compose_file.read(source, settings)
    except TaskError as error:
        problems.append(str(error))
    if containers is not None and (build := containers.main.build) is not None:
        dockerfile = str(Path(build.context, build.dockerfile))
        if not source.file(dockerfile).is_file():
            problems.append(f"{source.directory / dockerfile}: is missing")
    if not source.file(RUN_TESTS).is_file():
        problems.append(f"{source.directory / RUN_TESTS}: is missing")
    try:
        requirement = _requirement(source)
    except TaskError as error:
        problems.append(str(error))
    if problems or file is None or containers is None:
        raise TaskError("; ".join(problems))
    return file, containers, requirement


def _outside(source: Source) -> Iterator[str]:
    """Yield a line for each link that leads outside of the task: it would bring in a file of the host."""
    for name in (TASK_FILE, *compose_file.NAMES, RUN_TESTS, REQUIREMENT, TESTS):
        path = source.directory / name if name == TESTS else source.file(name)
        if path.exists() and not any(path.resolve().is_relative_to(root) for root in source.roots):
            yield f"{path}: is a link that leads outside of the task"


def _requirement(source: Source) -> str:
    """Return the text of the file with the requirement; empty if the task has none. Raises: TaskError."""
    path = source.file(REQUIREMENT)
    return text_of(path, _TEXT_BYTES) if path.is_file() else ""


def _title(file: TerminalBenchFile, requirement: str) -> str:
    """Return the first heading of the requirement, otherwise the first line of the instruction."""
    headings = [line.strip("# ") for line in requirement.splitlines() if line.startswith("#") and line.strip("# ")]
    first = headings[0] if headings else file.instruction.strip().splitlines()[0]
    return first if len(first) <= _TITLE_CHARACTERS else first[: _TITLE_CHARACTERS - 1] + "…"


def _tier(file: TerminalBenchFile) -> str:
    return "" if file.difficulty == "unknown" else file.difficulty


def _facts(file: TerminalBenchFile, requirement: str) -> dict[str, str]:
    facts = {"kind": file.category, "parser": file.parser_name}
    if _tier(file):
        facts["difficulty"] = _tier(file)
    if file.tags:
        facts["tags"] = ", ".join(file.tags)
    for name, form in file.sets.items():
        facts[f"tests {name.upper()}"] = form
    facts["time limit of the tests"] = f"{file.max_test_timeout_sec:g} s"
    if requirement:
        facts[REQUIREMENT] = requirement
    return facts
