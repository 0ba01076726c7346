"""Write a small working task in one of the formats: image, instruction, suite and solution.

The files are copies of `templates/FORMAT`. Where a task has our own Dockerfile, it is that of the demos, so its image
exists already on a machine that ran a demo.
"""

from __future__ import annotations

import re
from pathlib import Path

import benchmarks
from agent.errors import UserError
from benchmarks.task.formats import Format

TEMPLATES = Path(__file__).with_name("templates")
WORKBENCH = Path(benchmarks.__file__).parent / "demos" / "workbench" / "Dockerfile"
_IMAGE: dict[Format, str] = {"retrace": "image/Dockerfile", "harbor": "environment/Dockerfile"}
"""Place of the demos' Dockerfile in a new task; a format without one has a Dockerfile of its own."""
_NAME = "my-task"
"""The name of the task in the templates."""
_VALID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def new_task(directory: Path, task_format: Format) -> list[Path]:
    """Write a task into an empty or new directory; return its files, relative to it.

    Raises: UserError, OSError.
    """
    name = directory.resolve().name
    if not _VALID.fullmatch(name) or ".." in name:
        raise UserError(f"{directory}: {name!r} cannot be the name of a task; use letters, digits, '.', '_' and '-'")
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise UserError(f"{directory}: exists and is not a directory; name a new one")
    if directory.is_dir() and any(directory.iterdir()):
        raise UserError(f"{directory}: is not empty; name a new directory")
    template = TEMPLATES / task_format
    sources = {path.relative_to(template): path for path in template.rglob("*") if path.is_file()}
    if task_format in _IMAGE:
        sources[Path(_IMAGE[task_format])] = WORKBENCH
    sources = {file: path for file, path in sources.items() if "__pycache__" not in file.parts}
    for file, source in sorted(sources.items()):
        target = directory / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(source.read_text(encoding="utf-8").replace(_NAME, name), encoding="utf-8")
        if file.suffix == ".sh":
            target.chmod(0o755)
    return sorted(sources)
