"""An environment in front of a real one that claims every promise; each subclass breaks one thing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, ClassVar

from environments.listing.listing import Listing
from environments.promises import Promise
from environments.protocol import Environment, Execution, Export, Kind, Started


class Claims:
    """All promises, whatever the real environment keeps; else that one as it is."""

    over: ClassVar[Kind] = "local"
    """What kind of environment is behind it."""
    behind: ClassVar[Mapping[str, object]] = {}
    """Fields of the spec that are changed behind the back of whoever asks for one."""
    needs_root: ClassVar[bool] = False
    """Whether only root's actions have what it must not give."""

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
        done = self.inner.execute(
            self.rewritten(script),
            deadline_s=deadline_s,
            output_bytes=output_bytes,
            cwd=cwd,
            env=env,
            as_root=as_root,
            separate=separate,
        )
        return self.told(replace(done, output=bytes(done.output)))

    def rewritten(self, script: str) -> str:
        """The script that runs in the place of this one."""
        return script

    def told(self, done: Execution) -> Execution:
        """What is said of an action."""
        return done

    def put(self, archive: BinaryIO, directory: str) -> None:
        self.inner.put(archive, directory)

    def get(self, path: str) -> Iterator[bytes]:
        return self.inner.get(path)

    def get_files(self, paths: Sequence[str]) -> Iterator[bytes]:
        return self.inner.get_files(paths)

    def digests(self, paths: Sequence[str]) -> dict[str, str]:
        return self.inner.digests(paths)

    def listing(self) -> Listing:
        return self.inner.listing()

    def export(self, to: Path) -> Export:
        return self.inner.export(to)

    def stop(self) -> None:
        self.inner.stop()
