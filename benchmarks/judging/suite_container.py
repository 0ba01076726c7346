"""Judging in docker: one fresh container without network; the suite runs as root, the candidate as the task's user.

Few round trips: two puts, three or four scripts, one get. Nothing of the submission runs before the build starts, so
it cannot race the steps before that.
"""

from __future__ import annotations

import io
import re
import shlex
import tarfile
from dataclasses import replace
from pathlib import Path

from benchmarks.judging import bundle
from benchmarks.judging.submission import EvaluatorFailed, Judged, Submission, build_failure, build_script, check_ended
from benchmarks.task.taskfile import EvaluationPart
from environments.protocol import Environment, Execution
from trajectories.writing import excerpts

DIRECTORY = "/retrace-judge"
"""The judge's directory: it belongs to root, with mode 0700, before anything of the submission runs."""
RUNS = "/retrace-runs"
"""Holds the directories of the candidate's runs; it belongs to root, too."""
_GRACE_S = 60.0
"""Seconds that the suite may take beyond its own time limit before the evaluator counts as failed."""


def judge(submission: Submission) -> Judged:
    """Judge in a fresh container of the task's image, and write results and logs to `submission.scratch`.

    Raises: EvaluatorFailed, EnvironmentFault.
    """
    task, evaluation, suite = submission.task, submission.source.file.evaluation, submission.source.suite
    assert evaluation is not None
    assert suite is not None
    user = task.spec.user or "agent"
    environment = submission.make(replace(task.spec, kind="docker", network=False, keep=False, workspace=None))
    try:
        started = environment.start()
        workdir = started.workdir
        files = {
            name: bundle.configuration(
                evaluation,
                workdir=workdir,
                workspace=workdir,
                directory=DIRECTORY,
                runs=RUNS,
                env=task.spec.env,
                user=user,
                collect_only=collect_only,
            )
            for name, collect_only in (("config.json", False), ("collect.json", True))
        }
        environment.put(bundle.archive(suite, files), DIRECTORY)
        withheld = _as_root(environment, _clear(evaluation, workdir), "clearing the workspace")
        failed = submission.put_into(environment, workdir)
        if not failed:
            if evaluation.withheld:
                _as_root(environment, _take_away(withheld.output.decode(), workdir), "removing withheld files")
            failed = _build(environment, evaluation, workdir, submission.scratch)
        _drive(environment, evaluation, "collect.json" if failed else "config.json", submission.scratch)
        _fetch(environment, submission.scratch)
    finally:
        environment.stop()
    inputs = [("image", started.image or ""), ("image_digest", started.image_digest or ""), ("kind", "docker")]
    return Judged(
        isolation=f"fresh container, network off, suite as root, candidate as {user}",
        build_failed=failed,
        inputs=tuple((key, value) for key, value in inputs if value),
        notes=tuple(f"{lowered.limit}: {lowered.given} instead of {lowered.asked}" for lowered in started.lowered),
    )


def _clear(evaluation: EvaluationPart, workdir: str) -> str:
    """Return the first script, which prints size and hash of each withheld file.

    It also closes the judge's directory to all but root, and empties the workspace.
    """
    lines = ["set -e", f"chown -R 0:0 {DIRECTORY}", f"chmod 0700 {DIRECTORY}", f"cd {shlex.quote(workdir)}"]
    for path in evaluation.withheld:
        name = shlex.quote(f"./{path}")
        lines.append(f"printf '%s ' \"$(stat -c %s {name})\"; sha256sum < {name}")
    lines += ["find . -mindepth 1 -delete"]
    return "\n".join(lines)


def _take_away(listing: str, workdir: str) -> str:
    """Return the script that removes every file whose content is withheld, whatever its name is now."""
    lines = ["set -e", f"cd {shlex.quote(workdir)}"]
    for size, sha256 in re.findall(r"^(\d+) ([0-9a-f]{64})\b", listing, re.MULTILINE):
        test = f'[ "$(sha256sum < "$f" | cut -c1-64)" = {sha256} ] && rm -f -- "$f"; :'
        lines.append(f"find . -xdev -type f -size {size}c -exec sh -c 'for f; do {test}; done' _ {{}} +")
    return "\n".join(lines)


def _build(environment: Environment, evaluation: EvaluationPart, workdir: str, scratch: Path) -> str:
    """Build as the task's user; return the reason if that failed, otherwise ''."""
    script = build_script(evaluation)
    if not script:
        return ""
    execution = environment.execute(script, deadline_s=evaluation.build_timeout, cwd=workdir)
    (scratch / "build.log").write_bytes(bytes(execution.output))
    return build_failure(execution, evaluation.build_timeout)


def _drive(environment: Environment, evaluation: EvaluationPart, configuration: str, scratch: Path) -> None:
    execution = environment.execute(
        f"exec python3 -I {DIRECTORY}/drive.py {DIRECTORY}/{configuration}",
        deadline_s=evaluation.timeout + _GRACE_S,
        cwd=DIRECTORY,
        as_root=True,
    )
    (scratch / "suite.log").write_bytes(bytes(execution.output))
    check_ended(execution)


def _as_root(environment: Environment, script: str, step: str) -> Execution:
    execution = environment.execute(script, deadline_s=120.0, cwd="/", as_root=True)
    if execution.ended != "exited" or execution.exit_code != 0:
        lines = execution.output.decode("utf-8", "replace").strip().splitlines() or [execution.ended]
        raise EvaluatorFailed(f"{step} failed: {excerpts.beginning(lines[-1], 500)}")
    return execution


def _fetch(environment: Environment, scratch: Path) -> None:
    data = b"".join(environment.get(f"{DIRECTORY}/out"))
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            name = Path(member.name).name
            file = tar.extractfile(member) if name in ("collected.json", "results.xml") else None
            if file is not None:
                (scratch / name).write_bytes(file.read())
