"""Build a "rebuild this program" image from one executable of a Debian package, and print its tag.

Example: scripts/rebuild-image figlet /usr/bin/figlet-figlet --data /usr/share/figlet
benchmarks/rebuild/README.md describes the content of the image. Exit status: 0 built; 1 the machine
failed (no Docker, no network); 2 usage error (unknown package or executable, or a script).
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from environments.protocol import Build, EnvironmentFault, EnvironmentSpec, EnvironmentUnavailable
from environments.reporting import Reporter

if TYPE_CHECKING:
    from docker import APIClient

CONTEXT = Path(__file__).resolve().parents[2] / "benchmarks" / "rebuild"
MARK = "rebuild: error: "
"""Beginning of the line with which the scripts of the build report an error."""


class Mistake(Exception):
    """The requested image cannot be built, because of the arguments."""


class _BuildReporter:
    """Keeps the build's own errors, and prints its lines if the user wants to see them."""

    def __init__(self, *, verbose: bool) -> None:
        self.errors: list[str] = []
        self._verbose = verbose

    def note(self, line: str) -> None:
        if line.startswith(MARK):
            self.errors.append(line.removeprefix(MARK))
        if self._verbose:
            print(line, file=sys.stderr, flush=True)


def default_tag(package: str, executable: str) -> str:
    """Return the image's name if the user gives none."""
    name = re.sub(r"[^a-z0-9.]+", "-", f"{package}-{PurePosixPath(executable).name}".lower()).strip("-.")
    return f"retrace-rebuild-{name}:latest"


def have_base(api: APIClient, base: str, reporter: Reporter) -> None:
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


def build(options: argparse.Namespace) -> str:
    """Build the image and return its tag.

    Raises: Mistake, EnvironmentFault.
    """
    from environments.docker import daemon, images

    tag: str = options.tag or default_tag(options.package, options.executable)
    for path in options.data:
        if len(path.split()) != 1:
            raise Mistake(f"--data {path!r}: paths with blanks are not supported; use the directory that contains it")
    arguments = {
        "PACKAGE": options.package,
        "EXECUTABLE": options.executable,
        "DATA": " ".join(options.data),
        "DOCS_FROM": " ".join(options.docs_from),
    }
    reporter = _BuildReporter(verbose=options.verbose)
    api = daemon.connect()
    try:
        if options.base:
            have_base(api, options.base, reporter)
            arguments["BASE"] = options.base
        spec = EnvironmentSpec(kind="docker", image=tag, build=Build(context=CONTEXT, args=arguments))
        return images.make_available(api, spec, reporter).reference
    except EnvironmentFault:
        if reporter.errors:
            raise Mistake(reporter.errors[-1]) from None
        raise
    finally:
        api.close()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="rebuild-image", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("package", metavar="PACKAGE", help="name of a Debian package, for instance figlet")
    parser.add_argument(
        "executable", metavar="EXECUTABLE", help="path of a binary in the package: /usr/bin/figlet-figlet"
    )
    for option, metavar, text in (
        ("--data", "PATH", "files of the package that the program reads at run time; repeatable"),
        ("--docs-from", "PACKAGE", "more packages whose documents the image gets; repeatable"),
    ):
        parser.add_argument(option, metavar=metavar, nargs="+", action="extend", default=[], help=text)
    parser.add_argument("--tag", help="name of the image; default: retrace-rebuild-PACKAGE-NAME:latest")
    parser.add_argument(
        "--base", metavar="IMAGE", help="Debian or Ubuntu image to start from; default: debian:bookworm-slim"
    )
    parser.add_argument("--verbose", action="store_true", help="print the output of the build on standard error")
    options = parser.parse_args()
    try:
        print(build(options))
    except Mistake as mistake:
        print(f"error: {mistake}", file=sys.stderr)
        return 2
    except EnvironmentFault as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
