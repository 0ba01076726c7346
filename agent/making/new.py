"""Write a small working task: of our own format or another, or the start of a task to rebuild a program.

The files are copies of `templates/`; those in `templates/shared` are for the formats of other harnesses. Where a task
has our own Dockerfile, it is that of the demos, so its image exists already on a machine that ran a demo.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import benchmarks
from agent.errors import UserError
from benchmarks.task.formats import Format

Start = Literal["program", "rebuild"]
"""Kinds of task to start from: a program to write, or one to rebuild that can be run but not read."""
TEMPLATES = Path(__file__).with_name("templates")
WORKBENCH = Path(benchmarks.__file__).parent / "demos" / "workbench" / "Dockerfile"
_TESTS = TEMPLATES / "shared" / "test_outputs.py"
_SOLUTION = TEMPLATES / "retrace" / "solution" / "total.py"
_SHARED: Mapping[str, Mapping[str, Path]] = {
    "retrace": {"image/Dockerfile": WORKBENCH},
    "terminal-bench": {"tests/test_outputs.py": _TESTS, "solution.sh": _SOLUTION},
    "harbor": {
        "environment/Dockerfile": WORKBENCH,
        "tests/test_outputs.py": _TESTS,
        "solution/solve.sh": _SOLUTION,
    },
    "rebuild": {},
}
"""Files of each template that come from elsewhere. A program becomes a script that writes it."""
REBUILT = ("bsdgames", "/usr/games/number")
"""Package and executable of the program in `templates/rebuild`."""
_NAME = "my-task"
"""The name of the task in the templates."""
_VALID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def new_task(directory: Path, task_format: Format = "retrace", start: Start = "program") -> list[Path]:
    """Write a task into an empty or new directory; return its files, relative to it.

    Raises: UserError, OSError.
    """
    if start == "rebuild" and task_format != "retrace":
        raise UserError(f"--format {task_format}: a task to rebuild a program has the format retrace; omit --format")
    name = directory.resolve().name
    if not _VALID.fullmatch(name) or ".." in name:
        raise UserError(f"{directory}: {name!r} cannot be the name of a task; use letters, digits, '.', '_' and '-'")
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise UserError(f"{directory}: exists and is not a directory; name a new one")
    if directory.is_dir() and any(directory.iterdir()):
        raise UserError(f"{directory}: is not empty; name a new directory")
    template = start if start == "rebuild" else task_format
    folder = TEMPLATES / template
    sources = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    sources.update({Path(file): path for file, path in _SHARED[template].items()})
    sources = {file: path for file, path in sources.items() if "__pycache__" not in file.parts}
    for file, source in sorted(sources.items()):
        target = directory / file
        target.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text(encoding="utf-8").replace(_NAME, name)
        if file.suffix == ".sh" and source.suffix == ".py":
            text = f"#!/bin/bash\ncat >/workspace/{source.name} <<'END'\n{text}END\n"
        target.write_text(text, encoding="utf-8")
        if file.suffix == ".sh":
            target.chmod(0o755)
    return sorted(sources)
