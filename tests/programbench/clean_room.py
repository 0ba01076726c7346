"""Clean-room images, archives of hidden tests and submissions, all made here: nothing comes from a registry.

The organization of an image contains the hash of its content: never `programbench/`, the same for every test process
and worktree, and built only once. Like the images of the demos, it stays as a cache.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import zstandard

from environments.docker import daemon, images
from environments.protocol import Build, EnvironmentSpec
from environments.reporting import LogReporter

IMAGE = Path(__file__).parent / "image"
TAG = "task_cleanroom_v6"
CALCULATOR = "testorg__calculator.abc1234"
CALCULATOR_BRANCH = "33128f6b8600"
CALCULATOR_HELP = "A OP B prints the result of A + B, A - B or A * B for integers.\n"
RUN_SH = """#!/bin/bash
cd "$(dirname "$0")/.."
python3 -m pytest -q -p no:cacheprovider --rootdir=eval eval/tests --timeout=10 --junitxml=eval/results.xml || true
"""
"""Test names are `tests...`, as the fixture's tests.json has them (the package's own run.sh yields `eval.tests...`)."""

ADDS = 'case "$2" in +) echo $(($1 + $3)) ;; esac\n'
CALCULATES = 'case "$2" in [-+*]) echo $(($1 $2 $3)) ;; *) exit 2 ;; esac\n'
COMPILE = "#!/bin/bash\ncp calculator.sh executable && chmod +x executable\n"


@dataclass(frozen=True)
class CleanRoom:
    """An image of ours under the name that the package expects within `organization`."""

    organization: str
    """Value for PROGRAMBENCH_DOCKER_ORG."""
    reference: str


def clean_room(id: str, docs: Mapping[str, str], program: Path, packages: str = "") -> CleanRoom:
    """Build an instance's image unless it exists. `docs` are by path in the workspace, `program` a binary or .c file.

    `packages`: Debian packages, separated by spaces, that building a submission needs.
    """
    with tempfile.TemporaryDirectory() as scratch:
        context = Path(scratch)
        shutil.copy(IMAGE / "Dockerfile", context)
        for name, text in docs.items():
            (context / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
            (context / "docs" / name).write_text(text)
        (context / "program").mkdir()
        shutil.copy(program, context / "program" / ("program.c" if program.suffix == ".c" else "executable"))
        build = Build(context, args={"PACKAGES": packages} if packages else {})
        organization = f"retrace-test-{images.content_hash(build, None)[:12]}"
        reference = f"{organization}/{id.replace('__', '_1776_')}:{TAG}"
        api = daemon.connect()
        try:
            images.make_available(api, EnvironmentSpec("docker", reference, build), LogReporter())
        finally:
            api.close()
    return CleanRoom(organization, reference)


def calculator_image() -> CleanRoom:
    """Return the image of the package's fixture, which comes without one."""
    return clean_room(CALCULATOR, {"README.md": CALCULATOR_HELP}, IMAGE / "calculator.c")


def branch_archive(blobs: Path, id: str, branch: str, files: Mapping[str, str | bytes]) -> Path:
    """Write `<blobs>/<id>/tests/<branch>.tar.gz` reproducibly; `*.sh` are executable."""
    path = blobs / id / "tests" / f"{branch}.tar.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(tar(files), mtime=0))
    return path


def calculator_blobs(blobs: Path) -> Path:
    """Write the archive of the package's calculator fixture: its tests, and a run.sh that yields the listed names."""
    from benchmarks.programbench import instances

    tests = instances.instance(CALCULATOR).directory / "tests" / CALCULATOR_BRANCH / "eval" / "tests"
    files: dict[str, str | bytes] = {f"eval/tests/{path.name}": path.read_bytes() for path in tests.glob("*.py")}
    branch_archive(blobs, CALCULATOR, CALCULATOR_BRANCH, {"eval/run.sh": RUN_SH, **files})
    return blobs


def workspace(to: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write an exported workspace like `Environment.export`: tar.zst, uid and gid 0, with a `./` entry."""
    to.write_bytes(zstandard.compress(tar(files)))
    return to


def calculator(program: str = CALCULATES, compile_sh: str | bytes | None = COMPILE) -> dict[str, str | bytes]:
    """Return a submission for the fixture: a bash program and its compile.sh."""
    files: dict[str, str | bytes] = {"README.md": CALCULATOR_HELP, "calculator.sh": f"#!/bin/bash\n{program}"}
    return files if compile_sh is None else {**files, "compile.sh": compile_sh}


def tar(files: Mapping[str, str | bytes]) -> bytes:
    """Return a tar of these files by name: `./` first, owned by root, with the same time stamp."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        names = {"./": None, **{f"./{name}": body for name, body in sorted(files.items())}}
        for name in list(names):
            parent = os.path.dirname(name)
            while parent not in (".", ""):
                names.setdefault(f"{parent}/", None)
                parent = os.path.dirname(parent)
        for name, body in sorted(names.items()):
            member = tarfile.TarInfo(name.rstrip("/"))
            member.mtime = 1_700_000_000
            if body is None:
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(member)
                continue
            data = body.encode() if isinstance(body, str) else body
            member.size, member.mode = len(data), 0o755 if name.endswith(".sh") else 0o644
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()
