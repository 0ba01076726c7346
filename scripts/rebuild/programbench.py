"""Make your own instance of ProgramBench from a rebuild task.

Reads TASK_DIRECTORY (tests/, written by `scripts/rebuild-suite`, and solution/ if there is one) and IMAGE (built by
`scripts/rebuild-image`). Writes DIRECTORY/tasks/<id>/ in the layout of the package's data and
DIRECTORY/blobs/<id>/tests/<branch>.tar.gz for each group of the suite, and builds the image
ORGANIZATION/<id>:task_cleanroom_v6. The original should pass: a test that it fails is listed as ignored.

Prints the variables to export on standard output. Exit status: 0 made, 1 the machine failed, 2 usage error.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.judging import junit
from benchmarks.programbench.instances import IMAGE_TAG
from environments.protocol import Build, EnvironmentFault, EnvironmentSpec

HERE = Path(__file__).resolve().parent
CLEANROOM = HERE / "cleanroom"
PROGRAM = "/workspace/executable"
_NAME = re.compile(r"[a-z0-9._-]+")


class Mistake(Exception):
    """No instance can be made of this task and this image."""


@dataclass(frozen=True)
class OwnInstance:
    """A new instance, and the environment variables with which ProgramBench's package finds it."""

    id: str
    image: str
    tests: int
    ignored: tuple[str, ...]
    """Tests that the original fails, each as `branch/test`."""
    variables: Mapping[str, str]


def make(task: Path, image: str, to: Path, *, organization: str, owner: str, language: str) -> OwnInstance:
    """Make the instance.

    Raises: Mistake, EnvironmentFault, OSError.
    """
    name = task.resolve().name.lower()
    for source, value in (("--owner", owner), ("the task's directory", name)):
        if not _NAME.fullmatch(value) or "__" in value:
            raise Mistake(f"{source}: {value!r} cannot be part of an id; use letters, digits, '.', '-' and single '_'")
    groups = sorted(path.parent.name for path in (task / "tests").glob("*/test_*.py"))
    if not groups:
        raise Mistake(f"{task / 'tests'}: no group has a test_*.py; add one per group, and run `scripts/rebuild-suite`")
    base = _id_of(image)
    content = _digest_of_program(base)
    id = f"{owner}__{name}.{content[:7]}"
    reference = f"{organization}/{owner}_1776_{name}.{content[:7]}:{IMAGE_TAG}"
    _make_image(base, reference)

    branches: dict[str, Any] = {}
    ignored: list[str] = []
    archives = to / "blobs" / id / "tests"
    archives.mkdir(parents=True, exist_ok=True)
    for group in groups:
        branch = hashlib.sha256(group.encode()).hexdigest()[:12]
        archive = _archive(task / "tests", group)
        statuses = _run(reference, archive)
        failed = [test for test, passed in statuses.items() if not passed]
        ignored += [f"{branch}/{test}" for test in failed]
        (archives / f"{branch}.tar.gz").write_bytes(archive)
        branches[branch] = {
            "ignored": False,
            "ignore_reason": "",
            "tests": sorted(statuses),
            "ignored_tests": [{"name": test, "reasons": [{"id": "gold_fail"}]} for test in failed],
        }
    directory = to / "tasks" / id
    _write(directory, task / "solution", content, f"{owner}/{name}", language, branches)
    return OwnInstance(
        id=id,
        image=reference,
        tests=sum(len(branch["tests"]) for branch in branches.values()) - len(ignored),
        ignored=tuple(ignored),
        variables={
            "RETRACE_PROGRAMBENCH_TASKS": str(directory.parent.resolve()),
            "PROGRAMBENCH_BLOB_DIR": str((to / "blobs").resolve()),
            "PROGRAMBENCH_DOCKER_ORG": organization,
        },
    )


