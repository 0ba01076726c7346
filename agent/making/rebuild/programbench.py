"""Make your own instance of ProgramBench from a rebuild task.

Reads a task directory (`tests/`, written by `suite`, and `solution/` if there is one) and an image (built by `image`).
Writes `tasks/<id>/` in the layout of the package's data and `blobs/<id>/tests/<branch>.tar.gz` for each group of the
suite, and builds the image ORGANIZATION/<id>:task_cleanroom_v6. The original should pass: a test that it fails is
listed as ignored.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from agent.errors import UserError
from agent.making.rebuild import original
from benchmarks.judging import junit
from benchmarks.judging.suite_run import main_line
from benchmarks.programbench.instances import IMAGE_TAG
from environments.protocol import Build, EnvironmentSpec
from environments.reporting import Reporter

INSIDE = Path(__file__).with_name("inside")
CLEANROOM = Path(__file__).with_name("cleanroom")
OFFICIAL = "programbench"
"""Organization of the benchmark's own images."""
_NAME = re.compile(r"[a-z0-9._-]+")
_SUITE_S = 3600.0


@dataclass(frozen=True)
class OwnInstance:
    """A new instance, and the environment variables with which ProgramBench's package finds it."""

    id: str
    image: str
    tests: int
    ignored: tuple[str, ...]
    """Tests that the original fails, each as `branch/test`."""
    variables: Mapping[str, str]


@dataclass(frozen=True)
class _Branch:
    """A group of the suite as a branch of an instance."""

    archive: bytes
    tests: tuple[str, ...]
    failed: Mapping[str, str]
    """Tests that the original fails, each with the first line of its message."""


def make(
    task: Path, image: str, to: Path, reporter: Reporter, *, organization: str, owner: str, language: str
) -> OwnInstance:
    """Make the instance. Nothing is written unless the original passes at least one test.

    Raises: UserError, EnvironmentFault, OSError.
    """
    if organization == OFFICIAL:
        raise UserError(f"--organization {OFFICIAL}: a local image would hide the benchmark's own; use another name")
    name = task.resolve().name.lower()
    for source, value in (("--owner", owner), ("the task's directory", name)):
        if not _NAME.fullmatch(value) or "__" in value:
            raise UserError(
                f"{source}: {value!r} cannot be part of an id; use letters, digits, '.', '-' and single '_'"
            )
    groups = sorted({path.parent.name for path in (task / "tests").glob("*/test_*.py")})
    if not groups:
        raise UserError(
            f"{task / 'tests'}: no group has a test_*.py; add one per group, and run `agent tasks make rebuild suite`"
        )
    base = original.local_image(image)
    content = _digest_of_program(base)
    id = f"{owner}__{name}.{content[:7]}"
    reference = f"{organization}/{owner}_1776_{name}.{content[:7]}:{IMAGE_TAG}"
    with _image(base, reference, reporter):
        digests = {group: hashlib.sha256(group.encode()).hexdigest()[:12] for group in groups}
        branches = {digests[group]: _branch(reference, task, group) for group in groups}
        ignored = tuple(f"{name}/{test}" for name, branch in branches.items() for test in branch.failed)
        tests = sum(len(branch.tests) for branch in branches.values()) - len(ignored)
        if not tests:
            failures = [f"{test}: {line}" for branch in branches.values() for test, line in branch.failed.items()]
            reason = f"the original passes none of {len(failures)}; {failures[0]}" if failures else "its suite has none"
            raise UserError(f"{task}: an instance with 0 tests proves nothing: {reason}")
    archives = to / "blobs" / id / "tests"
    shutil.rmtree(archives, ignore_errors=True)
    archives.mkdir(parents=True)
    for name, branch in branches.items():
        (archives / f"{name}.tar.gz").write_bytes(branch.archive)
    directory = to / "tasks" / id
    _write(directory, task, content, owner, language, branches)
    return OwnInstance(
        id=id,
        image=reference,
        tests=tests,
        ignored=ignored,
        variables={
            "RETRACE_PROGRAMBENCH_TASKS": str(directory.parent.resolve()),
            "PROGRAMBENCH_BLOB_DIR": str((to / "blobs").resolve()),
            "PROGRAMBENCH_DOCKER_ORG": organization,
        },
    )


