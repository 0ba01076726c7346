"""Batches on disks that are full or read-only: one clear line, nothing left running, and the same command goes on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.batches.whole.running import BUSY, Study, alive
from tests.wire.study.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(400)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 MiB at `runs` of the test's folder."""
    if os.geteuid():
        pytest.skip("mounting a small file system needs root")
    place = tmp_path / "runs"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(place)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        pytest.skip(f"a file system cannot be mounted here: {result.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path) -> Path:
    """Fill a disk to its last byte."""
    path = disk / "filler"
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            with suppress(OSError):  # no space is left
                while file.write(b"x" * size):
                    pass
    return path


def test_a_full_disk_ends_a_batch_with_one_line_and_free_space_continues_it(tmp_path: Path, small_disk: Path) -> None:
    with Running("--busy", "8", "--latency", "0.5") as provider:
        study = Study(tmp_path, provider, f"{BUSY}\nattempts: 4\nworkers: 4\nreruns: 1\n")
        process = study.start()
        study.wait_for_requests(8, process)
        workers = study.workers(process.pid)
        filler = fill(small_disk)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 1, err
        assert "Traceback" not in err
        assert not any(map(alive, workers))
        filler.unlink()
        status, state, err = study.run()
        for _ in range(2):  # a unit may have used up its reruns while the disk was full
            if status:
                status, state, err = study.run("--workers", "4")
        assert state["waiting"] == 0, err
        assert state["done"] + sum(state["failed"].values()) == 4
        assert set(state["failed"]) <= {"disk_full"}
        study.check_bill()


def test_a_read_only_folder_is_refused_before_anything_starts(tmp_path: Path) -> None:
    place = tmp_path / "runs"
    place.mkdir()
    if (
        os.geteuid()
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(place)], check=False).returncode
    ):
        pytest.skip("mounting a read-only file system needs root")
    try:
        with Running("--busy", "2") as provider:
            status, _, err = Study(tmp_path, provider, BUSY).run()
            assert status == 1
            assert err.count("\n") == 1
            assert "the folder of the batch cannot be written (Read-only file system)" in err
            assert provider.state()["requests"] == 0
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
