"""Environments that lose something where a chunk or a buffer is just full."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import zstandard

from environments.conformance.broken.archives import read, tarred, written
from environments.conformance.broken.wrapper import Claims
from environments.protocol import DIGEST_S, EnvironmentLost, Execution, Export

CHUNK_BYTES = 4 << 20


class MisreadsFullChunks(Claims):
    """A chunk that the end of a file fills is taken for the end of the archive."""

    def put(self, archive: BinaryIO, directory: str, *, as_root: bool = False) -> None:
        raw = b"".join(iter(lambda: archive.read(1 << 20), b""))
        members = read(io.BytesIO(raw))
        size = sum(512 + -(-len(body) // 512) * 512 for _, body in members)
        if members and size % CHUNK_BYTES > CHUNK_BYTES - 1024 - 1:
            raise EnvironmentLost("the supervisor did not answer in time")
        super().put(io.BytesIO(raw), directory, as_root=as_root)


class CutsAtChunks(Claims):
    """The last byte of a file is lost if it would begin another chunk."""

    def get(self, path: str) -> Iterator[bytes]:
        yield _cut(b"".join(super().get(path)))

    def get_files(self, paths: Sequence[str]) -> Iterator[bytes]:
        yield _cut(b"".join(super().get_files(paths)))

    def export(self, to: Path) -> Export:
        export = self.inner.export(to)
        with to.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
            members = read(stream)
        cut = [(member, body[:-1] if len(body) % CHUNK_BYTES == 1 else body) for member, body in members]
        return replace(written(to, cut), skipped=export.skipped)


def _cut(raw: bytes) -> bytes:
    members = read(io.BytesIO(raw))
    return tarred((member, body[:-1] if len(body) % CHUNK_BYTES == 1 else body) for member, body in members)


class CutsLists(Claims):
    """Names beyond the first 64 KiB of a list are forgotten."""

    def get_files(self, paths: Sequence[str]) -> Iterator[bytes]:
        return super().get_files(paths[:1024])

    def digests(self, paths: Sequence[str], within_s: float = DIGEST_S) -> dict[str, str]:
        return super().digests(paths[:1024])


class CutsOutput(Claims):
    """The first byte after a full buffer of 256 KiB is lost."""

    def reported(self, execution: Execution) -> Execution:
        return replace(execution, output=execution.output[:-1]) if len(execution.output) == (1 << 18) + 1 else execution


class CutsScripts(Claims):
    """A script is an argument, and the kernel limits those to 128 KiB."""

    def rewritten(self, script: str) -> str:
        return script if len(script) < 1 << 17 else "echo Argument list too long"