def _write(
    directory: Path, task: Path, content: str, owner: str, language: str, branches: Mapping[str, _Branch]
) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    data = {
        "repository": f"{owner}/{task.resolve().name.lower()}",
        "commit": content[:40],
        "language": language,
        "eval_clean_hashes": [content],
    }
    (directory / "task.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    described: dict[str, Any] = {
        name: {
            "ignored": False,
            "ignore_reason": "",
            "tests": sorted(branch.tests),
            "ignored_tests": [{"name": test, "reasons": [{"id": "gold_fail"}]} for test in branch.failed],
        }
        for name, branch in branches.items()
    }
    (directory / "tests.json").write_text(json.dumps({"branches": described}, indent=2) + "\n")
    shutil.rmtree(directory / "solution", ignore_errors=True)
    if (task / "solution").is_dir():
        shutil.copytree(task / "solution", directory / "solution")


def _digest_of_program(image: str) -> str:
    """Return the sha256 of the original, which replaces its source's commit: a Debian package does not name one."""
    with original.container(image) as environment:
        execution = environment.execute(f"sha256sum {original.PROGRAM}", deadline_s=60.0, cwd="/", as_root=True)
    if execution.exit_code != 0:
        raise UserError(f"image {image}: {original.last_line(execution)}")
    return execution.output.decode().split()[0]


@contextmanager
def _image(base: str, reference: str, reporter: Reporter) -> Iterator[None]:
    """Make the image of the instance. If no instance comes of it, an image that was not there before is removed.

    Raises: EnvironmentFault.
    """
    from environments.docker import daemon, images
    from environments.leftovers.images import remove

    api = daemon.connect()
    try:
        existed = images.look_up(api, reference) is not None
        spec = EnvironmentSpec(kind="docker", image=reference, build=Build(CLEANROOM, args={"BASE": base}))
        images.make_available(api, spec, reporter)
        try:
            yield
        except BaseException:
            if not existed:
                remove(api, reference)
            raise
    finally:
        api.close()


def _branch(image: str, task: Path, group: str) -> _Branch:
    """Return a group as a branch, after running its tests on the original.

    Raises: UserError, EnvironmentFault.
    """
    files = _files(task / "tests", group)
    results = _run(image, group, files)
    failed = {
        name: (result.message.strip().splitlines() or [result.status])[0]
        for name, result in results.items()
        if result.status != "passed"
    }
    return _Branch(_archive(files), tuple(results), failed)


def _files(tests: Path, group: str) -> dict[str, bytes]:
    """Return a branch's files: the group's tests, the files that all groups share, and the runner."""
    others = {path.parent.name for path in tests.glob("*/test_*.py")} - {group}
    return {
        "eval/run.sh": (INSIDE / "run.sh").read_bytes(),
        "eval/conftest.py": (INSIDE / "candidate.py").read_bytes(),
        "eval/answer.py": (INSIDE / "answer.py").read_bytes(),
        **{
            f"eval/tests/{name}": data
            for name, data in original.files_below(tests).items()
            if name.partition("/")[0] not in others
        },
    }


def _archive(files: Mapping[str, bytes]) -> bytes:
    """Return a branch's tar.gz, the same for the same files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            member.mode = 0o755 if name.endswith(".sh") else 0o644
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0)


def _run(image: str, group: str, files: Mapping[str, bytes]) -> dict[str, junit.CaseResult]:
    """Run a branch's tests on the original, as the evaluator does; return the results by name.

    Raises: UserError, EnvironmentFault.
    """
    with original.container(image) as environment:
        original.put(environment, files, "/workspace")
        execution = environment.execute("./eval/run.sh", deadline_s=_SUITE_S, cwd="/workspace")
        if execution.exit_code not in (0, 1):  # pytest: 0 all passed, 1 some failed
            lines = execution.output.decode("utf-8", "replace").strip().splitlines() or [f"exit {execution.exit_code}"]
            raise UserError(f"tests of {group}: cannot be run: {main_line(lines).removeprefix('E ').strip()}")
        try:
            results = junit.parse(original.get(environment, "/workspace/eval/results.xml")).values()
        except FileNotFoundError:
            raise UserError(f"tests of {group}: left no results.xml: {original.last_line(execution)}") from None
        except junit.JUnitError as error:
            raise UserError(f"tests of {group}: left no usable results.xml: {error}") from None
    return {f"{result.classname}.{result.name}": result for result in results}
