"""Defects of published tasks that their files show, without a container."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from shutil import copytree

import pytest

from benchmarks.task import formats
from benchmarks.task.formats import Defect
from tests.families.terminalbench_samples import LONGCLI, TERMINAL_BENCH

FILES = {"kernel/proc.c": b"int proc;\n", "mkfs/mkfs.c": b"int main;\n", "Makefile": b"all:\n\techo\n"}


def md5(data: bytes) -> str:
    return hashlib.md5(data).hexdigest()


TABLES = {
    "p2p.py": lambda sums: f"SUMS = {json.dumps(sums, indent=2)}\n",
    "p2p_pairs.py": lambda sums: (
        "SUMS = [\n" + "".join(f"    ('{path}', '{sum}'),\n" for path, sum in sums.items()) + "]"
    ),
    "sums.md5": lambda sums: "".join(f"{sum}  ./{path}\n" for path, sum in sums.items()),
    "absolute.py": lambda sums: json.dumps({f"/app/project/{path}": sum for path, sum in sums.items()}),
}


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A task whose tests compare three files of its project with checksums."""
    copytree(LONGCLI / "tally", tmp_path / "lab")
    for path, data in FILES.items():
        (tmp_path / "lab/project" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "lab/project" / path).write_bytes(data)
    return tmp_path / "lab"


def defects(task: Path) -> dict[str, Defect]:
    return {defect.check: defect for defect in formats.defects("terminal-bench", task)}


@pytest.mark.parametrize("table", TABLES)
def test_a_file_of_a_checksum_table_that_is_not_published_is_named(task: Path, table: str) -> None:
    sums = {path: md5(data) for path, data in FILES.items()}
    (task / "tests" / table).write_text(TABLES[table](sums))
    assert defects(task) == {}
    (task / "project/mkfs/mkfs.c").unlink()
    defect = defects(task)["checksum tables"]
    assert defect.breaks
    assert "P2P compares 3 files: " in defect.detail
    assert "mkfs/mkfs.c is missing from the task" in defect.detail


def test_an_overlay_mends_what_is_named(task: Path, tmp_path: Path) -> None:
    (task / "tests/p2p.py").write_text(TABLES["p2p.py"]({path: md5(data) for path, data in FILES.items()}))
    (task / "project/mkfs/mkfs.c").unlink()
    (task / "project/tests").mkdir()
    (task / "project/tests/01.py").write_text("test = {'locked': True}")
    (task / "task.yaml").open("a").write("max_test_timeout: 3\n")
    assert defects(task).keys() == {"checksum tables", "locked cases", "unknown keys"}
    overlay = tmp_path / "overlay"
    mended = {"project/mkfs/mkfs.c": FILES["mkfs/mkfs.c"], "project/tests/01.py": b"test = {'locked': False}"}
    mended["task.yaml"] = (LONGCLI / "tally/task.yaml").read_bytes()
    for path, data in mended.items():
        (overlay / path).parent.mkdir(parents=True, exist_ok=True)
        (overlay / path).write_bytes(data)
    assert formats.defects("terminal-bench", task, overlay) == ()
    (overlay / "project/mkfs/mkfs.c").write_bytes(b"other")
    (defect,) = formats.defects("terminal-bench", task, overlay)
    assert "mkfs/mkfs.c has other contents than its checksum" in defect.detail


def test_other_contents_and_line_ends_are_told_apart(task: Path) -> None:
    (task / "tests/p2p.py").write_text(TABLES["p2p.py"]({path: md5(data) for path, data in FILES.items()}))
    (task / "project/Makefile").write_bytes(FILES["Makefile"].replace(b"\n", b"\r\n"))
    assert "Makefile has CRLF line ends" in defects(task)["checksum tables"].detail
    (task / "project/Makefile").write_bytes(b"mine")
    assert "Makefile has other contents than its checksum" in defects(task)["checksum tables"].detail


def test_locked_cases_of_the_grader_are_counted(task: Path) -> None:
    (task / "project/tests").mkdir()
    (task / "project/tests/01.py").write_text("test = {'locked': False, 'cases': [{'locked': True}, {'locked':True}]}")
    defect = defects(task)["locked cases"]
    assert defect.breaks
    assert defect.detail.startswith("2 test cases are locked")
    assert "project/tests/01.py" in defect.detail


def test_unknown_keys_are_named_and_break_nothing(task: Path) -> None:
    with (task / "task.yaml").open("a") as file:
        file.write("max_test_timeout: 3\n")
    defect = defects(task)["unknown keys"]
    assert not defect.breaks
    assert "task.yaml: max_test_timeout: nothing reads this" in defect.detail


@pytest.mark.parametrize("folder", [*LONGCLI.iterdir(), *TERMINAL_BENCH.iterdir()], ids=lambda folder: folder.name)
def test_our_samples_have_no_defects(folder: Path) -> None:
    assert defects(folder) == {}
