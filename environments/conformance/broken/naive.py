"""An environment as many are written: a few lines around `subprocess`, with the classic mistakes.

It waits for the end of a pipe, kills only the direct child, decodes text, limits no output, appends standard error to
standard output, forwards the host's variables, and shares the host's files, processes and network. Its script is an
argument, archives are unpacked unchecked, and what it made stays behind.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import zstandard

from environments.listing.listing import Changed, ListedPath, Listing
from environments.promises import Promise
from environments.protocol import DIGEST_S, EnvironmentSpec, Execution, Export, Started


class Naive:
    """It claims all promises."""

    def __init__(self, spec: EnvironmentSpec) -> None:
        self.spec = spec
        self.workdir = ""

    def check(self) -> None:
        pass

    def start(self) -> Started:
        self.workdir = str(self.spec.workspace or tempfile.mkdtemp(prefix="naive-"))
        return Started("local", self.workdir, tuple(Promise))

    def execute(
        self,
        script: str,
        *,
        deadline_s: float,
        output_bytes: int | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        as_root: bool = False,
        separate: bool = False,
    ) -> Execution:
        began = time.monotonic()
        try:
            process = subprocess.Popen(
                ["bash", "-c", script],
                cwd=os.path.join(self.workdir, cwd or "."),
                env={**os.environ, **self.spec.env, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
        except (OSError, ValueError) as error:
            return Execution("exited", str(error).encode(), 0, 0.0, exit_code=126)
        out = err = ""
        ended = False
        try:
            out, err = process.communicate(timeout=deadline_s)
        except subprocess.TimeoutExpired:
            ended = True
            process.kill()
            process.communicate()
        if not separate:
            out, err = out + err, ""
        return Execution(
            "deadline" if ended else "exited",
            out.encode(),
            len(out),
            time.monotonic() - began,
            exit_code=None if ended else process.returncode % 256,
            stderr=err.encode() if separate else None,
            stderr_counted=len(err),
        )

    def put(self, archive: BinaryIO, directory: str, *, as_root: bool = False) -> None:
        with tarfile.open(fileobj=archive, mode="r|") as stream:
            stream.extractall(os.path.join(self.workdir, directory), filter="fully_trusted")

    def get(self, path: str) -> Iterator[bytes]:
        whole = os.path.join(self.workdir, path)
        yield self._tarred([(whole, os.path.basename(whole))])

    def get_files(self, paths: Sequence[str]) -> Iterator[bytes]:
        yield self._tarred([(os.path.join(self.workdir, path), path) for path in paths])

    def digests(self, paths: Sequence[str], within_s: float = DIGEST_S) -> dict[str, str]:
        files = [(path, Path(self.workdir, path)) for path in paths]
        return {path: hashlib.sha256(file.read_bytes()).hexdigest() for path, file in files if file.is_file()}

    def _tarred(self, files: list[tuple[str, str]]) -> bytes:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            for whole, name in files:
                archive.add(whole, name)
        return stream.getvalue()

    def listing(self) -> Listing:
        return NaiveListing(Path(self.workdir))

    def export(self, to: Path) -> Export:
        raw = zstandard.compress(self._tarred([(self.workdir, ".")]))
        to.write_bytes(raw)
        return Export(len(raw), hashlib.sha256(raw).hexdigest(), sum(1 for _ in Path(self.workdir).rglob("*")))

    def stop(self) -> None:
        pass


class NaiveListing(Listing):
    """A listing that detects changes by size and time."""

    def __init__(self, top: Path) -> None:
        self.files = {}
        for path in top.rglob("*"):
            if path.is_file():
                facts = path.stat()
                self.files[str(path.relative_to(top))] = (facts.st_size, facts.st_mtime_ns, facts.st_mode & 0o7777)

    def entries(self) -> list[ListedPath]:
        return [ListedPath(path, "file", mode, size) for path, (size, _, mode) in sorted(self.files.items())]

    def since(self, mark: Listing) -> list[Changed]:
        assert isinstance(mark, NaiveListing)
        entries = {entry.path: entry for entry in mark.entries() + self.entries()}
        changed = []
        for path in sorted(mark.files.keys() | self.files.keys()):
            before, after = mark.files.get(path), self.files.get(path)
            if before is None:
                changed.append(Changed("created", entries[path]))
            elif after is None:
                changed.append(Changed("deleted", entries[path]))
            elif before[:2] != after[:2]:
                changed.append(Changed("modified", entries[path]))
        return changed
