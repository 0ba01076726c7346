"""Build a "rebuild this program" image from one executable of a Debian package.

`benchmarks/rebuild/README.md` describes the content of the image.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import benchmarks
from agent.errors import UserError
from environments.protocol import Build, EnvironmentFault, EnvironmentSpec, EnvironmentUnavailable
from environments.reporting import Reporter

if TYPE_CHECKING:
    from docker import APIClient

CONTEXT = Path(benchmarks.__file__).parent / "rebuild"
MARK = "rebuild: error: "
"""Beginning of the line with which the scripts of the build report an error."""


class _ErrorLines:
    """A reporter that keeps the build's own errors, and hands each line on."""

    def __init__(self, reporter: Reporter) -> None:
        self.errors: list[str] = []
        self._reporter = reporter

    def note(self, line: str) -> None:
        if line.startswith(MARK):
            self.errors.append(line.removeprefix(MARK))
        self._reporter.note(line)


def default_tag(package: str, executable: str) -> str:
    """Return the image's name if the user gives none."""
    name = re.sub(r"[^a-z0-9.]+", "-", f"{package}-{PurePosixPath(executable).name}".lower()).strip("-.")
    return f"retrace-rebuild-{name}:latest"


def build(
    package: str,
    executable: str,
    reporter: Reporter,
    *,
    data: Sequence[str] = (),
    docs_from: Sequence[str] = (),
    tag: str | None = None,
    base: str | None = None,
) -> str:
    """Build the image and return its tag.

    Raises: UserError, EnvironmentFault.
    """
    from environments.docker import daemon, images

    for path in data:
        if len(path.split()) != 1:
            raise UserError(f"--data {path!r}: paths with blanks are not supported; use the directory that contains it")
    arguments = {
        "PACKAGE": package,
        "EXECUTABLE": executable,
        "DATA": " ".join(data),
        "DOCS_FROM": " ".join(docs_from),
    }
    lines = _ErrorLines(reporter)
    api = daemon.connect()
    try:
        if base:
            _have_base(api, base, lines)
            arguments["BASE"] = base
        name = tag or default_tag(package, executable)
        spec = EnvironmentSpec(kind="docker", image=name, build=Build(context=CONTEXT, args=arguments))
        return images.make_available(api, spec, lines).reference
    except EnvironmentFault:
        if lines.errors:
            raise UserError(lines.errors[-1]) from None
        raise
    finally:
        api.close()


def _have_base(api: APIClient, base: str, reporter: Reporter) -> None:
    """Make a base image available, by pulling it if necessary. Raises: EnvironmentFault."""
    from environments.docker import images

    if images.look_up(api, base) is not None:
        return
    try:
        images.pull(api, base, None, reporter)
    except EnvironmentUnavailable as fault:
        problem = str(fault).partition(";")[0]
        raise EnvironmentUnavailable(
            f"base image {base} is not available ({problem}); load it with `docker load`, or omit --base"
        ) from None
