"""The image of an exported task as one build context: Harbor knows no build arguments and no initial workspace."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from agent.errors import UserError
from benchmarks.task.taskdir import CACHES, TaskDirectory

WORKSPACE = "retrace-workspace"
"""Directory of the build context with the workspace's initial files."""
_IGNORE = shutil.ignore_patterns(*(name.decode() for name in CACHES))


def write_context(source: TaskDirectory, to: Path) -> None:
    """Write the Dockerfile and everything that it copies.

    The image's user is root, and `task.toml` names that of the agent: what keeps Harbor's container alive is a process
    of the image's user, and the judge kills all processes of the agent's.

    Raises: UserError, OSError.
    """
    image = source.file.image
    assert image is not None  # docker is among the environments
    if source.build is None:
        to.mkdir()
        text = f"FROM {image.reference}\n"
    else:
        shutil.copytree(source.build.context, to, symlinks=True, ignore=_IGNORE)
        text = with_defaults((to / source.build.dockerfile).read_text(encoding="utf-8"), dict(source.build.args))
    file = source.file
    lines = ["USER root", f"WORKDIR {file.workdir}"]
    if source.workspace is not None:
        target = to / WORKSPACE
        if target.exists():
            raise UserError(f"{target.name}: the build context has a directory of this name, which the export needs")
        shutil.copytree(source.workspace, target, symlinks=True, ignore=_IGNORE)
        for path in target.rglob("*"):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        lines.append(f"COPY --chown={file.user} {WORKSPACE}/ {file.workdir}/")
        if (to / ".dockerignore").is_file():
            with (to / ".dockerignore").open("a", encoding="utf-8") as ignored:
                ignored.write(f"\n!{WORKSPACE}\n!{WORKSPACE}/**\n")
    (to / "Dockerfile").write_text("\n".join([text.rstrip("\n"), "", *lines, ""]), encoding="utf-8")


def with_defaults(dockerfile: str, args: dict[str, str]) -> str:
    """Return a Dockerfile whose build arguments have these values as their defaults.

    Raises: UserError for an argument that no ARG declares on a line of its own.
    """
    for name, value in args.items():
        quoted = '"' + re.sub(r'(["\\$])', r"\\\1", value) + '"'
        pattern = re.compile(rf"^([ \t]*ARG[ \t]+{re.escape(name)})(?:=.*)?$", re.M | re.I)
        replacement = r"\1=" + quoted.replace("\\", r"\\")
        dockerfile, count = pattern.subn(replacement, dockerfile)
        if count == 0:
            raise UserError(f"image.build.args: {name}: no line `ARG {name}` in the Dockerfile takes it, so it is lost")
    return dockerfile
