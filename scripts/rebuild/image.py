"""Makes a "rebuild this program" image from one executable of a Debian package; prints its tag.

Example: scripts/rebuild-image figlet /usr/bin/figlet-figlet --data /usr/share/figlet
What the image holds is in benchmarks/rebuild/README.md. Exit status: 0 made, 1 the machine's fault
(no Docker, no network), 2 yours (no such package, no such executable, a script).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from environments.protocol import Build, EnvironmentFault, EnvironmentSpec, EnvironmentUnavailable

if TYPE_CHECKING:
    from docker import APIClient

CONTEXT = Path(__file__).resolve().parents[2] / "benchmarks" / "rebuild"
MARK = "rebuild: error: "
"""How the build's own scripts begin the line that says what is wrong."""


class Mistake(Exception):
    """What was asked for cannot be made into an image."""


def default_tag(package: str, executable: str) -> str:
    name = re.sub(r"[^a-z0-9.]+", "-", f"{package}-{PurePosixPath(executable).name}".lower()).strip("-.")
    return f"retrace-rebuild-{name}:latest"


def have_base(api: APIClient, base: str, progress: Callable[[str], None]) -> None:
    """Raises: EnvironmentFault."""
    from environments.docker import images

    if images.look_up(api, base) is not None:
        return
    try:
        images.pull(api, base, None, progress)
    except EnvironmentUnavailable as fault:
        why = str(fault).partition(";")[0]
        raise EnvironmentUnavailable(
            f"base image {base} is not here ({why}); bring it with `docker load`, or leave --base out"
        ) from None


def build(given: argparse.Namespace) -> str:
    """The image's tag.

    Raises: Mistake, EnvironmentFault.
    """
    from environments.docker import daemon, images

    tag: str = given.tag or default_tag(given.package, given.executable)
    for path in given.data:
        if len(path.split()) != 1:
            raise Mistake(f"--data {path!r}: a path with blanks cannot be passed on; name the directory above it")
    arguments = {
        "PACKAGE": given.package,
        "EXECUTABLE": given.executable,
        "DATA": " ".join(given.data),
        "DOCS_FROM": " ".join(given.docs_from),
    }
    told: list[str] = []

    def progress(line: str) -> None:
        if line.startswith(MARK):
            told.append(line.removeprefix(MARK))
        if given.verbose:
            print(line, file=sys.stderr, flush=True)

    api = daemon.connect()
    try:
        if given.base:
            have_base(api, given.base, progress)
            arguments["BASE"] = given.base
        spec = EnvironmentSpec(kind="docker", image=tag, build=Build(context=CONTEXT, args=arguments))
        return images.make_available(api, spec, progress).reference
    except EnvironmentFault:
        if told:
            raise Mistake(told[-1]) from None
        raise
    finally:
        api.close()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="rebuild-image", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("package", metavar="PACKAGE", help="a Debian package, for instance figlet")
    parser.add_argument("executable", metavar="EXECUTABLE", help="a binary's path in it: /usr/bin/figlet-figlet")
    for option, what, text in (
        ("--data", "PATH", "files of the package that it reads at run time"),
        ("--docs-from", "PACKAGE", "further packages whose documents to add"),
    ):
        parser.add_argument(option, metavar=what, nargs="+", action="extend", default=[], help=text)
    parser.add_argument("--tag", help="the image's name; default retrace-rebuild-PACKAGE-NAME:latest")
    parser.add_argument("--base", metavar="IMAGE", help="a Debian or Ubuntu image; default: what the Dockerfile says")
    parser.add_argument("--verbose", action="store_true", help="show the build on standard error")
    given = parser.parse_args()
    try:
        print(build(given))
    except Mistake as mistake:
        print(f"error: {mistake}", file=sys.stderr)
        return 2
    except EnvironmentFault as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
