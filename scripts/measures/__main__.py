"""Run groups of measures, and print one line for each figure."""

from __future__ import annotations

import importlib
import platform
import sys

from scripts.measures.figures import machine

GROUPS = (
    "trial",
    "turns",
    "calls",
    "environments",
    "record",
    "show",
    "programbench",
    "tasks",
    "scoring",
    "analysis",
    "batch",
)


def main(names: list[str]) -> int:
    """Run the named groups, or all; return the exit status."""
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        print(f"bench: there is no group {unknown[0]!r}; choose from {', '.join(GROUPS)}", file=sys.stderr)
        return 2
    print(f"{machine()}, Python {platform.python_version()}")
    missed = 0
    for name in names or GROUPS:
        for figure in importlib.import_module(f"scripts.measures.{name}").measure():
            print(figure, flush=True)
            missed += not figure.met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
