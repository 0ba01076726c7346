"""The clean-room compile check forecasts the official evaluator's build, in the image itself."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
from pathlib import Path

import pytest

from benchmarks.programbench import check, instances
from tests.programbench import clean_room
from tests.programbench.clean_room import calculator, tar

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("offline")]


@pytest.fixture
def submission(tmp_path: Path):
    """Return a function that writes a submission.tar.gz."""

    def write(files: dict[str, str | bytes]) -> Path:
        path = tmp_path / "submission.tar.gz"
        path.write_bytes(gzip.compress(tar(files)))
        return path

    return write


def checked(archive: Path, deadline_s: float = 30) -> tuple[check.Check, check.CleanRoom, str]:
    log = archive.with_name("compile.log")
    with check.CleanRoom(instances.instance(clean_room.CALCULATOR)) as room:
        result = room.compile(archive, deadline_s, log)
    return result, room, log.read_bytes().decode("utf-8", "replace")


def test_the_original_is_hashed_before_anything_else(
    submission, calculator_image: clean_room.CleanRoom, tmp_path: Path
) -> None:
    """The hash keeps it out of a submission under any name. The file is execute-only, so only root can hash it."""
    result, room, _ = checked(submission(calculator()))
    assert result.builds, result.reason
    create = ["docker", "create", calculator_image.reference]
    container = subprocess.run(create, capture_output=True, text=True, check=True).stdout.strip()
    try:
        copy = ["docker", "cp", "-q", f"{container}:/workspace/executable", str(tmp_path / "original")]
        subprocess.run(copy, check=True, capture_output=True)
    finally:
        subprocess.run(["docker", "rm", container], check=True, capture_output=True)
    assert room.original == hashlib.sha256((tmp_path / "original").read_bytes()).hexdigest()
    assert not room.image.published
    assert room.image.digest == room.image.id


def test_it_builds_as_root_in_a_workspace_without_files_of_the_image(submission) -> None:
    files = calculator(
        compile_sh="#!/bin/sh\nid -un; pwd; ls -A; echo $HOME\ngit log --format=%s\ncp README.md executable\n"
    )
    result, _, log = checked(submission(files))
    assert result == check.Check(True, ended="exited", written_bytes=result.written_bytes, seconds=result.seconds)
    assert result.written_bytes > 0
    assert log.split() == ["root", "/workspace", ".git", "README.md", "calculator.sh", "compile.sh", "/root", "gold"]


@pytest.mark.parametrize(
    ("compile_sh", "reason"),
    [
        (None, "there is no compile.sh"),
        ("#!/bin/sh\necho one; echo two >&2; exit 3\n", "compile.sh failed: exit 3: one\ntwo"),
        ("#!/bin/sh\ntrue\n", "compile.sh made no ./executable"),
        ("#!/bin/sh\nchmod +x executable\n", "compile.sh failed: exit 1: chmod: cannot access 'executable'"),
        ("#!/bin/sh\ngetent hosts debian.org || ls /sys/class/net; exit 7\n", "compile.sh failed: exit 7: lo"),
    ],
    ids=["no compile.sh", "fails", "makes nothing", "only makes it executable", "has no network"],
)
def test_a_failed_build_is_reported_with_its_output(submission, compile_sh: str | None, reason: str) -> None:
    result, _, _ = checked(submission({**calculator(compile_sh=compile_sh), "executable": "#!/bin/sh\necho 5\n"}))
    assert result.builds is False
    assert result.reason.startswith(reason)
    assert not result.hangs


def test_a_build_that_hangs_is_ended_at_its_deadline(submission) -> None:
    result, _, log = checked(submission(calculator(compile_sh="#!/bin/sh\necho begun\nsleep 1000\n")), deadline_s=1)
    assert (result.builds, result.hangs, log) == (False, True, "begun\n")
    assert result.reason == "compile.sh failed: had not finished after 1 s: begun"


def test_each_output_must_be_utf8_by_itself(submission) -> None:
    """The evaluator reads the streams separately: half a character on each is an error, though together it is whole."""
    print_half = f"{clean_room.COMPILE}printf '\\303'; printf '\\244' >&2\n"
    result, _, log = checked(submission(calculator(compile_sh=print_half)))
    assert (result.builds, result.utf8, log) == (True, False, "ä")
    whole, _, _ = checked(submission(calculator(compile_sh=f"{clean_room.COMPILE}printf '\\303\\244'\n")))
    assert whole.utf8
