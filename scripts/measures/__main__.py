"""Runs groups of measures and prints one line a figure."""

from __future__ import annotations

import importlib
import platform
import sys

from scripts.measures.figures import machine

GROUPS = ("trial", "environments", "record", "programbench")


def main(names: list[str]) -> int:
    """Print the named groups, or all."""
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        print(f"bench: no group {unknown[0]!r}; groups are {', '.join(GROUPS)}", file=sys.stderr)
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
