"""`python -m environments.conformance KIND|MODULE:MAKE`: print the kit's table; exit status 1 if a check fails."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from environments.conformance import kinds
from environments.conformance.checking import Check
from environments.conformance.kit import run_checks
from environments.conformance.place import Make, Sever
from environments.conformance.topics import all_checks
from environments.protocol import KINDS, EnvironmentFault, EnvironmentSpec


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m environments.conformance",
        description="Test what an environment promises. The exit status is 1 if a promise is broken.",
    )
    parser.add_argument("what", help=f"{', '.join(KINDS)}, or MODULE:MAKE, a function make(**changes) -> Environment")
    parser.add_argument("--image", help="image for docker; any with bash and coreutils")
    parser.add_argument("--user", help="user that actions run as (default: the image's user)")
    parser.add_argument("--only", metavar="TEXT", default="", help="run only checks with this text in their name")
    parser.add_argument("--list", action="store_true", help="print the checks and run nothing")
    options = parser.parse_args(arguments)
    checks = [check for check in all_checks() if options.only in check.id]
    if options.list:
        print("\n".join(f"{check.id}  [{check.promise.value}]  {check.meaning}" for check in checks))
        return 0
    try:
        make, sever = _maker(options)
        report = run_checks(make, checks, sever=sever, name=options.what, progress=_dots)
    except (EnvironmentFault, ImportError, AttributeError) as error:
        print(f"{options.what}: {error}", file=sys.stderr)
        return 2
    print(file=sys.stderr)
    print(report.table())
    return 0 if report.ok else 1


def _maker(options: argparse.Namespace) -> tuple[Make, Sever | None]:
    if options.what in KINDS:
        image = options.image if options.what == "docker" else None
        return kinds.maker(EnvironmentSpec(kind=options.what, image=image, user=options.user)), kinds.sever
    module, _, name = options.what.partition(":")
    if not name:
        raise EnvironmentFault(f"this is neither one of {', '.join(KINDS)} nor MODULE:MAKE")
    make: Make = getattr(import_module(module), name)
    return make, None


def _dots(outcome: str, check: Check) -> None:
    print({"passed": ".", "unpromised": "-"}.get(outcome, "F"), end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
