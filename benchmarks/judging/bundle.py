"""The archive that brings `drive.py`, its parts, its configuration and the hidden suite to the place of judging."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from benchmarks.task import tree
from benchmarks.task.taskdir import CACHES
from benchmarks.task.taskfile import EvaluationPart
from environments.leftovers import removal

DRIVE = Path(__file__).parent / "inside" / "drive.py"
PARTS = (
    DRIVE,
    DRIVE.with_name("candidate_program.py"),
    DRIVE.with_name("candidate_processes.py"),
    Path(removal.__file__),
)
"""The files that run beside the candidate."""


def configuration(
    evaluation: EvaluationPart,
    *,
    workdir: str,
    workspace: str,
    directory: str,
    runs: str,
    env: Mapping[str, str],
    user: str | None = None,
    launcher: Sequence[str] = (),
    owner: int | None = None,
    collect_only: bool = False,
) -> bytes:
    """Return the JSON for `drive.py` in `directory`; the directories of the candidate's runs are created in `runs`.

    `workdir` is the workspace's path as the candidate sees it, `workspace` as the suite sees it. With a `user`, the
    suite runs as root in a container of its own, becomes that user for each run, and passes the container's
    environment on. `owner` owns a run's directory on the host.
    """
    program = [word.replace("{workspace}", workdir) for word in evaluation.program]
    needs = [word.replace("{workspace}", workspace) for word in evaluation.program if word.startswith("{workspace}/")]
    starts_workspace_file = evaluation.program[0].startswith("{workspace}/")
    return json.dumps(
        {
            "workspace": workspace,
            "suite": f"{directory}/suite",
            "out": f"{directory}/out",
            "runs": runs,
            "program": program,
            "needs": needs,
            "executable": needs[0] if starts_workspace_file else None,
            "launcher": list(launcher),
            "user": user,
            "owner": owner,
            "env": dict(env),
            "inherit": user is not None,
            "die_with_parent": user is None,
            "time_s": evaluation.timeout,
            "case_s": evaluation.case_timeout,
            "collect_only": collect_only,
        },
        indent=1,
    ).encode()


def archive(suite: Path, files: Mapping[str, bytes]) -> BinaryIO:
    """Return a tar of drive.py and its parts, of these files, and of the suite below `suite/`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in {**{part.name: part.read_bytes() for part in PARTS}, **files}.items():
            _add(tar, name, data)
        for entry in tree.scan(suite, CACHES).entries:
            if entry.type == "file":
                path = entry.path.decode("utf-8", "surrogateescape")
                _add(tar, f"suite/{path}", (suite / path).read_bytes())
    buffer.seek(0)
    return buffer


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    member.mode = 0o644
    tar.addfile(member, io.BytesIO(data))
