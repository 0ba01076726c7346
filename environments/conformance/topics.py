"""All checks of the kit, by topic."""

from __future__ import annotations

import functools
from importlib import import_module

from environments.conformance.checking import Check, declared_in

TOPICS = (
    "exit_status",
    "shells",
    "variables",
    "output",
    "caps",
    "sizes",
    "deadlines",
    "background",
    "interrupts",
    "stop",
    "liveness",
    "archives",
    "export",
    "administrator",
    "changed_files",
    "measures",
    "limits",
    "network",
    "files",
    "processes",
    "privileges",
    "forging",
    "persistent_shell",
    "pausing",
)


@functools.cache
def all_checks() -> tuple[Check, ...]:
    """Return every check of the kit, in a fixed order."""
    checks: list[Check] = []
    for topic in TOPICS:
        module = f"environments.conformance.checks.{topic}"
        import_module(module)
        checks += declared_in(module)
    return tuple(checks)
