"""Makes an instance of ProgramBench of one's own from a rebuild task.

Reads TASK_DIRECTORY (tests/, as `scripts/rebuild-suite` leaves it, and solution/ where there is one) and IMAGE
(`scripts/rebuild-image` makes one). Writes DIRECTORY/tasks/<id>/ in the layout of the package's data,
DIRECTORY/blobs/<id>/tests/<branch>.tar.gz, one for each group of the suite, and makes the image
ORGANISATION/<id>:task_cleanroom_v6. The original must pass: a test that it fails is listed as ignored.
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
from xml.etree import ElementTree

import yaml

from benchmarks.programbench.instances import IMAGE_TAG
from environments.protocol import Build, EnvironmentFault, EnvironmentSpec

HERE = Path(__file__).resolve().parent
CLEANROOM = HERE / "cleanroom"
PROGRAM = "/workspace/executable"
_NAME = re.compile(r"[a-z0-9._-]+")


class Mistake(Exception):
    """The task or the image cannot be made into an instance."""


@dataclass(frozen=True)
class Made:
    """An instance that was made, and what ProgramBench's package must be told to find it."""

    id: str
    image: str
    tests: int
    ignored: tuple[str, ...]
    """`branch/test` of those that the original fails."""
    variables: Mapping[str, str]


def make(task: Path, image: str, to: Path, *, organisation: str, owner: str, language: str) -> Made:
    """Make the instance.

    Raises: Mistake, EnvironmentFault, OSError.
    """
    name = task.resolve().name.lower()
    for what, value in (("--owner", owner), ("the task's directory", name)):
        if not _NAME.fullmatch(value) or "__" in value:
            raise Mistake(f"{what}: {value!r} cannot be part of an id; letters, digits, '.', '_' and '-' can")
    groups = sorted(path.parent.name for path in (task / "tests").glob("*/test_*.py"))
    if not groups:
        raise Mistake(f"{task / 'tests'}: no group has a test_*.py; `scripts/rebuild-suite` needs and fills them")
    base = _id_of(image)
    content = _digest_of_program(base)
    id = f"{owner}__{name}.{content[:7]}"
    reference = f"{organisation}/{owner}_1776_{name}.{content[:7]}:{IMAGE_TAG}"
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
    return Made(
        id=id,
        image=reference,
        tests=sum(len(branch["tests"]) for branch in branches.values()) - len(ignored),
        ignored=tuple(ignored),
        variables={
            "RETRACE_PROGRAMBENCH_TASKS": str(directory.parent.resolve()),
            "PROGRAMBENCH_BLOB_DIR": str((to / "blobs").resolve()),
            "PROGRAMBENCH_DOCKER_ORG": organisation,
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
    done = subprocess.run(command, input=b"" if input is None else input, capture_output=True)
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise Mistake(f"docker {argv[0]}: {said[-1] if said else f'status {done.returncode}'}")
    return done.stdout


def _digest_of_program(image: str) -> str:
    """sha256 of the original. It stands for the commit of its source, which a Debian package does not name."""
    return _docker("run", "--rm", "--network=none", "--user=0", image, "sha256sum", PROGRAM).decode().split()[0]


def _id_of(image: str) -> str:
    """The local image's id, so that nothing is pulled, and what is made depends on content alone."""
    from environments.docker import daemon, images

    api = daemon.connect()
    try:
        found = images.look_up(api, image)
    finally:
        api.close()
    if found is None:
        raise Mistake(f"image {image} is not here; `scripts/rebuild-image` makes one")
    return found.id


def _make_image(base: str, reference: str) -> None:
    from environments.docker import daemon, images

    api = daemon.connect()
    try:
        spec = EnvironmentSpec(kind="docker", image=reference, build=Build(CLEANROOM, args={"BASE": base}))
        images.make_available(api, spec, lambda line: None)
    finally:
        api.close()


def _archive(tests: Path, group: str) -> bytes:
    """A branch's tar.gz: the group's tests, what all groups share, and what runs them. The same each time."""
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
    """Whether the original passes, by test name, in a container as the evaluator starts it."""
    inside = "tar -xzf - && ./eval/run.sh >/tmp/log 2>&1; cat eval/results.xml || { tail -n 3 /tmp/log >&2; exit 1; }"
    xml = _docker("run", "--rm", "-i", "--init", "--network=none", image, "bash", "-lc", inside, input=archive)
    cases = ElementTree.fromstring(xml).iter("testcase")
    return {f"{case.get('classname')}.{case.get('name')}": len(case) == 0 for case in cases}


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="rebuild-programbench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", metavar="TASK_DIRECTORY", type=Path, help="for instance tests/programbench/number")
    parser.add_argument("image", metavar="IMAGE", help="an image with the original, from scripts/rebuild-image")
    parser.add_argument("--to", metavar="DIRECTORY", type=Path, required=True, help="where tasks/ and blobs/ are put")
    parser.add_argument("--organisation", default="retrace", help="of the image's name; default retrace")
    parser.add_argument("--owner", default="retrace", help="the first part of the id; default retrace")
    parser.add_argument("--language", default="c", help="what the original is written in; default c")
    given = parser.parse_args()
    if given.organisation == "programbench":
        print("error: --organisation programbench: a local image would stand before the real one", file=sys.stderr)
        return 2
    names = ("organisation", "owner", "language")
    try:
        made = make(given.task, given.image, given.to, **{name: getattr(given, name) for name in names})
    except (Mistake, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except EnvironmentFault as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 1
    for test in made.ignored:
        print(f"ignored, the original fails it: {test}", file=sys.stderr)
    print(f"programbench/{made.id}: {made.tests} tests, image {made.image}", file=sys.stderr)
    for name, value in made.variables.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
