"""An environment that wraps a real one and claims every promise; each subclass breaks one thing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, ClassVar

from environments.listing.listing import Listing
from environments.promises import Promise
from environments.protocol import DIGEST_S, Environment, Execution, Export, Kind, Started


class Claims:
    """The real environment unchanged, with a claim to all promises."""

    over: ClassVar[Kind] = "local"
    """Kind of the environment behind it."""
    behind: ClassVar[Mapping[str, object]] = {}
    """Fields of the spec that are changed silently."""
    needs_root: ClassVar[bool] = False
    """True if it only works as root."""

    def __init__(self, inner: Environment) -> None:
        self.inner = inner
        self.spec = inner.spec

    def check(self) -> None:
        self.inner.check()

    def start(self) -> Started:
        return replace(self.inner.start(), promises=tuple(Promise))

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
        execution = self.inner.execute(
            self.rewritten(script),
            deadline_s=deadline_s,
            output_bytes=output_bytes,
            cwd=cwd,
            env=env,
            as_root=as_root,
            separate=separate,
        )
        return self.reported(replace(execution, output=bytes(execution.output)))

    def rewritten(self, script: str) -> str:
        """Return the script that runs instead of this one."""
        return script

    def reported(self, execution: Execution) -> Execution:
        """Return the outcome that is reported for an action."""
        return execution

    def put(self, archive: BinaryIO, directory: str, *, as_root: bool = False) -> None:
        self.inner.put(archive, directory, as_root=as_root)

    def get(self, path: str) -> Iterator[bytes]:
        return self.inner.get(path)

    def get_files(self, paths: Sequence[str]) -> Iterator[bytes]:
        return self.inner.get_files(paths)

    def digests(self, paths: Sequence[str], within_s: float = DIGEST_S) -> dict[str, str]:
        return self.inner.digests(paths, within_s)

    def listing(self) -> Listing:
        return self.inner.listing()

    def export(self, to: Path) -> Export:
        return self.inner.export(to)

    def stop(self) -> None:
        self.inner.stop()
