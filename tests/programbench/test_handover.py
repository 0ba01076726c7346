"""The hand-over is the whole workspace, owned by root, without withheld content under any name; or an error."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings, strategies as st

from benchmarks.programbench import handover
from benchmarks.programbench.handover import HandOverError, Unsubmittable, hand_over
from benchmarks.programbench.parallel_gzip import PIECE_BYTES, compressed
from tests.programbench.archives import PROGRAM, export_of, member, packed, submitted, tar_of

SHA256 = hashlib.sha256(PROGRAM).hexdigest()
ROOT = member("./", type=tarfile.DIRTYPE, mode=0o755)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    (path / "src").mkdir(parents=True)
    return path


def submit(workspace: Path, tmp_path: Path, *options: str, withheld: tuple[str, ...] = (SHA256,)):
    to = tmp_path / handover.SUBMISSION
    result = hand_over(export_of(workspace, tmp_path / "workspace.tar.zst", *options), to, withheld)
    assert result.sha256 == hashlib.sha256(to.read_bytes()).hexdigest()
    assert result.bytes == to.stat().st_size
    members = submitted(to)
    assert result.entries == len(members)
    return result, members


FORMATS = pytest.mark.parametrize("format", ["gnu", "posix"])


@FORMATS
def test_the_submission_is_the_whole_workspace_owned_by_root(workspace: Path, tmp_path: Path, format: str) -> None:
    git = ("git", "-C", str(workspace), "-c", "user.name=x", "-c", "user.email=x@x")
    (workspace / "compile.sh").write_text("#!/bin/sh\n")
    (workspace / "compile.sh").chmod(0o4751)
    (workspace / "src" / ("n" * 150)).write_bytes(b"long")
    (workspace / "link").symlink_to("/etc/passwd" + "x" * 150)
    (workspace / b"caf\xe9".decode(errors="surrogateescape")).write_bytes(b"latin")
    (workspace / "locked").mkdir(0o000)
    with (workspace / "sparse").open("wb") as file:
        file.truncate(1 << 28)
        file.seek(1 << 27)
        file.write(b"in the middle")
    for command in (["init", "-q"], ["add", "compile.sh"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], check=True)
    result, members = submit(workspace, tmp_path, f"--format={format}", "--owner=someone:1234", "--group=some:3000000")
    assert next(iter(members)) == "."
    assert not result.removed
    assert {(info.uid, info.gid, info.uname, info.gname) for info, _ in members.values()} == {(0, 0, "", "")}
    assert members["./compile.sh"][0].mode == 0o4751
    assert members["./locked"][0].mode == 0
    assert members["./link"][0].linkname == "/etc/passwd" + "x" * 150
    assert members["./src/" + "n" * 150][1] == b"long"
    assert members["./caf\udce9"][1] == b"latin"
    assert members["./sparse"][0].issparse()
    assert (
        hashlib.sha256(members["./sparse"][1] or b"").digest()
        == hashlib.sha256(bytes(1 << 27) + b"in the middle" + bytes((1 << 27) - 13)).digest()
    )
    assert "./.git/HEAD" in members
    assert (tmp_path / handover.SUBMISSION).stat().st_size < 1 << 20


@FORMATS
def test_withheld_content_is_left_out_under_every_name(workspace: Path, tmp_path: Path, format: str) -> None:
    names = ["executable", "src/it's", 'qu"ote', "new\nline", "-rf", "a\\b", "x" * 200]
    raw = [os.fsencode(workspace) + b"/" + name.encode() for name in names] + [os.fsencode(workspace) + b"/\xff\xfe"]
    for path in raw:
        Path(os.fsdecode(path)).write_bytes(PROGRAM)
    (workspace / "kept").write_bytes(PROGRAM[:-1])
    (workspace / "also").write_bytes(PROGRAM + b"\n")
    result, members = submit(workspace, tmp_path, f"--format={format}")
    assert sorted(members) == [".", "./also", "./kept", "./src"]
    assert len(result.removed) == len(names) + 1
    assert r"\xff\xfe" in result.removed
    assert r"a\\b" in result.removed


@FORMATS
def test_a_copy_made_sparse_is_the_same_content(workspace: Path, tmp_path: Path, format: str) -> None:
    program = b"\x7fELF" + bytes(1 << 20) + b"text" + bytes(1 << 19)
    plain = tmp_path / "program"
    plain.write_bytes(program)
    subprocess.run(["cp", "--sparse=always", str(plain), str(workspace / "copy")], check=True)
    with (workspace / "holes").open("wb") as file:  # more segments than fit into the header
        for number in range(60):
            file.seek(number << 17)
            file.write(b"x" * 4096)
        file.truncate(8 << 20)
    holes = hashlib.sha256((workspace / "holes").read_bytes()).hexdigest()
    withheld = (hashlib.sha256(program).hexdigest(), holes)
    result, members = submit(workspace, tmp_path, f"--format={format}", withheld=withheld)
    assert result.removed == ("copy", "holes")
    assert sorted(members) == [".", "./src"]


def test_hard_links_to_withheld_content_are_left_out_and_other_links_stay(workspace: Path, tmp_path: Path) -> None:
    (workspace / "a").write_bytes(PROGRAM)
    (workspace / "src" / "b").hardlink_to(workspace / "a")
    (workspace / "z").hardlink_to(workspace / "a")
    (workspace / "kept").write_bytes(b"mine")
    (workspace / "linked").hardlink_to(workspace / "kept")
    result, members = submit(workspace, tmp_path)
    assert result.removed == ("a", "src/b", "z")
    assert members["./linked"][0].islnk()
    assert members["./linked"][1] == b"mine"


def test_an_executable_that_the_agent_built_stays(workspace: Path, tmp_path: Path) -> None:
    (workspace / "executable").write_bytes(b"built")
    result, members = submit(workspace, tmp_path)
    assert not result.removed
    assert members["./executable"][1] == b"built"


@pytest.mark.parametrize("members", [[], [member("./compile.sh", b"x")], [member("./a", b"x"), ROOT]])
def test_the_workspace_itself_comes_first_even_if_the_export_lacks_it(members: list, tmp_path: Path) -> None:
    export = packed(tar_of(members), tmp_path / "w")
    result = hand_over(export, tmp_path / "s", ())
    written = submitted(tmp_path / "s")
    assert next(iter(written.values()))[0].isdir()
    assert next(iter(written)) == "."
    assert result.entries == len(members) + 1


def test_the_same_workspace_gives_the_same_bytes(workspace: Path, tmp_path: Path) -> None:
    (workspace / "noise").write_bytes(os.urandom(3 << 20))
    first, _ = submit(workspace, tmp_path)
    again = hand_over(tmp_path / "workspace.tar.zst", tmp_path / "other", (SHA256,))
    assert again == first


PLAIN = tar_of([ROOT, member("./a", os.urandom(1 << 20)), member("./b", b"b" * 100_000)])
WHOLE = zstandard.ZstdCompressor().compress(PLAIN)
LINK_TO_NOTHING = member("./b", type=tarfile.LNKTYPE, linkname="./gone")
BROKEN = {
    "not zstd": PLAIN,
    "empty": b"",
    "torn": WHOLE[: len(WHOLE) // 2],
    "without its last block": WHOLE[:-20],
    "tar cut in a file": zstandard.compress(PLAIN[:700_000]),
    "tar cut between members": zstandard.compress(PLAIN[: PLAIN.index(b"./b")]),
    "tar without its end": zstandard.compress(PLAIN.rstrip(b"\0") + bytes(-len(PLAIN.rstrip(b"\0")) % 512)),
    "damaged header": zstandard.compress(b"x" + PLAIN[1:]),
    "escapes": zstandard.compress(tar_of([ROOT, member("../up", b"x")])),
    "a device": zstandard.compress(tar_of([ROOT, member("./null", type=tarfile.CHRTYPE)])),
    "hard link to nothing": zstandard.compress(tar_of([ROOT, LINK_TO_NOTHING])),
}


@pytest.mark.parametrize("damage", BROKEN)
def test_a_broken_export_is_an_error_and_leaves_nothing(damage: str, tmp_path: Path) -> None:
    export = tmp_path / "workspace.tar.zst"
    export.write_bytes(BROKEN[damage])
    with pytest.raises(HandOverError) as error:
        hand_over(export, tmp_path / handover.SUBMISSION, (SHA256,))
    assert "\n" not in str(error.value)
    assert str(export) in str(error.value)
    assert os.listdir(tmp_path) == ["workspace.tar.zst"]


def test_an_error_keeps_an_earlier_submission(tmp_path: Path) -> None:
    to = tmp_path / handover.SUBMISSION
    to.write_bytes(b"before")
    with pytest.raises(HandOverError, match="No such file"):
        hand_over(tmp_path / "none", to, ())
    assert to.read_bytes() == b"before"


FULL = """
import resource, signal, sys
from pathlib import Path
from benchmarks.programbench.handover import HandOverError, hand_over
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    hand_over(Path(sys.argv[1]), Path(sys.argv[2]), ())
except HandOverError as error:
    print("refused", error)
