"""Two recorded workspaces compared, through the command as users run it."""

from __future__ import annotations

import json
import random
import subprocess
import tarfile
import time
from io import BytesIO
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings, strategies as st

from tests.pace import plain_python_s
from tests.record.writing import Writing
from tests.solve.command import agent
from trajectories.errors import RecordError
from trajectories.workspace.diff import Workspace, diff
from trajectories.workspace.line_diff import MOST_LINES, unified
from trajectories.workspace.manifest import PathState, compare_manifests

RECORDINGS = Path(__file__).parents[2] / "docs" / "recordings"
ONE = {b"a.py": b"one\ntwo\nthree\n", b"bin": b"\0\1", b"d": None, b"l": (b"a.py",), b"same": b"s"}
TWO = {b"a.py": b"one\n2\nthree\n", b"bin": b"\0\2", b"d": b"now a file\n", b"l": (b"bin",), b"same": b"s", b"n": b"x"}


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    return Writing(tmp_path / "runs" / "b" / "trial", ONE).step(TWO).step(TWO).done()


def test_steps_are_compared_with_sizes_and_lines(trial: Path, tmp_path: Path) -> None:
    run = agent(tmp_path, "diff", "trial", "--step", "0", "--to", "1", "--content", "--json")
    assert run.status == 0, run.err
    differences = {difference["path"]: difference for difference in run.json["differences"]}
    assert sorted(differences) == ["a.py", "bin", "d", "l", "n"]
    assert differences["a.py"]["lines"] == "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    assert (differences["a.py"]["size_before"], differences["a.py"]["size_after"]) == (14, 12)
    assert differences["bin"]["no_lines"] == "binary"
    assert differences["d"]["aspects"] == ["type"]
    assert differences["l"]["aspects"] == ["target"]
    assert differences["n"]["lines"] == "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
    assert (run.json["added"], run.json["removed"], run.json["changed"]) == (1, 0, 4)
    assert run.json["a"] == {"trial": "runs/b/trial", "step": 0, "files": 3, "bytes": 17}
    assert agent(tmp_path, "diff", "trial", "--step", "1", "--json").json["equal"]
    assert "M a.py (content) 14 bytes -> 12 bytes" in agent(tmp_path, "diff", "trial").out


@pytest.mark.parametrize("type", ["file", "directory", "other"])
def test_a_mode_is_compared_unless_it_is_unknown_on_one_side(type: str) -> None:
    sha256 = "0" * 64 if type == "file" else None
    before, after = (PathState(type, mode, 1, sha256=sha256) for mode in (0o644, 0o755))
    (difference,) = compare_manifests({"p": before}, {"p": after})
    assert (difference.change, difference.aspects) == ("changed", ("mode",))
    assert compare_manifests({"p": before}, {"p": PathState(type, None, 1, sha256=sha256)}) == []
    assert compare_manifests({"p": before}, {"p": before}) == []


def test_the_mode_of_a_link_is_not_compared() -> None:
    before, after = (PathState("symlink", mode, link="a") for mode in (0o777, 0o755))
    assert compare_manifests({"p": before}, {"p": after}) == []


def test_trials_are_compared_by_their_last_steps(trial: Path, tmp_path: Path) -> None:
    Writing(tmp_path / "runs" / "b" / "other", ONE).done()
    run = agent(tmp_path, "diff", "other", "trial", "--json")
    assert (run.json["changed"], run.json["added"]) == (4, 1)
    assert agent(tmp_path, "diff", "other", "trial", "--to", "0", "--json").json["equal"]


def test_recordings_without_snapshots_are_compared_by_their_archives() -> None:
    comparison = diff(Workspace(RECORDINGS / "ledger", None), Workspace(RECORDINGS / "figlet", None), content=True)
    paths = {difference.path: difference for difference in comparison.differences}
    assert paths["ledger.py"].change == "removed"
    assert paths["figlet.py"].lines is not None
    assert paths["figlet.py"].lines.count("\n+") > 100
    assert comparison.a.step is None
    assert diff(Workspace(RECORDINGS / "ledger", None), Workspace(RECORDINGS / "ledger", None)).equal


def test_missing_workspaces_and_steps_are_usage_errors(trial: Path, tmp_path: Path) -> None:
    Writing(tmp_path / "runs" / "b" / "bare", {}, snapshots=False).done()
    for argv in (("diff", "bare"), ("diff", "bare", "trial"), ("diff", "trial", "--to", "9"), ("diff", "nothing")):
        run = agent(tmp_path, *argv)
        assert run.status == 2
        assert len(run.err.splitlines()) == 1
    assert "no snapshots" in agent(tmp_path, "diff", "bare").err
    assert "the last is 2" in agent(tmp_path, "diff", "trial", "--to", "9").err


