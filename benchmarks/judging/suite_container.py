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

from benchmarks.judging import bundle, junit
from benchmarks.judging.faults import EvaluatorFailed, Fault, HostFailed, SubmissionFailed
from benchmarks.judging.progress import of_container, watched
from benchmarks.judging.suite_run import SUITE_LOG, Judged, SuiteRun, build, check_ended, note_suite
from benchmarks.task.taskfile import EvaluationPart
from environments.protocol import DiskFull, Environment, Execution, OutOfMemory
from trajectories.record.words import CUT_OFF
from trajectories.writing import excerpts

DIRECTORY = "/retrace-judge"
"""The judge's directory: it belongs to root, with mode 0700, before anything of the submission runs."""
RUNS = "/retrace-runs"
"""Holds the directories of the candidate's runs; it belongs to root, too."""
_GRACE_S = 60.0
"""Seconds that the suite may take beyond its own time limit before it is ended."""
_FREE_BYTES = 1 << 30
"""Space that a fresh container needs on the disk. With less, the host is full without the submission."""
_FETCHED_BYTES = junit.XML_BYTES + (16 << 20)
"""Largest total size of the suite's own files."""


def judge(run: SuiteRun, fault: Fault | None = None) -> Judged:
    """Judge in a fresh container of the task's image, and write results and logs to `run.scratch`.

    With a `fault`, the submission is not even unpacked: the suite only lists the tests that are now missing.

    Raises: SubmissionFailed, EvaluatorFailed, EnvironmentFault.
    """
    task, evaluation, suite = run.task, run.source.file.evaluation, run.source.suite
    assert evaluation is not None
    assert suite is not None
    user = task.spec.user or "agent"
    environment = run.make(replace(task.spec, kind="docker", network=False, keep=False, workspace=None))
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
        if fault is not None and fault.cause in ("disk", "result"):
            _check_disk(environment)
        failed = fault or run.put_into(environment, workdir)
        if not failed:
            if evaluation.withheld:
                _as_root(environment, _take_away(withheld.output.decode(), workdir), "removing withheld files")
            failed = build(run, environment, evaluation, workdir)
        note_suite(run, evaluation)
        with watched(of_container(started.container or "", f"{DIRECTORY}/out"), run.reporter):
            _drive(environment, evaluation, "collect.json" if failed else "config.json", run.scratch)
        _fetch(environment, run.scratch)
    except OutOfMemory as error:
        raise SubmissionFailed("memory", str(error)) from None
    except DiskFull as error:
        raise SubmissionFailed("disk", str(error)) from None
    finally:
        environment.stop()
    inputs = [("image", started.image or ""), ("image_digest", started.image_digest or ""), ("kind", "docker")]
    return Judged(
        isolation=f"fresh container, network off, suite as root, candidate as {user}",
        fault=failed,
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


def _drive(environment: Environment, evaluation: EvaluationPart, configuration: str, scratch: Path) -> None:
    execution = environment.execute(
        f"exec python3 -I {DIRECTORY}/drive.py {DIRECTORY}/{configuration}",
        deadline_s=evaluation.timeout + _GRACE_S,
        cwd=DIRECTORY,
        as_root=True,
    )
    (scratch / SUITE_LOG).write_bytes(bytes(execution.output))
    if execution.ended in CUT_OFF:
        environment.execute("true", deadline_s=_GRACE_S, cwd="/", as_root=True)  # raises the reason of the loss
    check_ended(execution)


def _as_root(environment: Environment, script: str, step: str) -> Execution:
    execution = environment.execute(script, deadline_s=120.0, cwd="/", as_root=True)
    if execution.ended != "exited" or execution.exit_code != 0:
        lines = execution.output.decode("utf-8", "replace").strip().splitlines() or [execution.ended]
        raise EvaluatorFailed(f"{step} failed: {excerpts.beginning(lines[-1], 500)}")
    return execution


def _check_disk(environment: Environment) -> None:
    """Accept only a disk that has space now that everything of the submission is gone.

    Raises: EvaluatorFailed.
    """
    listing = _as_root(environment, "df -Pk / | tail -n 1", "looking at the disk").output.decode("utf-8", "replace")
    free = int(listing.split()[3]) << 10
    if free < _FREE_BYTES:
        raise HostFailed(f"the disk of the containers is full: {free >> 20} MiB are left; free {_FREE_BYTES >> 20} MiB")


def _fetch(environment: Environment, scratch: Path) -> None:
    """Copy the suite's files to `scratch`.

    Raises: SubmissionFailed if they are too large: they hold what the candidate printed.
    """
    data = bytearray()
    for chunk in environment.get(f"{DIRECTORY}/out"):
        data += chunk
        if len(data) > _FETCHED_BYTES:
            raise SubmissionFailed("result", f"the results have more than {_FETCHED_BYTES >> 20} MiB")
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            name = Path(member.name).name
            file = tar.extractfile(member) if name in ("collected.json", "results.xml") else None
            if file is not None:
                (scratch / name).write_bytes(file.read())