"""


def test_a_full_disk_is_an_error_and_leaves_nothing(workspace: Path, tmp_path: Path) -> None:
    (workspace / "noise").write_bytes(os.urandom(4 << 20))
    export = export_of(workspace, tmp_path / "workspace.tar.zst")
    to = tmp_path / "out" / handover.SUBMISSION
    to.parent.mkdir()
    result = subprocess.run([sys.executable, "-c", FULL, str(export), str(to)], capture_output=True, text=True)
    assert result.stdout.startswith("refused"), result.stderr
    assert not list(to.parent.iterdir())


FLAT = """
import resource, sys
from pathlib import Path
from benchmarks.programbench.handover import hand_over
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
hand_over(Path(sys.argv[1]), Path(sys.argv[3]), ("0" * 64,))
before = peak()
hand_over(Path(sys.argv[2]), Path(sys.argv[3]), ("0" * 64,))
print(peak() - before)
"""


def test_memory_is_flat(tmp_path: Path) -> None:
    exports = []
    for megabytes in (8, 100):
        directory = tmp_path / str(megabytes)
        directory.mkdir()
        (directory / "large").write_bytes(os.urandom(megabytes << 20))
        exports.append(str(export_of(directory, tmp_path / f"{megabytes}.tar.zst")))
    result = subprocess.run(
        [sys.executable, "-c", FLAT, *exports, str(tmp_path / "s")], check=True, capture_output=True, text=True
    )
    assert float(result.stdout) < 16


def test_endless_holes_are_rejected_early(workspace: Path, tmp_path: Path, monkeypatch) -> None:
    for number in range(3):
        (workspace / f"h{number}").touch()
        os.truncate(workspace / f"h{number}", 1 << 30)
    monkeypatch.setattr(handover, "MOST_ZEROS", 2 << 30)
    with pytest.raises(Unsubmittable, match="holes"):
        submit(workspace, tmp_path)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.binary(max_size=2000), max_size=20), st.sampled_from([0, 1, PIECE_BYTES - 1, PIECE_BYTES * 3]))
def test_parallel_compression_gives_a_single_gzip_file(chunks: list[bytes], zeros: int) -> None:
    chunks = [*chunks, bytes(zeros), b"end"]
    output = b"".join(compressed(chunks, 4))
    assert gzip.decompress(output) == b"".join(chunks)
    assert subprocess.run(["gzip", "-dc"], input=output, capture_output=True, check=True).stdout == b"".join(chunks)
    assert output == b"".join(compressed([b"".join(chunks)], 4))


SHUT = r"""
mkdir -p shut/deep && printf kept >shut/deep/file && printf alone >alone && ln shut/deep/file linked
chmod 000 shut/deep/file alone && chmod 000 shut/deep && chmod 000 shut && ls shut 2>&1
"""


@pytest.mark.docker
@pytest.mark.parametrize("cap_drop", [("SYS_PTRACE",), ("ALL",)])
def test_files_that_the_agent_locked_are_handed_over(cap_drop: tuple[str, ...], tmp_path: Path) -> None:
    """The agent itself can no longer read them, so a tar run as the agent would leave them out without an error."""
    from environments.choose import make
    from environments.protocol import Build, EnvironmentSpec

    image = Build(Path(__file__).parents[1] / "environments" / "image")
    environment = make(EnvironmentSpec(kind="docker", build=image, cap_drop=cap_drop))
    try:
        environment.start()
        result = environment.execute(SHUT, deadline_s=30)
        assert b"Permission denied" in bytes(result.output)
        export = environment.export(tmp_path / "workspace.tar.zst")
    finally:
        environment.stop()
    assert not export.skipped
    handover.check_complete(export.skipped)
    hand_over(tmp_path / "workspace.tar.zst", tmp_path / "s", (SHA256,))
    members = submitted(tmp_path / "s")
    assert members["./shut/deep/file"][1] == b"kept"
    assert members["./alone"][1] == b"alone"
    assert [members[name][0].mode for name in ("./shut", "./shut/deep", "./shut/deep/file")] == [0, 0, 0]
