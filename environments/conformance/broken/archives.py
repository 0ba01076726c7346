"""Environments that break archives, exports and listings."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import zstandard

from environments.conformance.broken.wrapper import Claims
from environments.listing.listing import Changed, ListedPath, Listing
from environments.protocol import EnvironmentFault, EnvironmentLost, Export

Pairs = Iterable[tuple[tarfile.TarInfo, bytes]]


def read(stream: BinaryIO) -> list[tuple[tarfile.TarInfo, bytes]]:
    """Members with their bodies; holes are read as zeros."""
    found = []
    with tarfile.open(fileobj=stream, mode="r|", encoding="utf-8", errors="surrogateescape") as archive:
        for one in archive:
            body = archive.extractfile(one) if one.isreg() else None
            found.append((one, body.read() if body else b""))
    return found


def tarred(members: Pairs) -> bytes:
    """A tar stream of these."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", encoding="utf-8", errors="surrogateescape") as archive:
        for one, body in members:
            plain = tarfile.TarInfo(one.name)
            for field in ("mode", "uid", "gid", "mtime", "linkname"):
                setattr(plain, field, getattr(one, field))
            plain.type = tarfile.REGTYPE if one.isreg() else one.type
            plain.size = len(body)
            archive.addfile(plain, io.BytesIO(body))
    return stream.getvalue()


def written(to: Path, members: Pairs) -> Export:
    """An export of these, without a word of what is not in it."""
    members = list(members)
    raw = zstandard.compress(tarred(members))
    to.write_bytes(raw)
    return Export(len(raw), hashlib.sha256(raw).hexdigest(), len(members))


class Exports(Claims):
    """An export that is written again, member by member."""

    def changed(self, member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return member

    def export(self, to: Path) -> Export:
        export = self.inner.export(to)
        with to.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
            members = read(stream)
        kept = [(one, body) for one, body in members if self.changed(one)]
        return replace(written(to, kept), skipped=export.skipped)


class ExportsHolesAsZeros(Exports):
    pass


class ExportsNoLinks(Exports):
    def changed(self, member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return None if member.issym() or member.islnk() else member


class ExportsOnlyUtf8(Exports):
    def changed(self, member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return member if member.name.isprintable() else None


class ExportsFilesOnly(Exports):
    def changed(self, member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return None if member.isdir() else member


class ExportsWithoutTimes(Exports):
    def changed(self, member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        member.mtime = 0
        return member


class ExportsOwners(Exports):
    def changed(self, member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        member.uid = member.gid = 1000
        return member


class ExportSkipsLocked(Exports):
    """What could not be read is left out, silently."""

    def changed(self, member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return member if member.mode else None


class ExportMiscounts(Claims):
    def export(self, to: Path) -> Export:
        export = super().export(to)
        return replace(export, entries=export.entries + 1)


class ExportSaysNothing(Claims):
    def export(self, to: Path) -> Export:
        return replace(super().export(to), skipped=())


class ExportsAsItRuns(Claims):
    """What runs goes on meanwhile."""

    def export(self, to: Path) -> Export:
        stream = io.BytesIO(b"".join(self.inner.get(".")))
        return written(to, read(stream))


class ExportsSilently(Claims):
    def export(self, to: Path) -> Export:
        try:
            return super().export(to)
        except EnvironmentFault:
            return Export(0, "", 0)


class LeavesPieces(Claims):
    def export(self, to: Path) -> Export:
        to.with_suffix(".part").write_bytes(b"")
        return super().export(to)


class Puts(Claims):
    """An archive that is read and written again before it is put."""

    def changed(self, member: tarfile.TarInfo) -> None: ...

    def put(self, archive: BinaryIO, directory: str) -> None:
        members = read(archive)
        for one, _ in members:
            self.changed(one)
        super().put(io.BytesIO(tarred(members)), directory)


class PutsWithoutModes(Puts):
    def changed(self, member: tarfile.TarInfo) -> None:
        member.mode = 0o644


class PutsForeignFiles(Claims):
    """What is put belongs to somebody else."""

    needs_root = True

    def put(self, archive: BinaryIO, directory: str) -> None:
        super().put(archive, directory)
        self.inner.execute(f"chown -R 12345:54321 '{directory}'", deadline_s=5, as_root=True)


class PutsOnlyUstar(Claims):
    """Knows one format, and takes others for what they are not."""

    def put(self, archive: BinaryIO, directory: str) -> None:
        members = [(one, body) for one, body in read(archive) if len(one.name) <= 256]
        super().put(io.BytesIO(tarred(members)), directory)


class PutsWhatItCan(Claims):
    """Errors are not passed on."""

    def put(self, archive: BinaryIO, directory: str) -> None:
        try:
            super().put(archive, directory)
        except EnvironmentFault:
            pass


class PutsAnywhere(PutsWhatItCan):
    """An archive that reaches out is taken."""


class GetsFlat(Claims):
    def get(self, path: str) -> Iterator[bytes]:
        members = read(io.BytesIO(b"".join(super().get(path))))
        for one, _ in members:
            one.name = os.path.basename(one.name)
        yield tarred(members)


class GetsNothing(Claims):
    """An empty archive for what is not there."""

    def get(self, path: str) -> Iterator[bytes]:
        try:
            yield from super().get(path)
        except FileNotFoundError:
            yield tarred([])


class LostAfterGivingUp(Claims):
    def get(self, path: str) -> Iterator[bytes]:
        try:
            yield from super().get(path)
        except GeneratorExit:
            self.inner.stop()
            raise EnvironmentLost("the stream was left in the middle") from None


class Filtered(Listing):
    """A listing without some entries or changes."""

    def __init__(self, inner: Listing, keep: Callable[[ListedPath, str], bool]) -> None:
        self.inner, self.keep = inner, keep

    def entries(self) -> list[ListedPath]:
        return [one for one in self.inner.entries() if self.keep(one, "")]

    def since(self, mark: Listing) -> list[Changed]:
        assert isinstance(mark, Filtered)
        return [one for one in self.inner.since(mark.inner) if self.keep(one.entry, one.change)]


class ListsNoDeletions(Claims):
    def listing(self) -> Listing:
        return Filtered(super().listing(), lambda _, change: change != "deleted")


class ListsFilesOnly(Claims):
    def listing(self) -> Listing:
        return Filtered(super().listing(), lambda entry, _: entry.type == "file")


class ListsOnlyUtf8(Claims):
    def listing(self) -> Listing:
        return Filtered(super().listing(), lambda entry, _: entry.path.isprintable())


class _Everything(Filtered):
    def since(self, mark: Listing) -> list[Changed]:
        return [Changed("modified", one) for one in self.inner.entries()]


class ListsEverything(Claims):
    def listing(self) -> Listing:
        return _Everything(super().listing(), lambda *_: True)


class GetsAllOrNothing(Claims):
    """Directories come with all that is in them."""

    def get_files(self, paths: Sequence[str]) -> Iterator[bytes]:
        members = [pair for path in paths[:1] for pair in read(io.BytesIO(b"".join(self.inner.get(path))))]
        yield tarred(members)


class DigestsOfNames(Claims):
    """Takes the name for the content."""

    def digests(self, paths: Sequence[str]) -> dict[str, str]:
        return {path: hashlib.sha256(os.fsencode(path)).hexdigest() for path in paths}