def test_checkout_writes_a_step_and_reports_missing_contents(trial: Path, tmp_path: Path) -> None:
    run = agent(tmp_path, "checkout", "trial", "--step", "0", "out", "--json")
    assert run.status == 0, run.err
    assert (run.json["files"], run.json["links"], run.json["directories"], run.json["missing"]) == (3, 1, 1, [])
    assert (tmp_path / "out" / "a.py").read_bytes() == ONE[b"a.py"]
    again = agent(tmp_path, "checkout", "trial", "out")
    assert again.status == 2
    assert "not empty" in again.err
    for blob in (trial / "blobs").rglob("*.zst"):
        blob.unlink()
    lost = agent(tmp_path, "checkout", "trial", "out2", "--json")
    assert lost.status == 1
    assert "missing: a.py: " in lost.err
    assert len(lost.json["missing"]) == 5
    assert agent(tmp_path, "checkout", "trial", "out3", "--allow-missing").status == 0


def test_gc_reports_what_it_would_delete(trial: Path, tmp_path: Path) -> None:
    (trial / "blobs").rename(tmp_path / "away")
    for blob in (tmp_path / "away").rglob("*.zst"):
        blob.unlink()
    assert agent(tmp_path, "gc", "--dry-run", "--json").json["blobs"] == 8
    assert agent(tmp_path, "gc", "--json").json["blobs"] == 8
    assert agent(tmp_path, "gc", "--json").json["blobs"] == 0
    assert agent(tmp_path, "gc", "--runs", "nowhere").status == 2


def archive(tmp_path: Path, data: bytes) -> Path:
    trial = Writing(tmp_path / "b" / "odd", {}, snapshots=False).done()
    (trial / "workspace.tar.zst").write_bytes(data)
    return trial


def climbing() -> bytes:
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("../evil"))
    return buffer.getvalue()


def chained() -> bytes:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 11
    return (header.tobuf(tarfile.USTAR_FORMAT) + b"11 path=ab\n".ljust(512, b"\0")) * 3000


def swollen() -> bytes:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 7 << 30
    return header.tobuf(tarfile.USTAR_FORMAT) + bytes(1 << 20)


@pytest.mark.parametrize("plain", [b"", b"junk" * 500, climbing(), chained(), swollen(), climbing()[:700]])
def test_an_invalid_archive_is_an_error_with_its_name(tmp_path: Path, plain: bytes) -> None:
    trial = archive(tmp_path, zstandard.ZstdCompressor().compress(plain))
    with pytest.raises(RecordError, match=r"workspace\.tar\.zst"):
        Workspace(trial, None)


def test_an_archive_that_is_not_zstd_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"workspace\.tar\.zst: not a complete tar archive"):
        Workspace(archive(tmp_path, b"junk"), None)


lines = st.lists(st.sampled_from(["a", "b", "c", "", "\f", "x\r"]), max_size=12).map("\n".join)


@settings(max_examples=40, deadline=None)
@given(before=lines, after=lines)
def test_patch_applies_the_diff(tmp_path_factory: pytest.TempPathFactory, before: str, after: str) -> None:
    place = tmp_path_factory.mktemp("patch")
    (place / "f").write_bytes(before.encode())
    made = unified(before, after, "f").encode()
    if before == after:
        assert made == b""
        return
    subprocess.run(["patch", "--binary", "-s", "f"], cwd=place, input=made, check=True)
    assert ((place / "f").read_bytes() if (place / "f").exists() else b"") == after.encode()


def test_a_diff_is_bounded_in_time_and_length() -> None:
    lines = [f"{number % 7}\n" for number in range(20_000)]
    random.Random(1).shuffle(lines)
    began = time.process_time()
    made = unified("".join(lines), "".join(reversed(lines)), "f")
    assert time.process_time() - began < 50 * plain_python_s()
    assert made.count("\n") == MOST_LINES + 1
    assert made.endswith("more lines ...]\n")


def test_names_are_shown_without_terminal_escapes(tmp_path: Path) -> None:
    Writing(tmp_path / "runs" / "b" / "trial", {}).step({b"\x1b[2Jx": b"\x1b]0;evil\x07\n"}).done()
    run = agent(tmp_path, "diff", "trial", "--content")
    assert "\x1b" not in run.out
    assert "\u241b[2Jx" in run.out
    assert json.loads(agent(tmp_path, "diff", "trial", "--json").out)["differences"][0]["path"] == "\x1b[2Jx"
