"""Archives that a user names are recognized by their first bytes, and opened as the tar stream in them."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from environments.archives.chunks import as_file, read_chunks
from environments.archives.open import ArchiveKind, archive_kind, open_archive


def tar_bytes(format: int) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=format) as archive:
        member = tarfile.TarInfo("name")
        member.size = 4
        archive.addfile(member, io.BytesIO(b"body"))
    return stream.getvalue()


PLAIN = tar_bytes(tarfile.PAX_FORMAT)
COMPRESSED: dict[str, tuple[Callable[[bytes], bytes], ArchiveKind]] = {
    "plain": (bytes, "tar"),
    "gzip": (gzip.compress, "tar.gz"),
    "zstd": (zstandard.compress, "tar.zst"),
}


@pytest.mark.parametrize("name", COMPRESSED)
def test_an_archive_is_recognized_by_its_content_whatever_its_name(tmp_path: Path, name: str) -> None:
    compress, kind = COMPRESSED[name]
    path = tmp_path / "archive.txt"
    path.write_bytes(compress(PLAIN))
    assert archive_kind(path) == kind
    with open_archive(path) as stream:
        assert b"".join(read_chunks(stream)) == PLAIN


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT])
def test_other_formats_of_tar_are_recognized(tmp_path: Path, format: int) -> None:
    path = tmp_path / "archive"
    path.write_bytes(tar_bytes(format))
    assert archive_kind(path) == "tar"


@pytest.mark.parametrize("content", [b"", b"text", b"BZh9" + bytes(600), bytes(600)])
def test_a_file_of_another_kind_is_not_an_archive_but_can_be_opened(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert archive_kind(path) is None
    with open_archive(path) as stream:
        assert stream.read() == content


def test_chunks_become_a_file_and_chunks_again() -> None:
    chunks = [b"one", b"", b"two" * 100_000, b"three"]
    assert b"".join(read_chunks(as_file(chunks), 1000)) == b"".join(chunks)
    assert as_file([]).read() == b""
