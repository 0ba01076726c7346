"""Tar streams into and out of an environment are unchanged, stay in their directory and lose nothing silently."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import textwrap
from pathlib import Path

import pytest
import zstandard

from environments.archives.archive import BadArchive
from environments.archives.left_out import complaints
from environments.conformance.contents import file, tar_of
from environments.protocol import EnvironmentFault

from .conftest import ALL, Place

ODD = r"""
mkdir -p odd/deep/er odd/locked; cd odd
printf 'one\n' >plain; : >empty; printf x >'with space'; printf x >$'new\nline'; printf x >$'tab\t';
printf x >-dash; printf x >'quo"te'\'''
printf x >$'caf\351'; printf x >$'\377\376'; printf x >'*'; printf x >'a\nb'
printf '#!/bin/sh\necho ran\n' >deep/er/run; chmod 750 deep/er/run
ln -s nowhere dangling; ln -s /etc/passwd absolute; ln -s ../.. up; ln plain linked
printf hidden >locked/hidden; chmod 400 locked/hidden; chmod 500 locked
mkfifo pipe; touch -d '2001-02-03 04:05:06 UTC' plain
truncate -s 2G sparse; printf end >>sparse
name=$(printf 'n%.0s' $(seq 200)); mkdir -p $name/$name; printf long >$name/$name/$name
perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "socket", Listen => 1) or die'
"""
LIST = r"""cd odd; find . -type d -printf '%p|d|%m\n' , ! -type d ! -type s ! -name pipe \
  -printf '%p|%y|%m|%l|%s|%T@\n' | sed 's/\.[0-9]*$//' | LC_ALL=C sort"""


def members(path: Path) -> dict[str, tarfile.TarInfo]:
    with (
        path.open("rb") as raw,
        zstandard.ZstdDecompressor().stream_reader(raw) as stream,
        tarfile.open(fileobj=stream, mode="r|", encoding="utf-8", errors="surrogateescape") as archive,
    ):
        return {member.name: member for member in archive}


@pytest.mark.parametrize("label", ALL)
def test_a_workspace_with_unusual_files_survives_export_and_import(start: object, label: str, tmp_path: Path) -> None:
    first: Place = start(label)  # type: ignore[operator]
    first.text(ODD)
    export = first.environment.export(tmp_path / "w.tar.zst")
    assert sorted((skipped.path, skipped.why) for skipped in export.skipped) == [
        ("odd/pipe", "named pipe"),
        ("odd/socket", "socket"),
    ]
    assert export.bytes == (tmp_path / "w.tar.zst").stat().st_size < 1_000_000
    exported = members(tmp_path / "w.tar.zst")
    assert len(exported) == export.entries
    assert {(member.uid, member.gid) for member in exported.values()} == {(0, 0)}
    assert all(name == "." or name.startswith("./") for name in exported)
    assert exported["./odd/sparse"].issparse()
    assert "./odd/caf\udce9" in exported

    second: Place = start(label)  # type: ignore[operator]
    with (tmp_path / "w.tar.zst").open("rb") as raw:
        second.environment.put(zstandard.ZstdDecompressor().stream_reader(raw), second.started.workdir)  # type: ignore[arg-type]
    expected = first.text(LIST)
    assert len(expected.splitlines()) > 20
    assert second.text(LIST) == expected
    assert (
        second.text("odd/deep/er/run; cat odd/linked; tail -c 3 odd/sparse; stat -c %h odd/plain") == "ran\none\nend2\n"
    )
    assert int(second.text("du -k odd/sparse | cut -f1")) < 1000
    second.text("cd odd; [ $(stat -c %u plain) = $(id -u) ] && echo more >>empty")


CLIMBING = {
    "absolute": [file("/tmp/climbed")],
    "dots": [file("../climbed")],
    "dots inside": [file("a/../../climbed")],
    "hard link": [file("x", b"", type=tarfile.LNKTYPE, linkname="../../etc/passwd")],
    "through a link": [file("d", b"", type=tarfile.SYMTYPE, linkname="/tmp"), file("d/climbed")],
    "through a link's link": [
        file("d", b"", type=tarfile.SYMTYPE, linkname="e"),
        file("./d//climbed", b""),
    ],
    "device": [file("null", b"", type=tarfile.CHRTYPE)],
    "pipe": [file("pipe", b"", type=tarfile.FIFOTYPE)],
}


@pytest.mark.parametrize("how", CLIMBING)
@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_an_archive_that_writes_outside_of_its_directory_is_rejected(place: Place, how: str, format: int) -> None:
    with pytest.raises(BadArchive, match="archive member"):
        place.environment.put(tar_of(*CLIMBING[how], format=format), "climbing")
    assert place.text("ls /tmp/climbed climbed ../climbed 2>/dev/null | wc -l; rm -rf climbing") == "0\n"


@pytest.mark.parametrize(
    ("label", "directories"), [("local", 50), pytest.param("docker", 10, marks=pytest.mark.docker)]
)
def test_many_files(start: object, label: str, directories: int, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        where = {"workspace": Path(memory)} if label == "local" else {}
        place: Place = start(label, **where)  # type: ignore[operator]
        place.text(f"mkdir many; cd many; for d in $(seq {directories}); do mkdir $d; (cd $d; touch $(seq 120)); done")
        export = place.environment.export(tmp_path / "w.tar.zst")
        assert export.entries == directories * 121 + 2
        with (tmp_path / "w.tar.zst").open("rb") as raw:
            place.environment.put(zstandard.ZstdDecompressor().stream_reader(raw), "again")  # type: ignore[arg-type]
        assert place.text("find again -type f | wc -l") == f"{directories * 120}\n"
        place.environment.stop()


@pytest.mark.docker
def test_a_big_archive_needs_little_memory(tmp_path: Path) -> None:
    script = textwrap.dedent(f"""
        import resource
        from pathlib import Path
        from tests.environments.conftest import environment
        place = environment("docker")
        place.start()
        place.execute("head -c 1000 /dev/urandom >small", deadline_s=20)
        place.export(Path({str(tmp_path / "small")!r}))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        place.execute("for i in 1 2 3; do head -c 50000000 /dev/urandom; done >big", deadline_s=20)
        assert place.export(Path({str(tmp_path / "big")!r})).bytes > 150_000_000
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        place.stop()
    """)
    action = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert action.returncode == 0, action.stderr
    assert int(action.stdout) < 32 << 10


def test_complaints_of_tar_are_sorted_by_meaning() -> None:
    skipped, rest = complaints(
        "tar: ./a: b\\n\\303\\251: file changed as we read it\ntar: ./s: socket ignored\n"
        "tar: ./x: Cannot open: Permission denied\ntar: Exiting with failure status due to previous errors\n"
    )
    reasons = {path.path: path.why for path in skipped}
    assert reasons == {"a: b\n\u00e9": "file changed as we read it", "s": "socket"}
    assert rest == ["tar: ./x: Cannot open: Permission denied"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_an_error(place: Place, tmp_path: Path) -> None:
    if place.label != "local":
        pytest.skip("the administrator reads everything")
    place.text("echo x >locked; chmod 0 locked")
    with pytest.raises(EnvironmentFault, match="locked: Cannot open: Permission denied"):
        place.environment.export(tmp_path / "w.tar.zst")
    assert not list(tmp_path.iterdir())
    place.text("rm -f locked")


def test_an_empty_chunk_does_not_end_an_archive(place: Place) -> None:
    """A length of 0 used to be the end mark, so whatever followed it was read as requests."""
    raw = tar_of(file("sized/a", b"first"), file("sized/b", b"second")).getvalue()
    channel = place.environment._channel  # type: ignore[attr-defined]
    channel.put([b"", raw[:512], b"", b"", raw[512:], b""], place.started.workdir, [b"sized/empty"])
    assert place.text("cat sized/a sized/b; ls sized; rm -r sized") == "firstseconda\nb\nempty\n"