def _write(
    directory: Path, solution: Path, content: str, repository: str, language: str, branches: Mapping[str, Any]
) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    data = {"repository": repository, "commit": content[:40], "language": language, "eval_clean_hashes": [content]}
    (directory / "task.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    (directory / "tests.json").write_text(json.dumps({"branches": branches}, indent=2) + "\n")
    shutil.rmtree(directory / "solution", ignore_errors=True)
    if solution.is_dir():
        shutil.copytree(solution, directory / "solution")


def _docker(*argv: str, input: bytes | None = None) -> bytes:
    command = ["docker", *argv]
    process = subprocess.run(command, input=b"" if input is None else input, capture_output=True)
    if process.returncode:
        lines = (process.stderr or process.stdout).decode(errors="replace").strip().splitlines()
        raise Mistake(f"docker {argv[0]}: {lines[-1] if lines else f'status {process.returncode}'}")
    return process.stdout


def _digest_of_program(image: str) -> str:
    """Return the sha256 of the original, which replaces its source's commit: a Debian package does not name one."""
    return _docker("run", "--rm", "--network=none", "--user=0", image, "sha256sum", PROGRAM).decode().split()[0]


def _id_of(image: str) -> str:
    """Return the local image's id, so that nothing is pulled and the result depends on content alone."""
    from environments.docker import daemon, images

    api = daemon.connect()
    try:
        local = images.look_up(api, image)
    finally:
        api.close()
    if local is None:
        raise Mistake(f"image {image} does not exist on this daemon; build it with `scripts/rebuild-image`")
    return local.id


def _make_image(base: str, reference: str) -> None:
    from environments.docker import daemon, images
    from environments.reporting import LogReporter

    api = daemon.connect()
    try:
        spec = EnvironmentSpec(kind="docker", image=reference, build=Build(CLEANROOM, args={"BASE": base}))
        images.make_available(api, spec, LogReporter())
    finally:
        api.close()


def _archive(tests: Path, group: str) -> bytes:
    """Return a branch's tar.gz: the group's tests, the files that all groups share, and the runner. Reproducible."""
    files = {
        "eval/run.sh": HERE / "run.sh",
        "eval/conftest.py": HERE / "candidate.py",
        "eval/answer.py": HERE / "answer.py",
    }
    others = {path.parent for path in tests.glob("*/test_*.py")} - {tests / group}
    for path in tests.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts and not others & set(path.parents):
            files[f"eval/tests/{path.relative_to(tests)}"] = path
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, path in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = path.stat().st_size
            member.mode = 0o755 if name.endswith(".sh") else 0o644
            with path.open("rb") as file:
                archive.addfile(member, file)
    return gzip.compress(out.getvalue(), mtime=0)


def _run(image: str, archive: bytes) -> dict[str, bool]:
    """Run the tests on the original, in a container as the evaluator starts it; return by name which ones pass."""
    inside = "tar -xzf - && ./eval/run.sh >/tmp/log 2>&1; cat eval/results.xml || { tail -n 3 /tmp/log >&2; exit 1; }"
    xml = _docker("run", "--rm", "-i", "--init", "--network=none", image, "bash", "-lc", inside, input=archive)
    try:
        results = junit.parse(xml).values()
    except junit.JUnitError as error:
        raise Mistake(f"image {image}: the suite left no usable results.xml ({error})") from None
    return {f"{result.classname}.{result.name}": result.status == "passed" for result in results}


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="rebuild-programbench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "task",
        metavar="TASK_DIRECTORY",
        type=Path,
        help="directory of the rebuild task, for instance tests/programbench/number",
    )
    parser.add_argument("image", metavar="IMAGE", help="image with the original, built by scripts/rebuild-image")
    parser.add_argument(
        "--to", metavar="DIRECTORY", type=Path, required=True, help="directory that gets tasks/ and blobs/"
    )
    parser.add_argument("--organization", default="retrace", help="first part of the image's name; default: retrace")
    parser.add_argument("--owner", default="retrace", help="first part of the instance's id; default: retrace")
    parser.add_argument("--language", default="c", help="programming language of the original; default: c")
    options = parser.parse_args()
    if options.organization == "programbench":
        print(
            "error: --organization programbench: a local image would hide the benchmark's own; use another name",
            file=sys.stderr,
        )
        return 2
    names = ("organization", "owner", "language")
    try:
        instance = make(options.task, options.image, options.to, **{name: getattr(options, name) for name in names})
    except (Mistake, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except EnvironmentFault as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 1
    for test in instance.ignored:
        print(f"ignored, because the original fails it: {test}", file=sys.stderr)
    print(f"programbench/{instance.id}: {instance.tests} tests, image {instance.image}", file=sys.stderr)
    for name, value in instance.variables.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
