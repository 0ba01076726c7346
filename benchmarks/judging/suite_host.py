"""Judging in the sandbox or locally: the suite runs on the host with our own pytest.

The submission is unpacked into a fresh directory and built in an environment of that kind. In the sandbox each run of
the candidate has its own bubblewrap, which shows it the workspace and the run's directory. Locally nothing separates
the two, and the verdict records that.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.judging import bundle
from benchmarks.judging.faults import Fault, HostFailed, SubmissionFailed
from benchmarks.judging.progress import of_directory, watched
from benchmarks.judging.suite_run import SUITE_LOG, Judged, SuiteRun, build, check_ended, note_suite
from environments.leftovers.owner import this_process
from environments.leftovers.removal import remove_tree
from environments.protocol import WORKSPACE, DiskFull, EnvironmentSpec, Execution
from environments.sandbox import seccomp
from environments.sandbox.bubblewrap import NOBODY, PATH, as_user, bwrap_prefix
from trajectories.interrupts import held
from trajectories.waiting import process_ended

_GRACE_S = 60.0
_LOG_BYTES = 64 << 20
"""Part of the suite's log that is read for the reason of a failure: it holds what the candidate printed."""
_FREE_BYTES = 1 << 30
"""Space that judging needs on the disk. With less, the host is full without the submission."""
_RUN = "{cwd}"
"""Placeholder for which drive.py puts the directory of a run."""


def judge(run: SuiteRun, fault: Fault | None = None) -> Judged:
    """Judge in the sandbox or locally, and write results and logs to `run.scratch`.

    With a `fault`, the submission is not even unpacked: the suite only lists the tests that are now missing.

    Raises: SubmissionFailed, EvaluatorFailed, EnvironmentFault.
    """
    base: Path | None = None
    try:
        with held():  # a signal between creation and assignment would leave the directory behind
            base = Path(tempfile.mkdtemp(prefix=f"{this_process().prefix}judge-"))
        return _judge(run, base, fault)
    finally:
        if base:
            remove_tree(base)


def _judge(run: SuiteRun, base: Path, fault: Fault | None) -> Judged:
    task, evaluation, suite = run.task, run.source.file.evaluation, run.source.suite
    assert evaluation is not None
    assert suite is not None
    sandboxed = run.kind == "sandbox"
    workspace, directory = base / "workspace", base / "judge"
    workspace.mkdir()
    directory.mkdir(mode=0o700)
    owner = NOBODY if sandboxed and os.geteuid() == 0 else None
    if owner is not None:
        base.chmod(0o711)
        os.chown(workspace, owner, owner)
    spec = replace(task.spec, kind=run.kind, network=False, keep=False, workspace=workspace)
    environment = run.make(spec)
    if fault is not None and fault.cause in ("disk", "result"):
        _check_disk(base)
    failed = fault
    try:
        started = environment.start()
        failed = failed or run.put_into(environment, started.workdir)
        failed = failed or build(run, environment, evaluation, started.workdir)
    except DiskFull as error:
        raise SubmissionFailed("disk", str(error)) from None
    finally:
        environment.stop()
    configuration = bundle.configuration(
        evaluation,
        workdir=str(spec.workdir or WORKSPACE) if sandboxed else str(workspace),
        workspace=str(workspace),
        directory=str(directory),
        runs=str(base / "runs"),
        env={"PATH": PATH, **({"HOME": "/home"} if sandboxed else {}), **task.spec.env},
        launcher=_launcher(spec, base, workspace, owner) if sandboxed else (),
        owner=owner,
        collect_only=bool(failed),
    )
    with tarfile.open(fileobj=bundle.archive(suite, {"config.json": configuration})) as tar:
        tar.extractall(directory)
    note_suite(run, evaluation)
    with watched(of_directory(directory / "out"), run.reporter):
        _drive(directory, evaluation.timeout + _GRACE_S, run.scratch)
    for name in ("collected.json", "results.xml"):
        if (directory / "out" / name).is_file():
            shutil.copyfile(directory / "out" / name, run.scratch / name)
    return Judged(
        isolation=(
            "fresh directory, suite on the host, each run of the candidate in its own bubblewrap, network off"
            if sandboxed
            else "none: suite and candidate ran on the host as the same user"
        ),
        fault=failed,
        inputs=(("kind", run.kind),),
    )


def _check_disk(base: Path) -> None:
    """Accept only a disk that has space now that everything of the submission is gone.

    Raises: HostFailed.
    """
    free = shutil.disk_usage(base).free
    if free < _FREE_BYTES:
        raise HostFailed(f"the disk of {base} is full: {free >> 20} MiB are left; free {_FREE_BYTES >> 20} MiB")


def _launcher(spec: EnvironmentSpec, base: Path, workspace: Path, owner: int | None) -> list[str]:
    """Return the words before the program: a sandbox of its own, with the limits that an action has there."""
    limits = [f"--as={spec.memory_bytes}"] if spec.memory_bytes else []
    limits += [f"--nproc={spec.pids}"] if spec.pids else []
    sandbox = bwrap_prefix(spec, workspace, binds=[(_RUN, _RUN)], chdir=_RUN, filtered=True)
    prefix = [*as_user(owner), *seccomp.behind(base / "seccomp"), *sandbox]
    return [*prefix, "prlimit", *limits, "--"] if limits else prefix


def _drive(directory: Path, deadline_s: float, scratch: Path) -> None:
    """Run drive.py with this interpreter. It dies with this process, and takes the candidate with it."""
    kept = ("PATH", "LD_LIBRARY_PATH", "XDG_RUNTIME_DIR")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    log = scratch / SUITE_LOG
    began = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-I", str(directory / "drive.py"), str(directory / "config.json")],
            cwd=directory,
            env={**env, "LANG": "C.UTF-8", "HOME": str(directory)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        ended = True
        try:
            process_ended(process, deadline_s)
        except subprocess.TimeoutExpired:
            ended = False
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
    with log.open("rb") as file:
        output_bytes = file.read(_LOG_BYTES)
    check_ended(
        Execution(
            ended="exited" if ended else "deadline",
            output=output_bytes,
            counted=len(output_bytes),
            duration_s=time.monotonic() - began,
            exit_code=process.returncode,
        )
    )
