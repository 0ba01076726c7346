"""A search for files of the tests and of the solution in the environment that an agent gets, by their content."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from agent.checking.findings import Finding
from benchmarks.task.task import Task
from environments.protocol import Environment

HIDDEN_TESTS = "hidden tests"
"""Name of this check."""
_HIDDEN = ("tests", "solution", "run-tests.sh", "solution.sh", "solution.yaml")
"""Parts of a task directory, and of each of its steps, that no agent may see, in all formats."""
_CODE = (".py", ".sh", ".js", ".ts", ".c", ".cc", ".cpp", ".go", ".rs", ".java", ".rb", ".bats", ".yaml", ".yml")
_LEAST_BYTES = 40
"""Smaller files are equal by chance, such as an empty `__init__.py`."""
_MOST_FILES = 2000
_SEARCH_S = 300.0


def search(task: Task, environment: Environment) -> Finding:
    """Search a started environment as the agent's user. Raises: EnvironmentLost."""
    if environment.spec.kind == "local":
        return Finding(
            check=HIDDEN_TESTS, status="skipped", detail="local environments show the agent the whole machine"
        )
    hidden = dict(_by_content(task))
    if not hidden:
        return Finding(
            check=HIDDEN_TESTS, status="skipped", detail="the task directory has no files of tests or a solution"
        )
    sizes = " -o ".join(f"-size {size}c" for size in sorted({size for size, _ in hidden}))
    script = (
        "command -v find >/dev/null && command -v sha256sum >/dev/null || exit 9\n"
        "find / \\( -path /proc -o -path /sys -o -path /dev \\) -prune -o -type f \\( "
        f"{sizes} \\) -exec sha256sum {{}} + 2>/dev/null\nexit 0"
    )
    execution = environment.execute(script, deadline_s=_SEARCH_S, cwd="/")
    if execution.exit_code != 0:
        reason = "the image has no find and sha256sum" if execution.exit_code == 9 else "the search did not end"
        return Finding(check=HIDDEN_TESTS, status="skipped", detail=reason)
    digests = {digest: path for (_, digest), path in hidden.items()}
    copies = [
        (digests[digest], path)
        for digest, _, path in (
            line.partition("  ") for line in bytes(execution.output).decode("utf-8", "replace").splitlines()
        )
        if digest in digests
    ]
    code = [(source, path) for source, path in copies if source.suffix in _CODE]
    if not copies:
        return Finding(check=HIDDEN_TESTS, status="passed", detail=f"none of {len(hidden)} files is in the environment")
    shown = "; ".join(
        f"{path} is {source.relative_to(task.directory) if task.directory else source}"
        for source, path in (code or copies)[:5]
    )
    detail = f"the agent can read {shown}" + (f"; and {len(copies) - 5} more" if len(copies) > 5 else "")
    return Finding(check=HIDDEN_TESTS, status="failed" if code else "warned", detail=detail)


def _by_content(task: Task) -> Iterator[tuple[tuple[int, str], Path]]:
    """Yield size, sha256 and path of the hidden files."""
    for path in list(_files(task))[:_MOST_FILES]:
        data = path.read_bytes()
        if len(data) >= _LEAST_BYTES:
            yield (len(data), hashlib.sha256(data).hexdigest()), path


def _files(task: Task) -> Iterator[Path]:
    if task.directory is None:
        return
    steps = sorted((task.directory / "steps").glob("*/"))
    roots = [folder / name for folder in (task.directory, *steps) for name in _HIDDEN]
    roots += [part for part in (task.solution, task.solve.source if task.solve else None) if part is not None]
    for root in dict.fromkeys(roots):
        if root.is_file():
            yield root
        for folder, names, files in os.walk(root):
            names[:] = sorted(name for name in names if name not in ("__pycache__", ".pytest_cache"))
            yield from (path for name in sorted(files) if not (path := Path(folder, name)).is_symlink())
