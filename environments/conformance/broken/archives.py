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
from environments.protocol import DIGEST_S, EnvironmentFault, EnvironmentLost, Export

Pairs = Iterable[tuple[tarfile.TarInfo, bytes]]


def read(stream: BinaryIO) -> list[tuple[tarfile.TarInfo, bytes]]:
    """Return the members with their bodies; holes are read as zeros."""
    members = []
    with tarfile.open(fileobj=stream, mode="r|", encoding="utf-8", errors="surrogateescape") as archive:
        for member in archive:
            body = archive.extractfile(member) if member.isreg() else None
            members.append((member, body.read() if body else b""))
    return members


def tarred(members: Pairs) -> bytes:
    """Make a tar stream of these members."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", encoding="utf-8", errors="surrogateescape") as archive:
        for member, body in members:
            plain = tarfile.TarInfo(member.name)
            for field in ("mode", "uid", "gid", "mtime", "linkname"):
                setattr(plain, field, getattr(member, field))
            plain.type = tarfile.REGTYPE if member.isreg() else member.type
            plain.size = len(body)
            archive.addfile(plain, io.BytesIO(body))
    return stream.getvalue()


def written(to: Path, members: Pairs) -> Export:
    """Write an export of these members, without a report of what is missing."""
    members = list(members)
    raw = zstandard.compress(tarred(members))
    to.write_bytes(raw)
    return Export(len(raw), hashlib.sha256(raw).hexdigest(), len(members))


class Exports(Claims):
    """The export is written again, member by member."""

    def changed(self, member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return member

    def export(self, to: Path) -> Export:
        export = self.inner.export(to)
        with to.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
            members = read(stream)
        kept = [(member, body) for member, body in members if self.changed(member)]
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
    """Unreadable files are left out silently."""

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
    """Processes keep running during the export."""

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
    """The archive is read and written again before it is put."""

    def changed(self, member: tarfile.TarInfo) -> None: ...

    def put(self, archive: BinaryIO, directory: str, *, as_root: bool = False) -> None:
        members = read(archive)
        for member, _ in members:
            self.changed(member)
        super().put(io.BytesIO(tarred(members)), directory, as_root=as_root)


class PutsWithoutModes(Puts):
    def changed(self, member: tarfile.TarInfo) -> None:
        member.mode = 0o644


class PutsForeignFiles(Claims):
    """Files that are put belong to another user."""

    needs_root = True

    def put(self, archive: BinaryIO, directory: str, *, as_root: bool = False) -> None:
        super().put(archive, directory, as_root=as_root)
        self.inner.execute(f"chown -R 12345:54321 '{directory}'", deadline_s=5, as_root=True)


class PutsOnlyUstar(Claims):
    """It knows one format and misreads all others."""

    def put(self, archive: BinaryIO, directory: str, *, as_root: bool = False) -> None:
        members = [(member, body) for member, body in read(archive) if len(member.name) <= 256]
        super().put(io.BytesIO(tarred(members)), directory, as_root=as_root)


class PutsWhatItCan(Claims):
    """Errors are ignored."""

    def put(self, archive: BinaryIO, directory: str, *, as_root: bool = False) -> None:
        try:
            super().put(archive, directory, as_root=as_root)
        except EnvironmentFault:
            pass


class PutsAnywhere(PutsWhatItCan):
    """An archive that writes outside of its directory is accepted."""


class GetsFlat(Claims):
    def get(self, path: str) -> Iterator[bytes]:
        members = read(io.BytesIO(b"".join(super().get(path))))
        for member, _ in members:
            member.name = os.path.basename(member.name)
        yield tarred(members)


class GetsNothing(Claims):
    """A missing path gives an empty archive."""

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
        return [entry for entry in self.inner.entries() if self.keep(entry, "")]

    def since(self, mark: Listing) -> list[Changed]:
        assert isinstance(mark, Filtered)
        return [entry for entry in self.inner.since(mark.inner) if self.keep(entry.entry, entry.change)]


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
        return [Changed("modified", entry) for entry in self.inner.entries()]


class ListsEverything(Claims):
    def listing(self) -> Listing:
        return _Everything(super().listing(), lambda *_: True)


class GetsAllOrNothing(Claims):
    """Directories come with everything in them."""

    def get_files(self, paths: Sequence[str]) -> Iterator[bytes]:
        members = [pair for path in paths[:1] for pair in read(io.BytesIO(b"".join(self.inner.get(path))))]
        yield tarred(members)


class DigestsOfNames(Claims):
    """The name is hashed instead of the content."""

    def digests(self, paths: Sequence[str], within_s: float = DIGEST_S) -> dict[str, str]:
        return {path: hashlib.sha256(os.fsencode(path)).hexdigest() for path in paths}
