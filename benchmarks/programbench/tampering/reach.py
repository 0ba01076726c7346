"""Mechanisms by which a path outside of the workspace is executed or imported when the tests run."""

from __future__ import annotations

import re
from collections.abc import Iterable

from benchmarks.judging.mechanisms import mechanism, shadows

_PLUGINS = "/tmp/programbench-grader-plugins"
"""Directory that the evaluator puts on PYTHONPATH."""
_OF_PLUGINS = re.compile(re.escape(_PLUGINS) + r"(/.*)?")
_TESTS = re.compile(r"/workspace/eval/.*(\.(py|pyc|pth|so|ini|cfg|toml|sh)|/(conftest|sitecustomize)[^/]*)")
_AT_TOP = re.compile(r"/workspace/(conftest\.py|\.?pytest\.ini)")
_WITH_SECTION = re.compile(r"/workspace/(pyproject\.toml|tox\.ini|setup\.cfg)")
_MODULE = re.compile(r"/workspace/(\w+)(/__init__)?(\.[\w-]+)?\.(py|pyc|so)")
_SECTION = re.compile(rb"^\s*\[(tool[.:])?pytest\b", re.M)
_PATH = re.compile(rb"/[\w.+@~-]+(?:/[\w.+@~-]+)*")
_EXECUTABLE = (".py", ".pyc", ".pth", ".so", ".sh", ".pl", ".zip", ".egg")


class Reach:
    """The mechanisms of one image: those of every system, and the directories that its own start-up files name."""

    def __init__(
        self,
        path: Iterable[str] = (),
        modules: Iterable[str] = (),
        sourced: Iterable[str] = (),
        *,
        workspace: bool = True,
    ) -> None:
        """`workspace`: the tests' own process reads configuration and modules of the workspace's top directory."""
        self._path = _directories(path)
        self._modules = _directories(modules)
        self._sourced = frozenset(sourced)
        self._workspace = workspace

    def mechanism(self, path: str, data: bytes | None = None) -> str:
        """Return the name of the mechanism that reaches a path, '' if none does. `data` is its content, if known."""
        if path.startswith("/workspace/"):
            return self._in_workspace(path, data)
        if path in self._sourced:
            return "shell_startup"
        for directories, name in ((self._path, "path"), (self._modules, "python_modules")):
            if any(path == directory or path.startswith(f"{directory}/") for directory in directories):
                return name
        return "pytest_plugins" if _OF_PLUGINS.fullmatch(path) else mechanism(path)

    def _in_workspace(self, path: str, data: bytes | None) -> str:
        if _TESTS.fullmatch(path):
            return "tests"
        if not self._workspace:
            return ""
        if _AT_TOP.fullmatch(path) or (_WITH_SECTION.fullmatch(path) and data and _SECTION.search(data)):
            return "pytest_configuration"
        module = _MODULE.fullmatch(path)
        if module is None:
            return ""
        return "python_modules" if shadows(module[1]) else ""


def led_to(data: bytes, changed: Iterable[str]) -> list[str]:
    """Return the changed paths to which the text of a reached file leads: those it names, and code below those."""
    named = {match.decode() for match in _PATH.findall(data[: 1 << 16])}
    below = tuple(f"{path}/" for path in named if path != "/workspace")
    return [
        path for path in changed if path in named or (path.startswith(below) and path.endswith(_EXECUTABLE) and below)
    ]


def _directories(paths: Iterable[str]) -> tuple[str, ...]:
    kept = {path.rstrip("/") for path in paths}
    return tuple(sorted(path for path in kept if path.startswith("/") and path != "/workspace"))
